"""The outbox: happenings become alerts and messages in one transaction, and nothing that was decided is ever lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.alerts import decisions as deciding
from headrace.alerts import rows
from headrace.alerts.decisions import Decision
from headrace.alerts.records import Alert, AlertState, Message, MessageState, alert_id_of
from headrace.alerts.rules import AlertRules
from headrace.alerts.sql import statement
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.database.jsonb import jsonb
from headrace.errors import UnknownAlert

AT_ONCE = 500  # happenings of a transaction
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('deciding on alerts/' || %s, 0))"


@dataclass(frozen=True, slots=True)
class Decided:
    """What happenings came to. unheard: alerts that reach nobody."""

    happenings: int = 0
    opened: int = 0
    closed: int = 0
    messages: int = 0
    unheard: tuple[str, ...] = ()

    def __add__(self, other: Decided) -> Decided:
        return Decided(
            self.happenings + other.happenings,
            self.opened + other.opened,
            self.closed + other.closed,
            self.messages + other.messages,
            self.unheard + other.unheard,
        )


def decide_next(engine: Engine, rules: AlertRules, now: datetime, limit: int = AT_ONCE) -> Decided:
    """Decide what the next happenings come to, and store it; fewer than `limit` happenings: there are no more."""
    with transaction(engine) as cursor:
        organisation = organisation_id()
        cursor.execute(_ALONE, [str(organisation)])
        found = (
            statement("alerts_untold")
            .execute(cursor, {"organisation": organisation, "limit": limit})
            .fetchall()
        )
        if not found:
            return Decided()
        named = [
            (row["incident_id"] or alert_id_of(row["happening_id"], organisation), rows.happening_of(row))
            for row in found
        ]
        work = _Work(cursor, {alert_id for alert_id, _ in named})
        decided = Decided(happenings=len(found))
        for alert_id, happening in named:
            before = work.alerts.get(alert_id)
            decision = deciding.decide(
                alert_id, before, work.messages.get(alert_id, ()), happening, rules, now
            )
            if decision is not None:
                work.take(decision)
                decided += _counted(before, decision)
        work.store()
        told = {
            "organisation": organisation,
            "now": now,
            "happenings": [row["happening_id"] for row in found],
        }
        statement("alerts_told").execute(cursor, told)
    return decided


def acknowledge(engine: Engine, alert_id: UUID, by: str, now: datetime, comment: str | None = None) -> Alert:
    """Somebody is at it: nothing escalates any more. The alert as it is then; whoever came first stays named.

    Raises UnknownAlert.
    """
    with transaction(engine) as cursor:
        work = _Work(cursor, {alert_id})
        known = work.alerts.get(alert_id)
        if known is None:
            raise UnknownAlert(f"there is no alert {alert_id}; `headrace alerts list` lists them")
        decision = deciding.acknowledge(known, work.messages.get(alert_id, ()), by, comment, now)
        work.take(decision)
        work.store()
    return decision.alert


class _Work:
    """Some alerts with their messages, nobody else's until the transaction ends, and what is decided about them."""

    def __init__(self, cursor: Cursor[Any], alerts: Iterable[UUID]) -> None:
        self._cursor = cursor
        parameters = {"organisation": organisation_id(), "alerts": sorted(alerts)}
        found = statement("alerts_locked").execute(cursor, parameters).fetchall()
        self.alerts = {row["alert_id"]: rows.alert_of(row) for row in found}
        self.messages: dict[UUID, list[Message]] = {}
        for row in statement("alert_messages_locked").execute(cursor, parameters):
            self.messages.setdefault(row["alert_id"], []).append(rows.message_of(row))
        self._changed: dict[UUID, Alert] = {}
        self._new: dict[UUID, Message] = {}
        self._dropped: dict[UUID, str] = {}

    def take(self, decision: Decision) -> None:
        alert_id = decision.alert.alert_id
        self.alerts[alert_id] = self._changed[alert_id] = decision.alert
        self._dropped |= dict.fromkeys(decision.drop, decision.because)
        self._new |= {message.message_id: message for message in decision.send}
        kept = [_dropped(message, decision.drop) for message in self.messages.get(alert_id, ())]
        self.messages[alert_id] = [*kept, *decision.send]

    def store(self) -> None:
        organisation = organisation_id()
        for name, parameter in (
            ("alerts_store", {"alerts": rows.alerts_parameter(self._changed.values())}),
            ("alert_messages_store", {"messages": rows.messages_parameter(self._new.values())}),
            (
                "alert_messages_drop",
                {
                    "dropped": jsonb(
                        [{"message_id": key, "reason": why} for key, why in self._dropped.items()]
                    )
                },
            ),
        ):
            statement(name).execute(self._cursor, {"organisation": organisation, **parameter})


def _dropped(message: Message, drop: Sequence[UUID]) -> Message:
    return replace(message, state=MessageState.DROPPED) if message.message_id in drop else message


def _counted(before: Alert | None, decision: Decision) -> Decided:
    alert = decision.alert
    was_open = before is not None and before.state is not AlertState.CLOSED
    is_open = alert.state is not AlertState.CLOSED
    is_new = not was_open and (is_open or before is None)
    unheard = (f"{alert.subject.key} ({alert.kind})",) if is_new and not decision.send else ()
    return Decided(0, int(is_new), int(was_open and not is_open), len(decision.send), unheard)
