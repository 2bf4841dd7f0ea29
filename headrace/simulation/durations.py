"""How long runs take: as given, from past runs, or as the files say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from random import Random
from statistics import median

from headrace.simulation.definitions import WATCHERS, Definition
from headrace.simulation.engine import Effort

MIN_SIMILAR = 3  # runs on days of the same kind, from which on only those count
_HALF_A_DAY = 43_200.0


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that succeeded. started_at, ended_at: seconds since 1970."""

    started_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class History:
    """Past runs by job, and the zone whose days are compared.

    The run time of a day is that of past runs on the last day of a month if it is one, or else on the same weekday;
    with fewer than MIN_SIMILAR of these, that of all runs.
    """

    runs: Mapping[str, Sequence[PastRun]]
    zone: tzinfo
    _similar: dict[tuple[str, object], Sequence[PastRun]] = field(default_factory=dict, repr=False)

    def similar(self, name: str, at: float) -> Sequence[PastRun]:
        """Return the past runs of the job that count for a run at that time."""
        past = self.runs.get(name, ())
        kind = _kind(at, self.zone)
        if (name, kind) not in self._similar:
            alike = [run for run in past if _kind(run.started_at, self.zone) == kind]
            self._similar[name, kind] = alike if len(alike) >= MIN_SIMILAR else past
        return self._similar[name, kind]


@dataclass(frozen=True, slots=True)
class UsualEfforts:
    """Runs that succeed and take their usual time: the median of similar past runs, or, with `random`, one of them.

    given: seconds by job, which go before past runs. A file watcher ends when its file usually arrives, at a time of
    day. otherwise: for jobs without past runs whose definition says nothing; None if their time is to be unknown.
    """

    history: History | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    random: Random | None = None
    otherwise: float | None = None

    def of(self, definition: Definition, started_at: float, attempt: int) -> Effort:
        """Return how the run goes."""
        del attempt
        if definition.name in self.given:
            return Effort(self.given[definition.name])
        past = self.history.similar(definition.name, started_at) if self.history is not None else ()
        if self.history is None or not past:
            return Effort(definition.usual if definition.usual is not None else self.otherwise)
        if definition.kind in WATCHERS:
            zone = self.history.zone
            arrival = self._one([run.ended_at - _midnight(run.started_at, zone) for run in past])
            return Effort(max(0.0, _midnight(started_at, zone) + arrival - started_at))
        return Effort(self._one([run.ended_at - run.started_at for run in past]))

    def _one(self, values: Sequence[float]) -> float:
        return median(values) if self.random is None else self.random.choice(values)


@dataclass(frozen=True, slots=True)
class RecordedEfforts:
    """Runs that go as they did: as the recorded run of the job that began nearest to the simulated one.

    A file watcher ends when it did. Runs without a recorded one within half a day go as `otherwise` says. runs: with
    how they ended, by start.
    """

    runs: Mapping[str, Sequence[tuple[PastRun, Effort]]]
    otherwise: UsualEfforts

    def of(self, definition: Definition, started_at: float, attempt: int) -> Effort:
        """Return how the run goes."""
        recorded = self.runs.get(definition.name, ())
        place = bisect_right(recorded, started_at, key=lambda each: each[0].started_at)
        near = recorded[max(0, place - 1) : place + 1]
        if near:
            run, effort = min(near, key=lambda each: abs(each[0].started_at - started_at))
            if abs(run.started_at - started_at) < _HALF_A_DAY:
                began = started_at if definition.kind in WATCHERS else run.started_at
                return effort._replace(seconds=max(0.0, run.ended_at - began))
        return self.otherwise.of(definition, started_at, attempt)


def _kind(at: float, zone: tzinfo) -> object:
    """Return the kind of the day: the last of a month, or a weekday."""
    day = datetime.fromtimestamp(at, zone).date()
    return "month-end" if (day + timedelta(days=1)).day == 1 else day.weekday()


def _midnight(at: float, zone: tzinfo) -> float:
    return datetime.fromtimestamp(at, zone).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
