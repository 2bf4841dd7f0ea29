"""The runs and deadlines of a time, such as a night, of all processes and schedulers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import ProcessKey, Public, SubjectKey
from headrace.catalog.records import RunState
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement

MAX_RUNS = 5000
MAX_DEADLINES = 1000
MAX_USUAL = 5000  # runs that are expected because there was one a week ago


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
    """The runs and deadlines of a time, each by time; `truncated` if there are more."""

    since: datetime
    until: datetime
    runs: tuple[NightRun, ...]
    deadlines: tuple[NightDeadline, ...]
    truncated: bool


def night(engine: Engine, since: datetime, until: datetime, words: str = "", limit: int = MAX_RUNS) -> Night:
    """Return the runs and deadlines from `since` until `until`. words: in the key of the process."""
    time = {"since": since, "until": until, "words": words.lower()}
    runs = _rows(engine, "recent/night_runs", {**time, "limit": limit + 1})
    deadlines = _rows(engine, "recent/night_deadlines", {**time, "limit": MAX_DEADLINES + 1})
    return Night(
        since,
        until,
        tuple(NightRun(**{**row, "state": RunState(row["state"])}) for row in runs[:limit]),
        tuple(
            NightDeadline(**{**row, "process_keys": tuple(row["process_keys"])})
            for row in deadlines[:MAX_DEADLINES]
        ),
        len(runs) > limit or len(deadlines) > MAX_DEADLINES,
    )


@dataclass(frozen=True, slots=True)
class UsualRun:
    """A run that is expected because there was one at this time a week ago, or a day ago."""

    process_key: str
    technology: str
    box: str | None
    starts_at: datetime
    took: timedelta | None


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job of Autosys that runs: a scan has it, and it has succeeded in two weeks; or a box."""

    process_key: str
    instance: str
    external_name: str
    box: str | None
    is_box: bool


def usual_runs(engine: Engine, since: datetime, until: datetime) -> list[UsualRun]:
    """Return the usual runs of a time, of processes whose schedule no scan has."""
    parameters = {"since": since, "until": until, "limit": MAX_USUAL}
    return [UsualRun(**row) for row in _rows(engine, "recent/usual_runs", parameters)]


def scheduled_jobs(engine: Engine, since: datetime) -> list[ScheduledJob]:
    """Return the jobs of Autosys that run, by key."""
    return [ScheduledJob(**row) for row in _rows(engine, "recent/scheduled_jobs", {"since": since})]


def dependencies(engine: Engine, keys: Collection[str]) -> list[tuple[str, str]]:
    """Return which of these processes come before which."""
    rows = _rows(engine, "recent/night_dependencies", {"keys": list(keys)})
    return [(row["source"], row["target"]) for row in rows]


def _rows(engine: Engine, name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    with transaction(engine) as cursor:
        organisation = current_context().organisation_id
        return statement(name).execute(cursor, {**parameters, "organisation": organisation}).fetchall()
