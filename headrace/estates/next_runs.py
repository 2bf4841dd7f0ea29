"""The next runs of scanned processes, forecast from their schedules, the conditions of Autosys jobs, and past runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import Lock
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public
from headrace.autosys import Estate
from headrace.catalog.records import Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.row_security import is_narrow
from headrace.estates.described.next_starts import scheduled_process
from headrace.estates.simulation_inputs import history
from headrace.estates.stored_estate import stored_estate
from headrace.queries.runtimes import mean_runtimes
from headrace.simulation.durations import UsualEfforts
from headrace.simulation.expected import ExpectedInstant, expected_run
from headrace.simulation.playing import Scene, play

_NEWEST_SCAN = """
SELECT scan_id FROM catalog.estate_scan WHERE organisation_id = %s ORDER BY scanned_at DESC, scan_id LIMIT 1
"""
_MAX_ESTATES = 2  # estates kept in memory
MAX_FORECAST_JOBS = 25_000  # of an estate whose jobs are all simulated: 3 seconds
_READING = Lock()  # an estate is read by one thread, and the others wait for it


class EstateTooLarge(Exception):
    """An estate has more than MAX_FORECAST_JOBS jobs."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """The next run of a process, if its predecessors succeed and take their usual time.

    starts_at, finishes_at: None if unknown; not_before: a lower bound of the start then. must_start, must_complete: the
    times by which it has to. zone: of its own schedule; None if it has none. why: one reason per line, empty for
    a caller who may not see every job.
    """

    starts_at: datetime | None
    not_before: datetime | None
    finishes_at: datetime | None
    must_start: datetime | None
    must_complete: datetime | None
    zone: Public[str | None]
    why: Public[tuple[str, ...]]


def next_run(engine: Engine, instance: str, job: str, after: datetime) -> NextRun | None:
    """Forecast the first run of a job after a time; None if no scan has the job.

    A caller who may not see every job gets a forecast from those that they may see.
    """
    estate, scene = _estate(engine, instance)
    if job not in estate.jobs:
        return None
    scene = scene.only(job)
    past = history(engine, instance, UTC, after, scene.definitions)
    found = expected_run(scene, job, after, UsualEfforts(past))
    schedule = estate.jobs[job].schedule
    zone = (schedule.timezone or "UTC, as the job has no time zone") if schedule.starts_itself else None
    return _next_run(found.start, found.finish, zone, () if is_narrow() else found.start.why)


def next_scheduled_run(engine: Engine, process_id: UUID, after: datetime) -> NextRun | None:
    """Forecast the first run of a described process after a time; None if it has no schedule."""
    found = scheduled_process(engine, after, process_id=process_id)
    return None if found is None else _next_run(found.start, found.finish, found.zone, found.start.why)


def _next_run(
    start: ExpectedInstant, finish: ExpectedInstant, zone: str | None, why: tuple[str, ...]
) -> NextRun:
    due = start.clock
    return NextRun(
        starts_at=start.at,
        not_before=start.not_before,
        finishes_at=finish.at,
        must_start=due.must_start if due else None,
        must_complete=due.must_complete if due else None,
        zone=zone,
        why=why,
    )


def first_runs(
    engine: Engine, instance: str, after: datetime, until: datetime
) -> dict[str, tuple[datetime, timedelta]]:
    """Forecast the start of the first run of each job in a time and how long it takes, by the job's name.

    A job whose run time is unknown takes none. Raises EstateTooLarge.
    """
    estate, scene = _estate(engine, instance)
    if len(estate.jobs) > MAX_FORECAST_JOBS:
        raise EstateTooLarge(f"the estate has {len(estate.jobs)} jobs")
    means = mean_runtimes(engine, Technology.AUTOSYS, instance)
    given = {name: mean.total_seconds() for name, mean in means.items()}
    outcome = play(scene, after, until, UsualEfforts(given=given))
    found: dict[str, tuple[datetime, timedelta]] = {}
    for run in outcome.of_period():
        end = run.ended_at if run.ended_at is not None else outcome.until
        found.setdefault(
            run.name,
            (datetime.fromtimestamp(run.started_at, UTC), timedelta(seconds=end - run.started_at)),
        )
    return found


def _estate(engine: Engine, instance: str) -> tuple[Estate, Scene]:
    if is_narrow():
        return _read(engine, instance)
    with transaction(engine) as cursor:
        row = cursor.execute(_NEWEST_SCAN, [current_context().organisation_id]).fetchone()
    newest: UUID | None = row["scan_id"] if row else None
    with _READING:
        return _kept(engine, current_context().organisation_id, instance, newest)


@lru_cache(maxsize=_MAX_ESTATES)
def _kept(engine: Engine, organisation: UUID, instance: str, scan: UUID | None) -> tuple[Estate, Scene]:
    return _read(engine, instance)


def _read(engine: Engine, instance: str) -> tuple[Estate, Scene]:
    estate = stored_estate(engine, instance)
    return estate, Scene.of(estate)
