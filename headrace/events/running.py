"""Runs elsewhere that were under way at an instant, for whoever reads on from there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from headrace.catalog.records import RunState, Technology
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.events.sql import statement


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An attempt of a run that had begun and not ended. state: of the attempt, as far as it is known by now."""

    process: str
    run: str
    attempt: int
    state: RunState
    began: datetime
    machine: str | None


def under_way(engine: Engine, technology: Technology, instance: str, at: datetime) -> list[UnderWay]:
    """The attempts that were under way, of runs with a number or name, that began in the two days before.

    instance: the scheduler's name; those of its jobs that were scanned or reported without one come first.
    """
    parameters = {"organisation": organisation_id(), "technology": technology, "instance": instance, "at": at}
    with transaction(engine) as cursor:
        rows = statement("under_way").execute(cursor, parameters).fetchall()
    return [UnderWay(**{**row, "state": RunState(row["state"])}) for row in rows]
