"""Detect unusual row counts from a dataset's history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from headrace.slas.calendars import SATURDAY
from headrace.slas.forecasting.history import (
    DAY,
    MIN_SAMPLES,
    Floats,
    alike,
    by_day,
    is_end_of_month,
    middle_of_day,
)

_MIN_VERSIONS = 12  # fewer versions give no result
_MIN_DAYS = (
    5  # of a dataset with several versions a day: fewer days with a version at this time give no result
)
_SAME_TIME = 0.75 * 3600  # seconds between the times of day of versions that are compared
_OFTEN = DAY / 2  # a shorter median time between versions means several a day
_MAX_DEVIATIONS = 5.0  # robust standard deviations
_MIN_LOG_DISTANCE = 0.4  # of the logarithm: a third less or half more than the usual count is never unusual


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
    not affect, among versions of the same kind of day, and of the same time of day if there are several a day. A new
    level is reported once: not if the version before, or that of the same day of an earlier month, was as unusual.

    history: earlier counts, of the same dataset in any order; of the same partition if its partitions are static.
    """
    if len(history) < _MIN_VERSIONS:
        return None
    known = sorted(history)
    arrived = np.array([each.timestamp() for each, _ in known])
    counts = np.log1p(np.array([count for _, count in known], dtype=np.float64))
    moment, count = at.timestamp(), float(np.log1p(rows))
    found = _deviation(arrived, counts, moment, count)
    if found is None:
        return None
    deviation, distance, last, of_month = found
    middle = count - deviation
    # Half, since a range that has both levels for a while is so wide that the last one may be just within it.
    if abs(counts[last] - middle) > distance / 2 and abs(counts[last] - count) <= distance:
        return None
    for place in {len(counts) - 1, *of_month}:
        before = _deviation(arrived, counts, float(arrived[place]), float(counts[place]))
        if before is not None and abs(before[0] - deviation) <= distance:
            return None
    low, usual, high = (
        round(float(np.expm1(each))) for each in (middle - distance, middle, middle + distance)
    )
    return UnusualRowCount(usual, max(low, 0), high)


def _deviation(
    arrived: Floats, counts: Floats, moment: float, count: float
) -> tuple[float, float, int, list[int]] | None:
    """Compare a count with those of the same season; None if it is usual, or too little is known.

    Returns its distance from the middle, that within which it would be usual, and the places of the last version of the
    season and on the same day of a month. The end of a month, where it is a group of its own, has both weekdays and
    weekends: what is usual for one of them is usual, and otherwise the nearer one is compared.
    """
    places, middle_of_days = np.arange(len(arrived)), middle_of_day(arrived)
    if float(np.median(np.diff(arrived))) < _OFTEN:
        off = (arrived - moment + DAY / 2) % DAY - DAY / 2
        places, middle_of_days = np.flatnonzero(np.abs(off) <= _SAME_TIME), moment % DAY
        if len(np.unique((arrived[places] - moment + DAY / 2) // DAY)) < _MIN_DAYS:
            return None
    days, _ = by_day(np.append(arrived[places], moment), middle_of_days)
    days, day = days[:-1], int(days[-1])
    groups = [alike(days, day)[0]]
    if is_end_of_month(np.array([day]))[0]:
        weekend = np.flatnonzero(((days + 3) % 7 >= SATURDAY) == ((day + 3) % 7 >= SATURDAY))
        groups += [weekend] if len(weekend) >= MIN_SAMPLES else []
    ranges = [_range(counts[places[group]]) for group in groups]
    if any(abs(count - middle) <= distance for middle, distance in ranges):
        return None
    middle, distance = min(ranges, key=lambda each: abs(count - each[0]))
    last = int(places[groups[-1]][-1])
    of_month = places[_day_of_month(days) == _day_of_month(np.array([day]))]
    return count - middle, distance, last, of_month[-1:].tolist()


def _range(counts: Floats) -> tuple[float, float]:
    """Return the middle of the counts, and the distance from it within which a count is usual."""
    middle = float(np.median(counts))
    distance = _MAX_DEVIATIONS * 1.4826 * float(np.median(np.abs(counts - middle)))
    return middle, max(distance, _MIN_LOG_DISTANCE)


def _day_of_month(days: NDArray[np.int64]) -> NDArray[np.int64]:
    dates = days.astype("datetime64[D]")
    result: NDArray[np.int64] = (dates - dates.astype("datetime64[M]")).astype(np.int64)
    return result
