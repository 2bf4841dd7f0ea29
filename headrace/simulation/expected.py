"""When a job next starts and finishes, with the reason: its next run in a simulation of what decides it.

Runs are taken to succeed and to take their usual time, global variables to have the required values, and every job to
have succeeded before: its status stays until it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.autosys import NoStartError, Schedule, Start, next_start
from headrace.autosys.conditions import unparse
from headrace.simulation.definitions import Definition
from headrace.simulation.engine import Efforts, Simulation
from headrace.simulation.obstacles import why_not
from headrace.simulation.outcome import Outcome, Run, moment, shown
from headrace.simulation.playing import Scene, begun

_HORIZONS = tuple(timedelta(days=days) for days in (2, 9, 40, 400))
_MANY_RUNS = 100_000  # after so many, the year is not played to its end


@dataclass(frozen=True, slots=True)
class ExpectedInstant:
    """An instant (UTC), or None if unknown, with the reasons, one per line.

    not_before: a lower bound if unknown. clock: for a start, that of the job's own schedule, with the times by which
    the run must start and complete.
    """

    at: datetime | None
    why: tuple[str, ...]
    not_before: datetime | None = None
    clock: Start | None = None

    @property
    def earliest(self) -> datetime | None:
        """The instant, or its lower bound."""
        return self.at or self.not_before


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """The next run of a job."""

    start: ExpectedInstant
    finish: ExpectedInstant


def expected_run(scene: Scene, name: str, after: datetime, efforts: Efforts) -> ExpectedRun:
    """Return the first run of a job that starts after a time. Raises KeyError for an unknown job."""
    definition = scene.definitions[name]
    scene = scene.only(name)
    try:
        begin = max(after, _not_before(scene, definition, after) - timedelta(days=1))
    except NoStartError as error:
        unknown = ExpectedInstant(None, (str(error),))
        return ExpectedRun(unknown, unknown)
    simulation = begun(scene, begin, efforts)
    run = _first_run(simulation, name, begin, after.timestamp())
    outcome = simulation.outcome
    if run is None:  # the reason is that of the first days, not of a year later
        outcome = begun(scene, begin, efforts).advance(begin + _HORIZONS[0])
        unknown = ExpectedInstant(None, why_not(scene, outcome, name))
        return ExpectedRun(unknown, unknown)
    return ExpectedRun(_start(outcome, run), _finish(outcome, run))


def expected_finish(name: str, start: ExpectedInstant, takes: timedelta | None) -> ExpectedInstant:
    """Return the end of a run that starts then. takes: its mean time; None if unknown."""
    if start.at is None:
        return ExpectedInstant(None, start.why, start.not_before)
    began = f"{name} starts {start.at:%Y-%m-%d %H:%M} UTC"
    if takes is None:
        return ExpectedInstant(None, (f"{began}; how long it takes is not known",), start.at)
    return ExpectedInstant(start.at + takes, (f"{began} and takes {takes} on average",))


def expected_facts(
    job: str, start: ExpectedInstant, finish: ExpectedInstant, zone: str | None
) -> dict[str, object]:
    """Return when a job is expected to start and finish, and why."""
    due = start.clock
    return {
        "job": job,
        "at": start.at,
        "not_before": start.not_before,
        "local": due.local if due else None,
        "zone": zone,
        "must_start": due.must_start if due else None,
        "must_complete": due.must_complete if due else None,
        "why": start.why,
        "finish": finish.at,
        "finish_why": finish.why,
    }


def _not_before(scene: Scene, definition: Definition, after: datetime) -> datetime:
    """Return when the schedules of the job and of the boxes around it let it start, so that nothing before is played.

    Raises NoStartError if one of them does not.
    """
    at, seen = after, set[str]()
    each: Definition | None = definition
    while each is not None and each.name not in seen:
        seen.add(each.name)
        if isinstance(each.schedule, Schedule) and each.schedule.starts_itself and each.next_run is None:
            at = max(at, next_start(each.schedule, after, scene.clock).at)
        each = scene.definitions.get(each.box or "")
    return at


def _first_run(simulation: Simulation, name: str, begin: datetime, after: float) -> Run | None:
    for horizon in _HORIZONS:
        run = simulation.advance_to_run(name, after, begin + horizon)
        if run is not None or len(simulation.outcome.runs) > _MANY_RUNS:
            return run
    return None


def _start(outcome: Outcome, run: Run) -> ExpectedInstant:
    at, why = moment(run.started_at), outcome.why(run)
    if run.starts_exactly:
        return ExpectedInstant(at, why, clock=run.tick)
    return ExpectedInstant(None, (*why, *_unknown(outcome, run)), at, run.tick)


def _finish(outcome: Outcome, run: Run) -> ExpectedInstant:
    began = f"{run.name} starts {shown(run.started_at)}"
    if run.ended_at is None:
        return ExpectedInstant(None, (f"{began}; its end is not known",), moment(run.started_at))
    if not run.is_exact:
        unknown = tuple(_unknown(outcome, run)) or (f"{began}; how long it takes is not known",)
        return ExpectedInstant(None, unknown, moment(run.ended_at))
    if run.is_bypassed:
        return ExpectedInstant(moment(run.ended_at), (f"{run.name} is on noexec: it succeeds without a run",))
    if outcome.definitions[run.name].is_box:
        return ExpectedInstant(moment(run.ended_at), (_end_of_box(outcome, run),))
    takes = timedelta(seconds=round(run.ended_at - run.started_at))
    return ExpectedInstant(moment(run.ended_at), (f"{began} and takes {takes}",))


def _unknown(outcome: Outcome, run: Run) -> tuple[str, ...]:
    """Return which end before the start, or in the box, is not known, and why."""
    root = _unknown_end(outcome, run)
    if root is None:
        return ()
    name = root.name
    return (
        f"when {name} ends is not known",
        f"{name} starts {shown(root.started_at)}; how long it takes is not known",
    )


def _unknown_end(outcome: Outcome, run: Run) -> Run | None:
    """Return the run of unknown length that makes a later start or end unknown."""
    seen: set[int] = set()
    while run.index not in seen:
        seen.add(run.index)
        if run.starts_exactly:
            before = [each for each in outcome.runs if each.box_run == run.index and not each.is_exact]
        else:
            indexes = (run.cause, run.box_run, *(index for _, index in run.met))
            before = [
                each for index in indexes if index is not None and not (each := outcome.runs[index]).is_exact
            ]
        if not before:
            return run
        run = before[0]
    return None


def _end_of_box(outcome: Outcome, box: Run) -> str:
    condition = outcome.definitions[box.name].box_success
    members = [run for run in outcome.runs if run.box_run == box.index and run.ended_at is not None]
    if condition is not None:
        return f"box_success of {box.name}: {unparse(condition)}"
    if not members:
        return f"no member of {box.name} runs"
    last = max(members, key=lambda run: (run.ended_at or 0.0, run.name))
    return f"the last member, {last.name}, is expected to end {shown(last.ended_at or 0.0)}"
