"""Deadlines of a period, which runs miss them, and how probable it is that they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from headrace.simulation.outcome import Outcome, Run
from headrace.simulation.statuses import Status

ROUNDS = 200
_MIN_ROUNDS, _MAX_RUNS = 20, 1_000_000  # fewer rounds if they would have more runs than this altogether


class Deadline(NamedTuple):
    """A time by which a job has to start or end. Times are seconds since 1970.

    source: `must_start_times`, `must_complete_times`, `max_run_alarm` or `SLA`. since: runs count from then on.
    is_start: it is about the start of a run, whose end does not matter; otherwise about a success.
    """

    name: str
    source: str
    due: float
    since: float
    is_start: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A deadline and when it is reached; None if not by the end. probability: of missing it; None if not simulated."""

    deadline: Deadline
    at: float | None
    probability: float | None = None

    @property
    def is_missed(self) -> bool:
        """True if it is not reached in time."""
        return self.at is None or self.at > self.deadline.due


def results(outcome: Outcome, slas: Sequence[Deadline] = ()) -> list[Result]:
    """Return the deadlines of the period, those of definitions and `slas`, by time, each with when it is reached.

    Run-time limits are listed if they are exceeded.
    """
    by_name: dict[str, list[Run]] = {}
    for run in outcome.runs:
        by_name.setdefault(run.name, []).append(run)
    found = [
        Result(each, _reached(each, by_name.get(each.name, ()))) for each in (*_must_times(outcome), *slas)
    ]
    found += _long_runs(outcome)
    return sorted(found, key=lambda each: (each.deadline.due, each.deadline))


def with_probabilities(
    found: Sequence[Result],
    play: Callable[[Random], Outcome],
    seed: int,
    slas: Sequence[Deadline] = (),
) -> list[Result]:
    """Add the probability of each miss: the share of simulated periods with it, of which each draws its run times.

    play: simulates the jobs that decide these deadlines. Equal seeds give equal results.
    """
    missed: Counter[Deadline] = Counter()
    rounds = number = 0
    while not rounds or number < rounds:
        outcome = play(Random(f"{seed}/{number}"))  # noqa: S311 - not for secrets
        rounds = rounds or max(_MIN_ROUNDS, min(ROUNDS, _MAX_RUNS // (len(outcome.runs) + 1)))
        missed.update(each.deadline for each in results(outcome, slas) if each.is_missed)
        number += 1
    return [
        Result(each.deadline, each.at, missed[each.deadline] / rounds)
        if each.deadline.source != "max_run_alarm"
        else each
        for each in found
    ]


def _must_times(outcome: Outcome) -> Iterator[Deadline]:
    for name, tick in outcome.ticks:
        at = tick.at.timestamp()
        if not outcome.since <= at < outcome.until:
            continue
        if tick.must_start is not None:
            yield Deadline(name, "must_start_times", tick.must_start.timestamp(), at, is_start=True)
        if tick.must_complete is not None:
            yield Deadline(name, "must_complete_times", tick.must_complete.timestamp(), at)


def _reached(deadline: Deadline, runs: Iterable[Run]) -> float | None:
    """Return when the first run from `since` on starts or, for an end, a run first succeeds."""
    for run in runs:
        if deadline.is_start and run.started_at >= deadline.since:
            return run.started_at
        ended = run.ended_at is not None and run.ended_at >= deadline.since
        if not deadline.is_start and ended and run.status is Status.SUCCESS:
            return run.ended_at
    return None


def _long_runs(outcome: Outcome) -> Iterator[Result]:
    for run in outcome.of_period():
        limit = outcome.definitions[run.name].max_run_alarm
        if limit is None:
            continue
        due = run.started_at + limit * 60
        if (run.ended_at is None and outcome.until > due) or (run.ended_at or 0.0) > due:
            yield Result(Deadline(run.name, "max_run_alarm", due, run.started_at), run.ended_at)
