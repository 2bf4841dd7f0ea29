"""Turn declared SLAs into objectives: those new or changed since the last tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from psycopg import Cursor
from pydantic import ValidationError
from pydantic_core import from_json

from headrace.context import current_context
from headrace.database.jsonb import encoded
from headrace.slas.calendars import Calendars, UnknownCalendar
from headrace.slas.deadlines import NoDeadline, following, preceding
from headrace.slas.objectives import Clock, ObjectiveKind, objectives, terms
from headrace.slas.sql import statement
from headrace.slas.staging import stage

_NOTHING = "no data yet"
_INSTANT = timedelta(microseconds=1)
_CHANGED_AT = """
SELECT max(updated_at) AS changed_at FROM catalog.sla
WHERE organisation_id = %s AND compiled_at <> updated_at
"""
_GIVEN = {
    "sla_id": "uuid", "dataset_id": "uuid", "process_id": "uuid", "kind": "text", "ordinal": "int4",
    "definition": "text", "before": "timestamptz", "settled": "timestamptz", "deadline": "timestamptz",
    "reason": "text", "wrong": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanChanges:
    """The number of new and changed SLAs, and the incidents that a changed or removed objective belonged to."""

    slas: int = 0
    withdrawn: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class _Deadlines:
    """Three deadlines in a row: `settled` is the last one before now. None: the objective has no clock."""

    before: datetime | None = None
    settled: datetime | None = None
    deadline: datetime | None = None


def changed_at(cursor: Cursor[Any]) -> datetime | None:
    """Return when an SLA was last changed or removed that has objectives by its former terms; None if none was."""
    row = cursor.execute(_CHANGED_AT, [current_context().organisation_id]).fetchone()
    return row["changed_at"] if row else None


def compile_slas(cursor: Cursor[Any], calendars: Calendars, now: datetime) -> PlanChanges:
    """Create the objectives of new SLAs, and replace those of changed and removed ones.

    Deadlines before `now` are ignored, except one that is late and that the new terms have too. An invalid objective is
    stored with the error as its reason.
    """
    rows = (
        statement("objectives/to_compile")
        .execute(cursor, {"organisation": current_context().organisation_id})
        .fetchall()
    )
    if not rows:
        return PlanChanges()

    @cache
    def meant(definition: str) -> Sequence[Sequence[object]]:
        """Parse the terms, cached since many SLAs have the same ones."""
        return [
            _objective(kind, ordinal, found, calendars, now)
            for kind, ordinal, found in objectives(from_json(definition))
        ]

    given = (
        (row["sla_id"], row["dataset_id"], row["process_id"], *objective)
        for row in rows
        for objective in meant(row["definition"])
    )
    stage(cursor, "given", _GIVEN, given)
    parameters = {
        "organisation": current_context().organisation_id,
        "now": now,
        "slas": [row["sla_id"] for row in rows],
    }
    withdrawn = statement("objectives/withdraw").execute(cursor, parameters).fetchall()
    statement("objectives/compile").execute(cursor, parameters)
    return PlanChanges(len(rows), frozenset(row["incident_id"] for row in withdrawn))


def _objective(
    kind: ObjectiveKind, ordinal: int, definition: dict[str, Any], calendars: Calendars, now: datetime
) -> Sequence[object]:
    found = _deadlines(kind, definition, calendars, now)
    wrong = isinstance(found, str)
    known = _Deadlines() if isinstance(found, str) else found
    return (
        kind, ordinal, encoded(definition).decode(), known.before, known.settled, known.deadline,
        found if wrong else _NOTHING, wrong,
    )  # fmt: skip


def _deadlines(
    kind: ObjectiveKind, definition: dict[str, Any], calendars: Calendars, now: datetime
) -> _Deadlines | str:
    """Return the deadlines around `now`, or an error message for invalid terms."""
    try:
        found = terms(kind, definition)
        if not isinstance(found, Clock):
            return _Deadlines()
        settled = preceding(found, calendars, now)
    except (ValidationError, UnknownCalendar, NoDeadline) as error:
        return str(error)
    return _Deadlines(
        _or_none(preceding, found, calendars, settled - _INSTANT),
        settled,
        _or_none(following, found, calendars, now),
    )


def _or_none(
    find: Callable[[Clock, Calendars, datetime], datetime],
    clock: Clock,
    calendars: Calendars,
    moment: datetime,
) -> datetime | None:
    """Return a deadline; None beyond the first or the last day of its calendar."""
    try:
        return find(clock, calendars, moment)
    except (UnknownCalendar, NoDeadline):
        return None
