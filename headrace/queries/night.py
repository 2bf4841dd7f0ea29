"""The runs and deadlines of a time, such as a night, of all processes and schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import ProcessKey, Public, SubjectKey
from headrace.catalog.records import RunState
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement

MAX_RUNS = 5000
MAX_DEADLINES = 1000


@dataclass(frozen=True, slots=True)
class NightRun:
    """A run in the time. box: the process whose run started it, if any. ended_at: None while it is running."""

    run_id: UUID
    process_key: ProcessKey
    technology: Public[str]
    box: Public[str | None]
    state: RunState
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class NightDeadline:
    """A deadline in the time: its outcome, or the present status and forecast if it is still open.

    process_keys: the processes that deliver, or the process that it is of.
    """

    subject_type: Public[str]
    key: SubjectKey
    process_keys: Public[tuple[str, ...]]
    kind: Public[str]
    deadline: datetime
    state: Public[str]
    arrived_at: datetime | None
    expected_at: datetime | None


@dataclass(frozen=True, slots=True)
class Night:
    """The runs and deadlines of a time, each by time; `truncated` if there are more than MAX_RUNS or MAX_DEADLINES."""

    since: datetime
    until: datetime
    runs: tuple[NightRun, ...]
    deadlines: tuple[NightDeadline, ...]
    truncated: bool


def night(engine: Engine, since: datetime, until: datetime) -> Night:
    """Return the runs and deadlines from `since` until `until`."""
    parameters = {"organisation": current_context().organisation_id, "since": since, "until": until}
    with transaction(engine) as cursor:
        runs = (
            statement("recent/night_runs").execute(cursor, {**parameters, "limit": MAX_RUNS + 1}).fetchall()
        )
        deadlines = (
            statement("recent/night_deadlines")
            .execute(cursor, {**parameters, "limit": MAX_DEADLINES + 1})
            .fetchall()
        )
    return Night(
        since,
        until,
        tuple(NightRun(**{**row, "state": RunState(row["state"])}) for row in runs[:MAX_RUNS]),
        tuple(
            NightDeadline(**{**row, "process_keys": tuple(row["process_keys"])})
            for row in deadlines[:MAX_DEADLINES]
        ),
        len(runs) > MAX_RUNS or len(deadlines) > MAX_DEADLINES,
    )
