"""Processes of every kind: pages, details, runs, and the last run that produced a dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import ProcessKey, Public, Sensitive, SubjectKey
from headrace.catalog.records import RunState, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownProcess
from headrace.queries.sql import statement

MAX_NEIGHBOURS = 500  # inputs, and outputs, shown with a process


@dataclass(frozen=True, slots=True)
class ProcessSummary:
    """A process in a list. external_name, instance: its external name, and the scheduler instance."""

    process_id: UUID
    key: SubjectKey
    technology: Public[str]
    instance: Public[str]
    external_name: Public[str | None]
    lifecycle: Public[str]
    owners: Public[tuple[str, ...]]
    description: Public[str | None]


@dataclass(frozen=True, slots=True)
class ProcessDetail:
    """A process as last declared, scanned or reported, with its current inputs and outputs.

    job_type, machine, schedule: of a scheduler's job; its schedule in words. box: its box; members: the processes in
    it. declared_at: file:line of its definition.
    """

    process_id: UUID
    key: SubjectKey
    technology: Public[str]
    instance: Public[str]
    external_name: Public[str | None]
    lifecycle: Public[str]
    trigger_mode: Public[str]
    owners: Public[tuple[str, ...]]
    description: Public[str | None]
    code_version: Public[str | None]
    steps: Public[list[Any]]
    source: Annotated[str | None, Sensitive.SOURCE]
    metadata: Annotated[dict[str, Any], Sensitive.METADATA]
    created_at: datetime
    updated_at: datetime
    inputs: Public[tuple[str, ...]]
    outputs: Public[tuple[str, ...]]
    job_type: Public[str | None]
    machine: Public[str | None]
    schedule: Public[str | None]
    box: ProcessKey | None
    members: Public[tuple[str, ...]]
    declared_at: Annotated[str | None, Sensitive.LOCATION]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list."""

    run_id: UUID
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    attempt: int
    partitions: Public[tuple[str, ...]]
    parent_run_id: UUID | None
    log_location: Annotated[str | None, Sensitive.LOCATION]
    historical: bool
    external_run: Public[str | None]


@dataclass(frozen=True, slots=True)
class NewestRun:
    """The newest run of a process."""

    process_id: UUID
    run_id: UUID
    state: RunState
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run within another one, as of a job in the run of its box."""

    run_id: UUID
    process_key: ProcessKey
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    attempt: int


def process_page(
    engine: Engine,
    words: str = "",
    *,
    technology: Technology | None = None,
    lifecycle: str | None = None,
    after: str = "",
    limit: int = 100,
) -> list[ProcessSummary]:
    """Return processes ordered by key, after the key `after`. words: each in key, description or an owner."""
    parameters = {
        "words": [f"%{_literal(word)}%" for word in words.split()],
        "organisation": current_context().organisation_id,
        "technology": technology,
        "lifecycle": lifecycle,
        "after": after,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("runs/process_page").execute(cursor, parameters).fetchall()
    return [ProcessSummary(**{**row, "owners": tuple(row["owners"])}) for row in rows]


def process_id(engine: Engine, named: str) -> UUID:
    """Return the id of the process with this key or id. Raises UnknownProcess."""
    return find_process(engine, named)[0]


def find_process(engine: Engine, named: str) -> tuple[UUID, str]:
    """Return id and key of the process with this key or id. Raises UnknownProcess."""
    columns = "SELECT process_id, process_key FROM catalog.process WHERE organisation_id"
    with transaction(engine) as cursor:
        cursor.execute(
            f"{columns} = %s AND process_key = %s UNION ALL {columns} = %s AND process_id = %s",
            [current_context().organisation_id, named, current_context().organisation_id, uuid_of(named)],
        )
        row = cursor.fetchone()
    if row is None:
        raise UnknownProcess(f"no process {named}; give its key or id")
    return row["process_id"], row["process_key"]


def process(engine: Engine, process_id: UUID) -> ProcessDetail:
    """Return the process. Raises UnknownProcess."""
    with transaction(engine) as cursor:
        parameters = {"process_id": process_id, "most": MAX_NEIGHBOURS}
        row = statement("runs/process").execute(cursor, parameters).fetchone()
    if row is None:
        raise UnknownProcess(f"no process {process_id}")
    sequences = {name: tuple(row[name]) for name in ("owners", "inputs", "outputs", "members")}
    return ProcessDetail(**{**row, **sequences})


def process_runs(
    engine: Engine,
    process_id: UUID,
    *,
    state: RunState | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[RunRow]:
    """Return the runs of a process, newest first, after (start, run id)."""
    parameters = {
        "process_id": process_id,
        "state": state,
        "before_at": before and before[0],
        "before_id": before and before[1],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("runs/process_runs").execute(cursor, parameters).fetchall()
    return [
        RunRow(**{**row, "state": RunState(row["state"]), "partitions": tuple(row["partitions"])})
        for row in rows
    ]


def newest_runs(engine: Engine, process_ids: Sequence[UUID]) -> list[NewestRun]:
    """Return the newest run of each of these processes that has run."""
    with transaction(engine) as cursor:
        rows = statement("runs/newest_runs").execute(cursor, {"process_ids": list(process_ids)}).fetchall()
    return [NewestRun(**{**row, "state": RunState(row["state"])}) for row in rows]


def child_runs(engine: Engine, run_id: UUID, limit: int) -> list[ChildRun]:
    """Return the runs within a run, in the order of their starts."""
    with transaction(engine) as cursor:
        rows = statement("runs/child_runs").execute(cursor, {"run_id": run_id, "limit": limit}).fetchall()
    return [ChildRun(**{**row, "state": RunState(row["state"])}) for row in rows]


def last_success(engine: Engine, dataset_id: UUID) -> UUID | None:
    """Return the newest successful run that produced the dataset, or None."""
    with transaction(engine) as cursor:
        row = statement("runs/last_success").execute(cursor, {"dataset_id": dataset_id}).fetchone()
    return row["run_id"] if row else None


def _literal(word: str) -> str:
    """Return a text as a pattern of LIKE that matches it only."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def uuid_of(named: str) -> UUID | None:
    """Parse a UUID in the catalog's form of 36 characters; returns None for anything else."""
    try:
        return UUID(named) if len(named) == 36 else None
    except ValueError:
        return None
