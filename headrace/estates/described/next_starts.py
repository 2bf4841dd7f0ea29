"""The next runs of described processes, from their schedules and past runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.estates.described.schedules import expected_start
from headrace.estates.sql import statement
from headrace.queries.runtimes import mean_runtimes
from headrace.simulation.expected import ExpectedInstant, expected_finish
from headrace.slas import calendars
from headrace.slas.calendars import Calendars


@dataclass(frozen=True, slots=True)
class ScheduledProcess:
    """A described process with its next start, and its end if runs take their usual time.

    zone: of its schedule.
    """

    key: str
    technology: Technology
    start: ExpectedInstant
    finish: ExpectedInstant
    zone: str


def scheduled_process(
    engine: Engine, after: datetime, *, process_id: UUID | None = None, name: str | None = None
) -> ScheduledProcess | None:
    """Forecast the first run of a process after a moment; None if it has no schedule. name: its key or name."""
    return next(_forecast(engine, after, process_id, name), None)


def scheduled_processes(engine: Engine, after: datetime) -> list[ScheduledProcess]:
    """Forecast the first run after a moment of each process with a schedule that has succeeded in two weeks, by key."""
    return list(_forecast(engine, after, since=after))


def _forecast(
    engine: Engine,
    after: datetime,
    process_id: UUID | None = None,
    name: str | None = None,
    since: datetime | None = None,
) -> Iterator[ScheduledProcess]:
    parameters = {
        "organisation": current_context().organisation_id,
        "process": process_id,
        "name": name,
        "since": since,
    }
    with transaction(engine) as cursor:
        rows = statement("scheduled_processes").execute(cursor, parameters).fetchall()
        known = calendars.load(cursor) if rows else Calendars()
    runtimes = cache(lambda technology: mean_runtimes(engine, technology))
    for row in rows:
        technology = Technology(row["technology"])
        start = expected_start(row["starts"], row["sla"], after, known)
        finish = expected_finish(row["process_key"], start, runtimes(technology).get(row["external_name"]))
        yield ScheduledProcess(
            row["process_key"], technology, start, finish, str(row["starts"].get("timezone", "UTC"))
        )
