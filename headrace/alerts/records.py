"""Alerts and their notifications, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

from headrace.alerts.rules import Recipient
from headrace.severity import Severity
from headrace.slas.events import Kind, Subject

_NAMESPACE = UUID("3b1d6a3e-9c1f-5d52-8d0e-51c1f7f4a2ab")


class AlertState(StrEnum):
    """How an alert stands."""

    OPEN = "OPEN"  # nobody has said that he is at it: it escalates
    ACKNOWLEDGED = "ACKNOWLEDGED"  # somebody has
    CLOSED = "CLOSED"  # what it is about is over


class Purpose(StrEnum):
    """What a message is for."""

    RAISED = "RAISED"
    WORSENED = "WORSENED"  # it was told before, and is graver now
    ESCALATED = "ESCALATED"  # nobody has acknowledged it
    RECOVERED = "RECOVERED"
    JOINED = "JOINED"  # it goes on as part of another alert
    DIGEST = "DIGEST"  # several messages in one, where a destination may not get more

    @property
    def is_end(self) -> bool:
        """Whether nothing more is told of the alert after it."""
        return self in (Purpose.RECOVERED, Purpose.JOINED)


class NotificationState(StrEnum):
    """What became of a message."""

    PENDING = "PENDING"
    SENT = "SENT"
    DROPPED = "DROPPED"  # there was no need for it any more
    MERGED = "MERGED"  # told by a digest
    FAILED = "FAILED"  # tried for as long as messages are


@dataclass(frozen=True, slots=True)
class Alert:
    """What is told about one incident, or about one happening that is none.

    severity, kind, at and facts are of the worst happening so far; hit: the other subjects of the incident, with their
    owners. round: how often its steps have begun. happenings: of how many it is made.
    """

    alert_id: UUID
    incident_id: UUID | None
    subject: Subject
    kind: Kind
    severity: Severity
    state: AlertState
    at: datetime
    opened_at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)
    affected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    route: str | None = None
    round: int = 0
    event_count: int = 1
    closed_at: datetime | None = None
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """One alert to one recipient, once. Its id is what a receiver knows it again by when it comes a second time.

    due_at: not before. tries: how often sending it was begun. digest_id: the digest that told it.
    """

    notification_id: UUID
    alert_id: UUID | None
    recipient: Recipient
    purpose: Purpose
    severity: Severity
    due_at: datetime
    decided_at: datetime
    step: int = 0
    round: int = 0
    state: NotificationState = NotificationState.PENDING
    tries: int = 0
    next_try_at: datetime | None = None
    sent_at: datetime | None = None
    reason: str | None = None
    digest_id: UUID | None = None
    title: str | None = None
    body: str | None = None

    @property
    def was_attempted(self) -> bool:
        """Whether its recipient knows, or may know, what it says."""
        return self.tries > 0 or self.state in (NotificationState.SENT, NotificationState.MERGED)


class NotDelivered(Exception):
    """A message that the service did not take; the message says why, without anything secret."""


@dataclass(frozen=True, slots=True)
class RenderedNotification:
    """What is handed over. thread: the alert, which several messages tell of; this one may be its last."""

    notification_id: UUID
    thread: UUID
    title: str
    body: str
    severity: Severity
    ends_thread: bool = False


def alert_id_of(alert_event_id: int, organisation: UUID) -> UUID:
    """The alert about a happening that belongs to no incident."""
    return uuid5(_NAMESPACE, f"{organisation}/{alert_event_id}")


def notification_id_of(
    alert_id: UUID, round_: int, step: int, purpose: Purpose, recipient: Recipient
) -> UUID:
    """The message of a step, the same however often it is decided upon."""
    words = (str(round_), str(step), purpose, recipient.destination, recipient.address)
    return uuid5(alert_id, "/".join(words))
