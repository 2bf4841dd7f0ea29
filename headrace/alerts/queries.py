"""Alerts and what became of their messages, as commands and the API show them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.alerts import rows
from headrace.alerts.records import Alert, AlertState, Message
from headrace.alerts.sql import statement
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.errors import UnknownAlert
from headrace.slas.events import Noticed, happenings_of

_NEWEST = (datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
_SHORTEST_PREFIX = 4
_FIND = """
SELECT alert_id FROM catalog.alert WHERE organisation_id = %s AND starts_with(alert_id::text, %s) LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """An alert, how many messages have told of it, and how many are yet to."""

    alert: Alert
    told: int
    waiting: int


@dataclass(frozen=True, slots=True)
class History:
    """All of an alert: what happened, in order, and every message with what became of it."""

    alert: Alert
    messages: tuple[Message, ...]
    happenings: tuple[Noticed, ...]


def alerts(
    engine: Engine,
    states: Collection[AlertState] = (),
    *,
    subject: str | None = None,
    hitting: bool = True,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 100,
) -> list[Listed]:
    """The newest first, those opened before a moment (and of one moment, with a lower id).

    states: only those that stand so; none given: all. subject: only those about it, or, if hitting, that hit it.
    """
    moment, alert_id = before or _NEWEST
    parameters = {
        "organisation": organisation_id(),
        "states": list(states),
        "subject": subject,
        "hitting": hitting,
        "before": moment,
        "before_id": alert_id,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        found = statement("alerts_list").execute(cursor, parameters).fetchall()
    return [Listed(rows.alert_of(row), row["told"], row["waiting"]) for row in found]


def history(engine: Engine, alert: str | UUID) -> History:
    """The alert of this id, or of the one that a prefix of an id fits. Raises UnknownAlert."""
    alert_id = find(engine, alert)
    parameters = {"organisation": organisation_id(), "alert": alert_id, "alerts": [alert_id]}
    with transaction(engine) as cursor:
        (row,) = cursor.execute("SELECT * FROM catalog.alert WHERE alert_id = %s", [alert_id]).fetchall()
        messages = statement("alert_messages_of").execute(cursor, parameters).fetchall()
    found = rows.alert_of(row)
    happened = happenings_of(engine, found.incident_id) if found.incident_id else []
    return History(found, tuple(rows.message_of(each) for each in messages), tuple(happened))


def find(engine: Engine, alert: str | UUID) -> UUID:
    """The id that begins so. Raises UnknownAlert when nothing begins so, or more than one."""
    prefix = str(alert).strip().lower()
    found = []
    if len(prefix) >= _SHORTEST_PREFIX and set(prefix) <= set("0123456789abcdef-"):
        with transaction(engine) as cursor:
            found = cursor.execute(_FIND, [organisation_id(), prefix]).fetchall()
    if len(found) != 1:
        many = f"more than one alert begins with {prefix}" if found else f"there is no alert {prefix}"
        raise UnknownAlert(f"{many}; `headrace alerts list` lists them")
    return UUID(str(found[0]["alert_id"]))
