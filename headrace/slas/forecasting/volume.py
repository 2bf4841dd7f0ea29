"""How row counts affect run times, learned from each process's history.

On a logarithmic scale, with medians: single outliers do not affect the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from headrace.slas.forecasting.history import ArrivalHistory, Floats, Usual
from headrace.slas.graph import Graph

MIN_SAMPLES = 20  # pairs of known values
_CHANCE = 3.0  # standard deviations: exceeded by chance about once in a thousand
_STEEPEST = (
    2.0  # maximum power: run time grows at most with the square; more is chance, from rows that hardly vary
)


class Volumes:
    """Row counts of present data, and of what follows from them, collected node by node in graph order.

    A node with several inputs reads their sum; for uncounted inputs, their own inputs count. Data that has not arrived,
    and does not follow from present data, has no count.
    """

    def __init__(self, graph: Graph, random: np.random.Generator, samples: int) -> None:
        self._graph, self._random, self._samples = graph, random, samples
        self._now: dict[int, Floats] = {}
        self._then: dict[int, tuple[ArrivalHistory, Floats]] = {}  # row counts of past arrivals
        self._exponents: dict[int, float | None] = {}

    def note(self, node: int, arrival_history: ArrivalHistory, pending: Usual | None) -> None:
        """Add a node. pending: the usual values of one that has not arrived; None: its last arrival counts."""
        inputs = [each for each in self._graph.before[node] if each in self._now]
        counted = np.isfinite(arrival_history.rows)
        if pending is None and counted.any():
            self._keep(
                node,
                arrival_history,
                arrival_history.rows,
                np.full(self._samples, arrival_history.rows[counted][-1]),
            )
        elif inputs and not counted.any() and len(arrival_history.arrived):
            self._keep(
                node, arrival_history, self._read_then(inputs, arrival_history), self._read_now(inputs)
            )
        elif inputs and pending is not None:
            read = self._read_then(inputs, arrival_history)
            exponent = follows(read, arrival_history.rows)
            alike = pending.places[counted[pending.places]]
            if exponent is not None and len(alike):
                places = self._random.choice(alike, self._samples)
                now = arrival_history.rows[places] * _factor(self._read_now(inputs), read, places, exponent)
                self._keep(node, arrival_history, arrival_history.rows, now)

    def longer(self, node: int, places: NDArray[np.int64]) -> Floats:
        """Return how many seconds longer past runs would have taken with the current rows, by sample."""
        exponent = self._exponent(node)
        if exponent is None:
            return np.zeros(self._samples)
        arrival_history, then = self._then[node]
        longer = arrival_history.took[places] * (_factor(self._now[node], then, places, exponent) - 1)
        result: Floats = np.where(np.isfinite(longer), longer, 0.0)
        return result

    def times_usual(self, node: int, alike: NDArray[np.int64]) -> float | None:
        """Return the current rows relative to the usual count; None if run times do not depend on rows."""
        if self._exponent(node) is None:
            return None
        _, then = self._then[node]
        known = then[alike][then[alike] > 0]
        return float(np.median(self._now[node]) / np.median(known)) if len(known) else None

    def _keep(self, node: int, arrival_history: ArrivalHistory, then: Floats, now: Floats) -> None:
        self._then[node], self._now[node] = (arrival_history, then), now

    def _exponent(self, node: int) -> float | None:
        """Return the power of the rows by which its run time grows."""
        if node not in self._exponents:
            known = self._then.get(node)
            self._exponents[node] = None if known is None else follows(known[1], known[0].took)
        return self._exponents[node]

    def _read_then(self, inputs: Sequence[int], arrival_history: ArrivalHistory) -> Floats:
        """Return the rows of the newest versions of all inputs when each run started."""
        began = arrival_history.arrived - np.where(
            np.isfinite(arrival_history.took), arrival_history.took, 0.0
        )
        read = np.zeros(len(began))
        for each in inputs:
            other, rows = self._then[each]
            places = np.searchsorted(other.arrived, began, side="right") - 1
            read += np.where(places >= 0, rows[np.maximum(places, 0)], np.nan)
        return read

    def _read_now(self, inputs: Sequence[int]) -> Floats:
        return reduce(np.add, [self._now[each] for each in inputs])


def follows(rows: Floats, values: Floats) -> float | None:
    """Return the power of the rows by which values grow: with 0.5, four times the rows double them.

    Theil's estimator: the median slope from each of the smaller half to its counterpart in the larger half. None with
    fewer than 20 known pairs (positive, finite), or if so many rising slopes are likely by chance.
    """
    known = np.flatnonzero((rows > 0) & (values > 0))
    if len(known) < MIN_SAMPLES:
        return None
    x, y = np.log(rows[known]), np.log(values[known])
    inorder, half = np.argsort(x), len(x) // 2
    small, large = inorder[:half], inorder[-half:]
    apart = x[small] < x[large]
    slopes = (y[large] - y[small])[apart] / (x[large] - x[small])[apart]
    if 2 * np.sum(slopes > 0) - len(slopes) < _CHANCE * np.sqrt(max(len(slopes), MIN_SAMPLES / 2)):
        return None
    return min(float(np.median(slopes)), _STEEPEST)


def _factor(now: Floats, then: Floats, places: NDArray[np.int64], exponent: float) -> Floats:
    """Return the growth of the values at some places; row counts below the minimum count as the minimum, since no
    run takes zero time."""
    fewest = np.min(then[then > 0])
    result: Floats = (np.maximum(now, fewest) / np.maximum(then[places], fewest)) ** exponent
    return result
