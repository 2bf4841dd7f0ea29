"""Predict arrivals by simulation: histories are sampled and propagated through the graph.

Each sample is one course of the rest of the day, common to all nodes, so that a late input delays all its consumers in
the same samples.
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
_HALF_CYCLE = DAY / 4  # an arrival this long before the usual time counts for it
# Quantiles chosen so that four of five days are inside: samples vary less than days do (benchmarks/sla_calibration).
_LOW, _HIGH = 0.05, 0.95
_RECOVERY = 2 * 3600.0  # mean time until a failed run is repeated; not learned


@dataclass(frozen=True, slots=True)
class PresentState:
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
        """Return the probability that it arrives after the deadline."""
        return float(np.mean(self.samples > deadline))


class Prediction:
    """Forecasts at one moment; each node is forecast once, in topological order."""

    def __init__(
        self, graph: Graph, arrival_histories: Mapping[int, ArrivalHistory], zone: Zone, present: PresentState
    ) -> None:
        self._graph, self._histories, self._zone, self._present = graph, arrival_histories, zone, present
        self._random = np.random.default_rng(int(present.now) // 60)
        self._volumes = Volumes(graph, self._random, SAMPLES)
        self._samples: dict[int, Floats | None] = {}  # None: it has arrived, or nothing is known
        self._usual: dict[int, Usual] = {}
        self._via: dict[int, int] = {}

    def of(self, targets: Sequence[int]) -> dict[int, Forecast]:
        """Return forecasts of the pending targets with enough history."""
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
        """Return the critical path to a node, from the bottleneck; empty if it has arrived or nothing is known."""
        if target not in self.of([target]):
            return []
        steps = [target]
        while (following := self._via.get(steps[-1])) is not None and following not in steps:
            steps.append(following)
        return steps[::-1]

    def due(self, node: int) -> float | None:
        """Return the usual time of a node's next arrival."""
        known = self._usual.get(node)
        return None if known is None else known.due

    def times_usual_rows(self, node: int) -> float | None:
        """Return its run's input rows relative to the usual count; None if that does not affect its forecast."""
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
        """Return the start of a node that waits: triggered by its inputs if that explains its times better than the
        clock."""
        inputs = [self._histories.get(each, NO_HISTORY) for each in self._graph.before[node]]
        after = lags(arrival_history, inputs)[known.places]
        if spread(after) <= spread(known.times):
            return base + self._draw_runs(node, after, known.places)
        shortest = float(np.quantile(_known(after), 0.1)) if len(_known(after)) else 0.0
        took = self._draw_runs(node, arrival_history.took[known.places], known.places, default=shortest)
        self._via_clock(node, known, base)
        return np.maximum(self._draw_runs(node, known.times, known.places), base + took)

    def _via_clock(self, node: int, known: Usual, base: Floats) -> None:
        """Forecast a scheduled start, which does not wait for inputs that usually arrive before it."""
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
        """Sample runs from its history at these places, with run times adjusted to the current rows."""
        known = np.flatnonzero(np.isfinite(samples))
        if not len(known):
            return np.full(SAMPLES, default)
        drawn = self._random.choice(known, SAMPLES)
        result: Floats = samples[drawn] + self._volumes.longer(node, places[drawn])
        return result

    def _after_now(self, samples: Floats) -> Floats:
        """Condition the samples on not having arrived yet; a node later than ever is as far off as its usual spread."""
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
