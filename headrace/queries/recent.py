"""Running runs, runs that failed lately, and datasets that arrived lately, of all processes and datasets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, ProcessKey, Public, Sensitive
from headrace.catalog.records import Outcome, RunState
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement

MAX_VERSIONS = 2000  # newest versions, of which the datasets are shown


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that is running, or has failed. reason: of the failure of its last attempt."""

    run_id: UUID
    process_key: ProcessKey
    technology: Public[str]
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    attempt: int
    partitions: Public[tuple[str, ...]]
    reason: Annotated[str | None, Sensitive.ERROR]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A dataset of the newest MAX_VERSIONS versions: the number of its versions among them, their rows, the newest."""

    dataset: DatasetKey
    count: int
    row_count: int | None
    tag: Public[str]
    partition: Public[str | None]
    outcome: Outcome
    created_at: datetime
    run_id: UUID | None


@dataclass(frozen=True, slots=True)
class Recent:
    """Runs that are running, runs that failed and were not made good since, and datasets that arrived, newest first."""

    running: tuple[RecentRun, ...]
    failed: tuple[RecentRun, ...]
    arrived: tuple[Arrival, ...]


def recent(engine: Engine, since: datetime, limit: int = 100) -> Recent:
    """Return what runs now, and what failed or arrived since a time; `limit` of each."""
    parameters = {
        "organisation": current_context().organisation_id,
        "since": since,
        "versions": MAX_VERSIONS,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        running = statement("recent/running").execute(cursor, parameters).fetchall()
        failed = statement("recent/failed").execute(cursor, parameters).fetchall()
        arrived = statement("recent/arrived").execute(cursor, parameters).fetchall()
    return Recent(
        tuple(_run(row) for row in running),
        tuple(_run(row) for row in failed),
        tuple(Arrival(**{**row, "outcome": Outcome(row["outcome"])}) for row in arrived),
    )


def _run(row: dict[str, object]) -> RecentRun:
    return RecentRun(
        **{**row, "state": RunState(str(row["state"])), "partitions": tuple(row["partitions"])}  # type: ignore[arg-type]
    )
