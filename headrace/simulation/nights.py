"""A night or a longer period, simulated: its runs, critical path, deadlines, and what hinders jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from random import Random

from headrace.simulation.changes import Change, ChangedEfforts, changed_scene, plan
from headrace.simulation.critical_path import Activity, Schedule, schedule
from headrace.simulation.deadlines import Deadline, Result, results, with_probabilities
from headrace.simulation.durations import UsualEfforts
from headrace.simulation.engine import Efforts
from headrace.simulation.obstacles import deadlocks, open_boxes
from headrace.simulation.outcome import Outcome, Run, moment
from headrace.simulation.playing import Scene, begun

SEED = 1


@dataclass(frozen=True, slots=True)
class Period:
    """A period to play, and what is known of its runs. slas: deadlines that the definitions do not
    have; those of unknown jobs are ignored.

    efforts: how runs go. For the probabilities of misses, each round draws run times from the history of `efforts`.
    """

    since: datetime
    until: datetime
    efforts: UsualEfforts
    slas: tuple[Deadline, ...] = ()
    changes: tuple[Change, ...] = ()
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Night:
    """A period that was played.

    deadlocks: sets of jobs that wait for each other. open_boxes: as by `obstacles.open_boxes`. unknown: jobs that ran
    and whose run time is unknown: they take no time.
    """

    outcome: Outcome
    results: list[Result]
    deadlocks: list[tuple[str, ...]]
    open_boxes: Mapping[str, tuple[str, tuple[str, ...]]]
    unknown: list[str] = field(default_factory=list)


def simulate(scene: Scene, period: Period) -> Night:
    """Play a period with its changes.

    Raises UncertainError if a calendar is to be changed whose rules are uncertain.
    """
    changed = changed_scene(scene, period.changes, period.since)
    outcome = _played(changed, scene.clock.zone, period, period.efforts)
    slas = [each for each in period.slas if each.name in scene.definitions]
    found = results(outcome, slas)
    names = sorted({each.deadline.name for each in found})
    if names and period.efforts.history is not None:
        part = changed.only(*names)

        def play(random: Random) -> Outcome:
            return _played(part, scene.clock.zone, period, replace(period.efforts, random=random))

        found = with_probabilities(found, play, period.seed, slas)
    unknown = {
        run.name
        for run in outcome.of_period()
        if not outcome.definitions[run.name].is_box
        and not run.is_bypassed
        and period.efforts.of(outcome.definitions[run.name], run.started_at, 1).seconds is None
    }
    return Night(outcome, found, deadlocks(changed, outcome), open_boxes(changed, outcome), sorted(unknown))


def critical_path(night: Night, target: str | None = None) -> Schedule:
    """Return the slack of each run of the period, and the chain of runs that decides when a job ends.

    Runs are named as by `named_runs`. target: by default the job whose deadline is
    most urgent, or which ends last.
    """
    outcome = night.outcome
    keys = {run.index: key for key, run in named_runs(outcome)}
    runs = [outcome.runs[index] for index in keys]
    due = dict(_due(night, runs))
    activities = [
        Activity(
            key=keys[run.index],
            starts_at=datetime.fromtimestamp(run.started_at, UTC),
            ends_at=moment(run.ended_at),
            box=keys.get(run.box_run) if run.box_run is not None else None,
            deadline=moment(due.get(run.index)),
        )
        for run in runs
    ]
    edges = [(keys[before], keys[run.index]) for run in runs for before in _before(run) if before in keys]
    until = datetime.fromtimestamp(outcome.until, UTC)
    return schedule(activities, edges, until, target)


def _played(scene: Scene, zone: tzinfo, period: Period, base: Efforts) -> Outcome:
    efforts = ChangedEfforts(base, period.changes, period.since.timestamp(), zone) if period.changes else base
    simulation = begun(scene, period.since, efforts)
    plan(simulation, period.changes, period.since, zone)
    return simulation.advance(period.until)


def named_runs(outcome: Outcome) -> Iterator[tuple[str, Run]]:
    """Yield the runs of the period with their names: the job's, for later ones of the same job as `JOB (2)`."""
    counts: dict[str, int] = {}
    for run in outcome.of_period():
        counts[run.name] = number = counts.get(run.name, 0) + 1
        yield (run.name if number == 1 else f"{run.name} ({number})"), run


def _due(night: Night, runs: Sequence[Run]) -> Iterable[tuple[int, float]]:
    """Yield the run that each deadline of an end is about, the latest deadline first."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    for result in reversed(night.results):
        deadline = result.deadline
        if not deadline.is_start:
            for run in by_name.get(deadline.name, ()):
                if run.ended_at is None or run.ended_at >= deadline.since:
                    yield run.index, deadline.due
                    break


def _before(run: Run) -> Iterable[int]:
    """Return the runs whose ends let this one start."""
    found = [index for _, index in run.met if index is not None]
    return dict.fromkeys(found if run.cause is None else [*found, run.cause])
