"""The plan of a night: the runs that are expected, the slack of each, and the critical path."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine

from headrace.access.sensitivity import ProcessKey, Public
from headrace.catalog.records import Technology
from headrace.estates.described.next_starts import scheduled_processes
from headrace.estates.next_runs import EstateTooLarge, first_runs
from headrace.queries.night import Night, dependencies, night, scheduled_jobs, usual_runs
from headrace.simulation.critical_path import Activity, schedule

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The newest run of a process in the night, or its expected one: then the start is the earliest that the runs
    before it allow, if they succeed and take their usual time. planned_at: by its schedule, or as a week ago.

    slack_seconds: how much later it could end without moving a deadline or the end of the night; negative if it ends
    too late for a deadline.
    """

    process_key: ProcessKey
    technology: Public[str]
    box: Public[str | None]
    is_expected: bool
    planned_at: datetime | None
    starts_at: datetime
    ends_at: datetime
    slack_seconds: float


@dataclass(frozen=True, slots=True)
class NightPlan:
    """The runs of a night by start. critical: the chain of runs whose ends decide when `target` ends.

    truncated: there are more runs, or jobs of an estate too large to be forecast, than are planned.
    """

    since: datetime
    until: datetime
    target: Public[str | None]
    critical: Public[tuple[str, ...]]
    runs: tuple[PlannedRun, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Expected:
    technology: str
    box: str | None
    starts_at: datetime
    took: timedelta
    is_box: bool = False


def night_plan(
    engine: Engine, since: datetime, until: datetime, now: datetime, target: str | None = None
) -> NightPlan:
    """Plan the night. target: the process whose end is explained; by default the one with the most urgent deadline."""
    found = night(engine, since, until)
    expected: dict[str, _Expected] = {}
    complete = True
    if until > now:
        usual = usual_runs(engine, since, until)
        took = timedelta()
        expected = {
            each.process_key: _Expected(each.technology, each.box, each.starts_at, each.took or took)
            for each in usual
        }
        for scheduled in scheduled_processes(engine, since - _INSTANT):
            start, end = scheduled.start.at, scheduled.finish.at
            if start is not None and start < until:
                expected[scheduled.key] = _Expected(
                    scheduled.technology, None, start, end - start if end else took
                )
        complete = _add_scheduled(engine, since, until, expected)
    activities = _activities(found, expected)
    technologies = {run.process_key: run.technology for run in found.runs}
    technologies |= {key: each.technology for key, each in expected.items()}
    edges = dependencies(engine, [each.key for each in activities])
    planned = schedule(activities, edges, now, target)
    runs = [
        PlannedRun(
            process_key=each.key,
            technology=technologies[each.key],
            box=each.box,
            is_expected=not each.started,
            planned_at=expected[each.key].starts_at if each.key in expected else None,
            starts_at=timing.starts_at,
            ends_at=timing.ends_at,
            slack_seconds=timing.slack.total_seconds(),
        )
        for each in activities
        if (timing := planned.timings[each.key]).starts_at < until
    ]
    runs.sort(key=lambda each: (each.starts_at, each.process_key))
    shown = {each.process_key for each in runs}
    critical = tuple(key for key in planned.critical if key in shown)
    return NightPlan(since, until, planned.target, critical, tuple(runs), found.truncated or not complete)


def _add_scheduled(engine: Engine, since: datetime, until: datetime, expected: dict[str, _Expected]) -> bool:
    """Add the jobs of Autosys by their schedules; returns False if those of some estate are left out."""
    complete = True
    jobs = scheduled_jobs(engine, since)
    for instance in sorted({each.instance for each in jobs}):
        try:
            starts = first_runs(engine, instance, since - _INSTANT, until)
        except EstateTooLarge:
            complete = False
            continue
        for job in jobs:
            if job.instance == instance and job.external_name in starts:
                start, took = starts[job.external_name]
                expected[job.process_key] = _Expected(Technology.AUTOSYS, job.box, start, took, job.is_box)
    return complete


def _activities(found: Night, expected: dict[str, _Expected]) -> list[Activity]:
    """Return the newest run of each process, or else its expected one; boxes only with a run or with members, of
    which the first one begins the box."""
    deadlines: dict[str, datetime] = {}
    for due in found.deadlines:
        for key in due.process_keys:
            deadlines[key] = max(due.deadline, deadlines.get(key, due.deadline))
    newest = {run.process_key: run for run in found.runs}
    with_members = {run.box for run in newest.values()}
    for key, each in expected.items():
        box = None if each.is_box or key in newest else each.box
        while box in expected and box not in with_members:
            with_members.add(box)
            box = expected[box].box
    activities = [
        Activity(
            key=run.process_key,
            starts_at=run.started_at,
            ends_at=run.ended_at,
            took=expected[run.process_key].took if run.process_key in expected else timedelta(),
            box=run.box or (expected[run.process_key].box if run.process_key in expected else None),
            deadline=deadlines.get(run.process_key),
        )
        for run in newest.values()
    ]
    begun = _begun(found, expected)
    activities += [
        Activity(
            key=key,
            starts_at=begun.get(key, each.starts_at),
            started=key in begun,
            took=each.took,
            box=each.box,
            deadline=deadlines.get(key),
        )
        for key, each in expected.items()
        if key not in newest and (not each.is_box or key in with_members)
    ]
    return activities


def _begun(found: Night, expected: dict[str, _Expected]) -> dict[str, datetime]:
    """Return when the first member of each box began whose own run was not reported."""
    begun: dict[str, datetime] = {}
    for run in found.runs:  # by start
        box = expected[run.process_key].box if run.process_key in expected else run.box
        while box in expected and box not in begun:
            begun[box] = run.started_at
            box = expected[box].box
    return begun
