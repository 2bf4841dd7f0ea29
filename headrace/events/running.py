"""External runs that were running at an instant, for readers that continue from there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from headrace.catalog.records import RunState, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.events.sql import statement


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An attempt that had started and not ended. state: the attempt's state as known now."""

    process: str
    run: str
    attempt: int
    state: RunState
    began: datetime
    machine: str | None


def under_way(engine: Engine, technology: Technology, instance: str, at: datetime) -> list[UnderWay]:
    """Return the running attempts, of runs with a number or name, that started in the two days before.

    instance: the scheduler's name; jobs that were scanned or reported without one come first.
    """
    parameters = {
        "organisation": current_context().organisation_id,
        "technology": technology,
        "instance": instance,
        "at": at,
    }
    with transaction(engine) as cursor:
        rows = statement("under_way").execute(cursor, parameters).fetchall()
    return [UnderWay(**{**row, "state": RunState(row["state"])}) for row in rows]
