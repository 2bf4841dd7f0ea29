"""Turn declared SLAs into objectives: those new or changed since the last tick."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from psycopg import Cursor
from pydantic import ValidationError
from pydantic_core import from_json

from headrace.database.ids import organisation_id
from headrace.database.jsonb import encoded
from headrace.slas.calendars import Calendars, UnknownCalendar
from headrace.slas.deadlines import NoDeadline, preceding
from headrace.slas.objectives import Clock, ObjectiveKind, objectives, terms
from headrace.slas.sql import statement
from headrace.slas.staging import stage

_NOTHING = "no data yet"
_GIVEN = {
    "sla_id": "uuid", "dataset_id": "uuid", "process_id": "uuid", "kind": "text", "ordinal": "int4",
    "definition": "text", "settled": "timestamptz", "reason": "text", "wrong": "bool",
}  # fmt: skip


def compile_slas(cursor: Cursor[Any], calendars: Calendars, now: datetime) -> int:
    """Create the objectives of new and changed SLAs; returns the number of such SLAs.

    Deadlines before `now` are ignored. An invalid objective is stored with the error as its reason.
    """
    rows = statement("sla_to_compile").execute(cursor, {"organisation": organisation_id()}).fetchall()
    if not rows:
        return 0

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
    parameters = {"organisation": organisation_id(), "now": now, "slas": [row["sla_id"] for row in rows]}
    statement("sla_compile").execute(cursor, parameters)
    return len(rows)


def _objective(
    kind: ObjectiveKind, ordinal: int, definition: dict[str, Any], calendars: Calendars, now: datetime
) -> Sequence[object]:
    settled = _settled(kind, definition, calendars, now)
    wrong = isinstance(settled, str)
    return (
        kind, ordinal, encoded(definition).decode(), None if wrong else settled, settled if wrong else _NOTHING, wrong,
    )  # fmt: skip


def _settled(
    kind: ObjectiveKind, definition: dict[str, Any], calendars: Calendars, now: datetime
) -> datetime | str | None:
    """Return the last deadline before `now`, or an error message for invalid terms."""
    try:
        found = terms(kind, definition)
        return preceding(found, calendars, now) if isinstance(found, Clock) else None
    except (ValidationError, UnknownCalendar, NoDeadline) as error:
        return str(error)
