"""Predict arrivals by simulation: histories are sampled and propagated through the graph.

Each sample is one way in which the rest of the day may go: the same one for all nodes, so that what two datasets wait
for delays both of them in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.slas.forecasting.history import (
    DAY,
    NO_HISTORY,
    ArrivalHistory,
    Floats,
    Usual,
    Zone,
    lags,
    spread,
    usual,
)
from headrace.slas.forecasting.volume import Volumes
from headrace.slas.graph import Graph

SAMPLES = 200
_HALF_CYCLE = DAY / 4  # what came this long before its usual time is of this time
# Of the samples, so that four of five days are between: samples stray less than days do (benchmarks/sla_calibration).
_LOW, _HIGH = 0.05, 0.95
_RECOVERY = 2 * 3600.0  # mean time until what has failed is run again; nothing is learned of it


@dataclass(frozen=True, slots=True)
class Present:
    """The present state. running: start times of running processes. failed: processes whose newest run failed."""

    now: float
    running: Mapping[int, float]
    failed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a node: median, 80% interval, and what it waits for.

    waits_for: the unfinished node at the start of the critical path. by_minutes: its delay against the usual time.
    """

    samples: Floats
    expected: float
    low: float
    high: float
    waits_for: int
    by_minutes: float

    def chance_after(self, deadline: float) -> float:
        """How likely it comes after the deadline."""
        return float(np.mean(self.samples > deadline))


class Prediction:
    """The forecasts of one moment; nodes are forecast once, in the order of the graph."""

    def __init__(
        self, graph: Graph, arrival_histories: Mapping[int, ArrivalHistory], zone: Zone, present: Present
    ) -> None:
        self._graph, self._histories, self._zone, self._present = graph, arrival_histories, zone, present
        self._random = np.random.default_rng(int(present.now) // 60)
        self._volumes = Volumes(graph, self._random, SAMPLES)
        self._samples: dict[int, Floats | None] = {}  # None: it is there, or nothing is known of it
        self._usual: dict[int, Usual] = {}
        self._via: dict[int, int] = {}

    def of(self, targets: Sequence[int]) -> dict[int, Forecast]:
        """Forecasts of the targets that are pending and of which enough is known."""
        needed = set(targets) | set(self._graph.reached(targets, up=True))
        for node in self._graph.order:
            if node in needed and node not in self._samples:
                self._samples[node] = self._draw(node)
        return {
            node: self._forecast(node, samples)
            for node in targets
            if (samples := self._samples[node]) is not None
        }

    def path(self, target: int) -> list[int]:
        """The critical path to a node, from the bottleneck; empty if it has arrived or nothing is known."""
        if target not in self.of([target]):
            return []
        steps = [target]
        while (following := self._via.get(steps[-1])) is not None and following not in steps:
            steps.append(following)
        return steps[::-1]

    def due(self, node: int) -> float | None:
        """When a node usually comes, this time."""
        known = self._usual.get(node)
        return None if known is None else known.due

    def times_usual_rows(self, node: int) -> float | None:
        """How many times the rows of such days its run reads; None where that does not move its forecast."""
        known = self._usual.get(node)
        return None if known is None else self._volumes.times_usual(node, known.places)

    def _draw(self, node: int) -> Floats | None:
        now = self._present.now
        arrival_history = self._histories.get(node, NO_HISTORY)
        pending = [each for each in self._graph.before[node] if self._samples.get(each) is not None]
        known = usual(arrival_history, self._zone, now)
        is_there = known is not None and (
            arrival_history.last >= known.due - _HALF_CYCLE or not known.is_expected
        )
        self._volumes.note(node, arrival_history, None if is_there else known)
        if known is not None:
            self._usual[node] = known
            if is_there:
                return None
        base = self._latest(node, pending)
        if known is None:
            return base
        if node in self._present.failed:
            took = self._draw_runs(
                node, arrival_history.took, np.arange(len(arrival_history.took)), default=0.0
            )
            again = now + self._random.exponential(_RECOVERY, SAMPLES) + took
            return again if base is None else np.maximum(again, base + took)
        if node in self._present.running:
            took = self._draw_runs(node, arrival_history.took[known.places], known.places, default=600.0)
            return self._after_now(self._present.running[node] + took)
        if base is None:
            return self._after_now(self._draw_runs(node, known.times, known.places))
        return np.maximum(self._waiting(node, arrival_history, known, base), base)

    def _waiting(self, node: int, arrival_history: ArrivalHistory, known: Usual, base: Floats) -> Floats:
        """Of what waits for something: begun by it where that explains its times better than the clock does."""
        inputs = [self._histories.get(each, NO_HISTORY) for each in self._graph.before[node]]
        after = lags(arrival_history, inputs)[known.places]
        if spread(after) <= spread(known.times):
            return base + self._draw_runs(node, after, known.places)
        shortest = float(np.quantile(_known(after), 0.1)) if len(_known(after)) else 0.0
        took = self._draw_runs(node, arrival_history.took[known.places], known.places, default=shortest)
        self._via_clock(node, known, base)
        return np.maximum(self._draw_runs(node, known.times, known.places), base + took)

    def _via_clock(self, node: int, known: Usual, base: Floats) -> None:
        """A scheduled start does not wait for inputs that are usually there by then."""
        if float(np.median(base)) <= known.due:
            self._via.pop(node, None)

    def _latest(self, node: int, pending: Sequence[int]) -> Floats | None:
        if not pending:
            return None
        found = [samples for each in pending if (samples := self._samples[each]) is not None]
        medians = [float(np.median(samples)) for samples in found]
        self._via[node] = pending[int(np.argmax(medians))]
        return found[0] if len(found) == 1 else np.max(np.stack(found), axis=0)

    def _draw_runs(
        self, node: int, samples: Floats, places: NDArray[np.int64], default: float = 0.0
    ) -> Floats:
        """Samples of its history, those at these places: runs as long as they would be with the rows of now."""
        known = np.flatnonzero(np.isfinite(samples))
        if not len(known):
            return np.full(SAMPLES, default)
        drawn = self._random.choice(known, SAMPLES)
        result: Floats = samples[drawn] + self._volumes.longer(node, places[drawn])
        return result

    def _after_now(self, samples: Floats) -> Floats:
        """Given that it has not come yet; later than ever, it is as far off as it strays from the usual."""
        now = self._present.now
        later = samples[samples > now]
        if len(later) >= SAMPLES // 20:
            return self._random.choice(later, SAMPLES)
        return now + np.abs(samples - np.median(samples)) + 60.0

    def _forecast(self, node: int, samples: Floats) -> Forecast:
        low, expected, high = np.quantile(samples, [_LOW, 0.5, _HIGH])
        head, seen = node, {node}
        while (following := self._via.get(head)) is not None and following not in seen:
            head = following
            seen.add(head)
        found = self._samples[head]
        later = 0.0
        due = self.due(head)
        if found is not None and due is not None:
            later = max((float(np.median(found)) - due) / 60, 0.0)
        return Forecast(samples, float(expected), float(low), float(high), head, later)


def _known(samples: Floats) -> Floats:
    return samples[np.isfinite(samples)]
