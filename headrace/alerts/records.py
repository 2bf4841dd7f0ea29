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
    """The state of an alert."""

    OPEN = "OPEN"  # not acknowledged: it escalates
    ACKNOWLEDGED = "ACKNOWLEDGED"  # someone is working on it
    CLOSED = "CLOSED"  # resolved


class Purpose(StrEnum):
    """The purpose of a notification."""

    RAISED = "RAISED"
    WORSENED = "WORSENED"  # reported before, and more severe now
    ESCALATED = "ESCALATED"  # not acknowledged in time
    REPEATED = "REPEATED"  # still not acknowledged after the last step, or no longer acknowledged
    BREACHED = "BREACHED"  # a deadline of an affected dataset, or the next one of the same, has passed
    HANDED_OVER = "HANDED_OVER"  # the recipient is to work on it from now on
    RECOVERED = "RECOVERED"
    UNDELIVERED = "UNDELIVERED"  # ended before a notification could be delivered, which this one replaces
    JOINED = "JOINED"  # merged into another alert
    DIGEST = "DIGEST"  # several notifications in one, to respect a rate limit

    @property
    def is_end(self) -> bool:
        """True for the last notification of the alert."""
        return self in (Purpose.RECOVERED, Purpose.UNDELIVERED, Purpose.JOINED)


class NotificationState(StrEnum):
    """The state of a notification."""

    PENDING = "PENDING"
    SENT = "SENT"
    DROPPED = "DROPPED"  # no longer needed
    MERGED = "MERGED"  # sent as part of a digest
    FAILED = "FAILED"  # retried until it expired


class AcknowledgementAction(StrEnum):
    """A change of the acknowledgement of an alert."""

    ACKNOWLEDGED = "ACKNOWLEDGED"
    HANDED_OVER = "HANDED_OVER"
    EXPIRED = "EXPIRED"
    RESOLVED = "RESOLVED"


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """An entry in the history of an alert's acknowledgement.

    by: who did it; None if it expired. holder: who was working on the alert from then on, or until then if it expired.
    until: when it expires; None: after the time that alerts.yaml gives.
    """

    at: datetime
    action: AcknowledgementAction
    holder: str
    by: str | None = None
    until: datetime | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken objective of a subject: the last deadline that has passed.

    timezone: of the SLA. notified_at: when its owners were last notified of a broken deadline.
    """

    key: str
    owners: tuple[str, ...]
    kind: Kind
    objective: str
    deadline: datetime
    notified_at: datetime
    timezone: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert about one incident, or about a single event without an incident.

    severity, kind, at and facts are of the worst event so far. affected: the other subjects of the incident with their
    owners. breaches: the last one of each objective of each subject. round: how often its steps have started.
    event_count: the number of its events. next_at: when its steps start again, or its new holder is notified.
    acknowledged_until: when the acknowledgement expires; None: after the time that alerts.yaml gives.
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
    breaches: tuple[Breach, ...] = ()
    route: str | None = None
    round: int = 0
    event_count: int = 1
    next_at: datetime | None = None
    closed_at: datetime | None = None
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None
    acknowledged_until: datetime | None = None
    comment: str | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()


@dataclass(frozen=True, slots=True)
class Notification:
    """One alert to one recipient, once. Receivers deduplicate by its id.

    due_at: not sent earlier. tries: delivery attempts. digest_id: the digest that contains it. subjects: the datasets
    whose broken deadlines it is about; empty: the alert's subject.
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
    subjects: tuple[str, ...] = ()
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
        """True if it reached, may have reached, or was meant for its recipient by now."""
        return self.tries > 0 or self.is_delivered

    @property
    def is_delivered(self) -> bool:
        """True if it reached its recipient, or may have: a try that has begun and was not refused so far."""
        in_doubt = self.state is NotificationState.PENDING and self.tries > 0 and self.reason is None
        return in_doubt or self.state in (NotificationState.SENT, NotificationState.MERGED)


class NotDelivered(Exception):
    """A notification that the service did not accept; the message says why, without secrets."""


@dataclass(frozen=True, slots=True)
class RenderedNotification:
    """A notification as it is delivered. thread: the alert, shared by its notifications; this may be the last one."""

    notification_id: UUID
    thread: UUID
    title: str
    body: str
    severity: Severity
    ends_thread: bool = False


def alert_id_of(alert_event_id: int, organisation: UUID) -> UUID:
    """Return the id of an alert about an event without an incident."""
    return uuid5(_NAMESPACE, f"{organisation}/{alert_event_id}")


def notification_id_of(
    alert_id: UUID,
    round_: int,
    step: int,
    purpose: Purpose,
    recipient: Recipient,
    decided_at: datetime | None = None,
) -> UUID:
    """Return the id of a step's notification; deterministic. decided_at: of one that a round may have several of."""
    words = [str(round_), str(step), purpose, recipient.destination, recipient.address]
    if decided_at is not None:
        words.append(decided_at.isoformat())
    return uuid5(alert_id, "/".join(words))
