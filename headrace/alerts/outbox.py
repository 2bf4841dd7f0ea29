"""The outbox: alert events become alerts and notifications in one transaction, so that no decision is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.alerts import decisions as deciding
from headrace.alerts import rows
from headrace.alerts.decisions import Decision
from headrace.alerts.records import Alert, AlertState, Notification, NotificationState, alert_id_of
from headrace.alerts.rules import AlertRules
from headrace.alerts.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.errors import UnknownAlert

BATCH_SIZE = 500  # alert events per transaction
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('deciding on alerts/' || %s, 0))"


@dataclass(frozen=True, slots=True)
class ProcessingResult:
    """The result of processing alert events. without_recipient: alerts that no one is notified of."""

    alert_events: int = 0
    opened: int = 0
    closed: int = 0
    notifications: int = 0
    without_recipient: tuple[str, ...] = ()

    def __add__(self, other: ProcessingResult) -> ProcessingResult:
        return ProcessingResult(
            self.alert_events + other.alert_events,
            self.opened + other.opened,
            self.closed + other.closed,
            self.notifications + other.notifications,
            self.without_recipient + other.without_recipient,
        )


def decide_next(
    engine: Engine, rules: AlertRules, now: datetime, limit: int = BATCH_SIZE
) -> ProcessingResult:
    """Process the next alert events and store the result; fewer than `limit` means that none are left."""
    with transaction(engine) as cursor:
        organisation = current_context().organisation_id
        cursor.execute(_ALONE, [str(organisation)])
        found = (
            statement("alert_events_unprocessed")
            .execute(cursor, {"organisation": organisation, "limit": limit})
            .fetchall()
        )
        if not found:
            return ProcessingResult()
        named = [
            (row["incident_id"] or alert_id_of(row["alert_event_id"], organisation), rows.alert_event_of(row))
            for row in found
        ]
        work = _Work(cursor, {alert_id for alert_id, _ in named})
        decided = ProcessingResult(alert_events=len(found))
        for alert_id, alert_event in named:
            before = work.alerts.get(alert_id)
            decision = deciding.decide(
                alert_id, before, work.notifications.get(alert_id, ()), alert_event, rules, now
            )
            if decision is not None:
                work.take(decision)
                decided += _counted(before, decision)
        work.store()
        sent = {
            "organisation": organisation,
            "now": now,
            "alert_events": [row["alert_event_id"] for row in found],
        }
        statement("alert_events_processed").execute(cursor, sent)
    return decided


def decide_due(engine: Engine, rules: AlertRules, now: datetime) -> ProcessingResult:
    """Start the steps of unacknowledged alerts again, end acknowledgements that expire, notify new holders, and those
    whose alert was resolved."""
    decided = ProcessingResult()
    with transaction(engine) as cursor:
        organisation = current_context().organisation_id
        cursor.execute(_ALONE, [str(organisation)])
        parameters = {
            "organisation": organisation,
            "now": now,
            "acknowledge_for": rules.acknowledge_for,
            "limit": BATCH_SIZE,
        }
        found = statement("alerts_due").execute(cursor, parameters).fetchall()
        if not found:
            return decided
        work = _Work(cursor, {row["alert_id"] for row in found})
        for alert_id, alert in list(work.alerts.items()):
            decision = deciding.decide_due(alert, work.notifications.get(alert_id, ()), rules, now)
            if decision is not None:
                work.take(decision)
                decided += _counted(alert, decision)
        work.store()
    return decided


def acknowledge(
    engine: Engine,
    alert_id: UUID,
    by: str,
    now: datetime,
    comment: str | None = None,
    lasts: timedelta | None = None,
) -> Alert:
    """Acknowledge an alert, which stops its escalation until the acknowledgement expires, and return it.

    The first one who acknowledges it counts. lasts: None: as long as alerts.yaml says. Raises UnknownAlert.
    """
    with transaction(engine) as cursor:
        work, known = _known(cursor, alert_id)
        notifications = work.notifications.get(alert_id, ())
        decision = deciding.acknowledge(known, notifications, by, comment, now, lasts)
        work.take(decision)
        work.store()
    return decision.alert


def hand_over(
    engine: Engine,
    alert_id: UUID,
    by: str,
    to: str,
    now: datetime,
    comment: str | None = None,
    lasts: timedelta | None = None,
) -> Alert:
    """Hand an acknowledged alert over to another person or owner, and return it; the next tick notifies them.

    Raises UnknownAlert or NotAcknowledged.
    """
    with transaction(engine) as cursor:
        work, known = _known(cursor, alert_id)
        decision = deciding.hand_over(known, by, to, comment, now, lasts)
        work.take(decision)
        work.store()
    return decision.alert


def resolve(engine: Engine, alert_id: UUID, by: str, now: datetime, comment: str | None = None) -> Alert:
    """Close an alert and return it; the next tick informs its recipients. Raises UnknownAlert."""
    with transaction(engine) as cursor:
        work, known = _known(cursor, alert_id)
        decision = deciding.resolve(known, work.notifications.get(alert_id, ()), by, comment, now)
        work.take(decision)
        work.store()
    return decision.alert


def _known(cursor: Cursor[Any], alert_id: UUID) -> tuple[_Work, Alert]:
    """Return the alert, locked. Raises UnknownAlert."""
    work = _Work(cursor, {alert_id})
    if alert_id not in work.alerts:
        raise UnknownAlert(f"no alert {alert_id}; `headrace alerts list` lists alerts")
    return work, work.alerts[alert_id]


class _Work:
    """Alerts with their notifications, locked for the transaction, and the changes to store."""

    def __init__(self, cursor: Cursor[Any], alerts: Iterable[UUID]) -> None:
        self._cursor = cursor
        parameters = {"organisation": current_context().organisation_id, "alerts": sorted(alerts)}
        found = statement("alerts_locked").execute(cursor, parameters).fetchall()
        self.alerts = {row["alert_id"]: rows.alert_of(row) for row in found}
        self.notifications: dict[UUID, list[Notification]] = {}
        for row in statement("notifications_locked").execute(cursor, parameters):
            self.notifications.setdefault(row["alert_id"], []).append(rows.notification_of(row))
        self._changed: dict[UUID, Alert] = {}
        self._new: dict[UUID, Notification] = {}
        self._dropped: dict[UUID, str] = {}

    def take(self, decision: Decision) -> None:
        alert_id = decision.alert.alert_id
        self.alerts[alert_id] = self._changed[alert_id] = decision.alert
        self._dropped |= dict.fromkeys(decision.drop, decision.because)
        self._new |= {notification.notification_id: notification for notification in decision.send}
        kept = [
            _dropped(notification, decision.drop) for notification in self.notifications.get(alert_id, ())
        ]
        self.notifications[alert_id] = list(
            {notification.notification_id: notification for notification in (*kept, *decision.send)}.values()
        )

    def store(self) -> None:
        organisation = current_context().organisation_id
        for name, parameter in (
            ("alerts_store", {"alerts": rows.alerts_parameter(self._changed.values())}),
            ("notifications_store", {"notifications": rows.notifications_parameter(self._new.values())}),
            (
                "notifications_drop",
                {
                    "dropped": jsonb(
                        [{"notification_id": key, "reason": why} for key, why in self._dropped.items()]
                    )
                },
            ),
        ):
            statement(name).execute(self._cursor, {"organisation": organisation, **parameter})


def _dropped(notification: Notification, drop: Sequence[UUID]) -> Notification:
    return (
        replace(notification, state=NotificationState.DROPPED)
        if notification.notification_id in drop
        else notification
    )


def _counted(before: Alert | None, decision: Decision) -> ProcessingResult:
    alert = decision.alert
    was_open = before is not None and before.state is not AlertState.CLOSED
    is_open = alert.state is not AlertState.CLOSED
    is_new = not was_open and (is_open or before is None)
    without_recipient = (f"{alert.subject.key} ({alert.kind})",) if is_new and not decision.send else ()
    return ProcessingResult(
        0, int(is_new), int(was_open and not is_open), len(decision.send), without_recipient
    )
