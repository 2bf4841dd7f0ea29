"""SLAs as declared become promises: what is new or has changed since the last tick."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg import Cursor
from pydantic import ValidationError

from catalog.identity import organisation_id
from catalog.payload import jsonb
from catalog.sla.calendars import Calendars, UnknownCalendar
from catalog.sla.deadlines import NoDeadline, preceding
from catalog.sla.promises import Clock, PromiseKind, promises, terms
from catalog.sql import statement

_NOTHING = "nothing has come yet"


def compile_slas(cursor: Cursor[Any], calendars: Calendars, now: datetime) -> int:
    """Make the promises of SLAs that are new or have changed; how many of these there were.

    Of deadlines before `now` nothing is asked. A promise that cannot be read is kept with what is wrong as its reason.
    """
    rows = statement("sla_to_compile").execute(cursor, {"organisation": organisation_id()}).fetchall()
    given = []
    last: dict[str, datetime | str | None] = {}
    for row in rows:
        for kind, ordinal, definition in promises(row["definition"]):
            said = f"{kind}{sorted(definition.items(), key=str)}"
            if said not in last:
                last[said] = _settled(kind, definition, calendars, now)
            settled = last[said]
            wrong = settled if isinstance(settled, str) else None
            given.append(
                {
                    "sla_id": row["sla_id"],
                    "kind": kind,
                    "ordinal": ordinal,
                    "dataset_id": row["dataset_id"],
                    "process_id": row["process_id"],
                    "definition": definition,
                    "settled": None if wrong else settled,
                    "reason": wrong or _NOTHING,
                    "next_at": "infinity" if wrong else now,
                }
            )
    if rows:
        parameters = {
            "organisation": organisation_id(),
            "now": now,
            "slas": [row["sla_id"] for row in rows],
            "promises": jsonb(given),
        }
        statement("sla_compile").execute(cursor, parameters)
    return len(rows)


def _settled(
    kind: PromiseKind, definition: dict[str, Any], calendars: Calendars, now: datetime
) -> datetime | str | None:
    """The deadline before `now`; a sentence where there is something wrong with the terms."""
    try:
        found = terms(kind, definition)
        return preceding(found, calendars, now) if isinstance(found, Clock) else None
    except (ValidationError, UnknownCalendar, NoDeadline) as error:
        return str(error)
