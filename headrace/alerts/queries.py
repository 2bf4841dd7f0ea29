"""Queries for alerts and their notifications, for the API and the command line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.alerts import rows
from headrace.alerts.records import Alert, AlertState, Notification
from headrace.alerts.rules import Recipient
from headrace.alerts.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownAlert
from headrace.severity import Severity
from headrace.slas.events import StoredAlertEvent, alert_events_of

_NEWEST = (datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
_MIN_PREFIX_LENGTH = 4
_FIND = """
SELECT alert_id FROM catalog.alert WHERE organisation_id = %s AND starts_with(alert_id::text, %s) LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """An alert with its numbers of sent and pending notifications."""

    alert: Alert
    sent: int
    pending: int


@dataclass(frozen=True, slots=True)
class History:
    """An alert with its events in order, and every notification with its state."""

    alert: Alert
    notifications: tuple[Notification, ...]
    alert_events: tuple[StoredAlertEvent, ...]


@dataclass(frozen=True, slots=True)
class LinkedNotification:
    """The notification that a link belongs to. title, body: None until it is sent."""

    alert_id: UUID
    organisation_id: UUID
    organisation: str
    recipient: Recipient
    title: str | None
    body: str | None

    @property
    def who(self) -> str:
        """Its recipient, as the one who acknowledges the alert by the link."""
        return "/".join(filter(None, ("link", self.recipient.destination, self.recipient.address)))


def alerts(
    engine: Engine,
    states: Collection[AlertState] = (),
    *,
    severities: Collection[Severity] = (),
    subject: str | None = None,
    include_affected: bool = True,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 100,
) -> list[AlertSummary]:
    """Return alerts, newest first, opened before a moment (or at that moment, with a lower id).

    states, severities: only these; empty: all. subject: only alerts about it or, with include_affected, affecting it.
    """
    moment, alert_id = before or _NEWEST
    parameters = {
        "organisation": current_context().organisation_id,
        "states": list(states),
        "severities": list(severities),
        "subject": subject,
        "include_affected": include_affected,
        "before": moment,
        "before_id": alert_id,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        found = statement("alerts_list").execute(cursor, parameters).fetchall()
    return [AlertSummary(rows.alert_of(row), row["sent"], row["pending"]) for row in found]


def history(engine: Engine, alert: str | UUID) -> History:
    """Return the alert with this id or prefix of an id. Raises UnknownAlert."""
    alert_id = find(engine, alert)
    parameters = {"organisation": current_context().organisation_id, "alert": alert_id, "alerts": [alert_id]}
    with transaction(engine) as cursor:
        (row,) = cursor.execute("SELECT * FROM catalog.alert WHERE alert_id = %s", [alert_id]).fetchall()
        notifications = statement("notifications_of_alert").execute(cursor, parameters).fetchall()
    found = rows.alert_of(row)
    happened = alert_events_of(engine, found.incident_id) if found.incident_id else []
    return History(found, tuple(rows.notification_of(each) for each in notifications), tuple(happened))


def linked_notification(engine: Engine, notification_id: UUID) -> LinkedNotification:
    """Return the notification of a link, of any organisation. Raises UnknownAlert."""
    with transaction(engine) as cursor:
        row = statement("notification_of_link").execute(cursor, {"notification": notification_id}).fetchone()
    if row is None:
        raise UnknownAlert("the alert of this link no longer exists; `headrace alerts list` lists alerts")
    return LinkedNotification(
        row["alert_id"],
        row["organisation_id"],
        row["organisation"],
        Recipient(row["destination"], row["address"]),
        row["title"],
        row["body"],
    )


def find(engine: Engine, alert: str | UUID) -> UUID:
    """Return the id with this prefix. Raises UnknownAlert if none or several match."""
    prefix = str(alert).strip().lower()
    found = []
    if len(prefix) >= _MIN_PREFIX_LENGTH and set(prefix) <= set("0123456789abcdef-"):
        with transaction(engine) as cursor:
            found = cursor.execute(_FIND, [current_context().organisation_id, prefix]).fetchall()
    if len(found) != 1:
        many = f"more than one alert begins with {prefix}" if found else f"no alert {prefix}"
        raise UnknownAlert(f"{many}; `headrace alerts list` lists alerts")
    return UUID(str(found[0]["alert_id"]))
