"""Detect unusual row counts from a dataset's history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from headrace.slas.forecasting.history import alike, by_day, middle_of_day

_MIN_VERSIONS = 12  # fewer versions give no result
_MAX_DEVIATIONS = 5.0  # robust standard deviations
_MIN_LOG_DISTANCE = 0.25  # of the logarithm: about a quarter around the usual count is never unusual


@dataclass(frozen=True, slots=True)
class UnusualRowCount:
    """An unusual row count: the median for such days, and the usual range."""

    usual: int
    fewest: int
    most: int


def unusual_row_count(
    at: datetime, rows: int, history: Sequence[tuple[datetime, int]]
) -> UnusualRowCount | None:
    """Return the usual range if the row count is outside it; None otherwise, or with too little history.

    Counts are compared by their logarithm, with the median and the median distance from it, which single outliers do
    not affect. History: earlier counts of the same dataset (of any partition).
    """
    if len(history) < _MIN_VERSIONS:
        return None
    arrived = np.array([*(each.timestamp() for each, _ in history), at.timestamp()])
    days, _ = by_day(arrived, middle_of_day(arrived[:-1]))
    like, _ = alike(days[:-1], int(days[-1]))
    counts = np.log1p(np.array([count for _, count in history], dtype=np.float64)[like])
    middle = float(np.median(counts))
    distance = max(_MAX_DEVIATIONS * 1.4826 * float(np.median(np.abs(counts - middle))), _MIN_LOG_DISTANCE)
    if abs(np.log1p(rows) - middle) <= distance:
        return None
    low, usual, high = (
        round(float(np.expm1(each))) for each in (middle - distance, middle, middle + distance)
    )
    return UnusualRowCount(usual, max(low, 0), high)
