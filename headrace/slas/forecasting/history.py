"""Typical arrival times and lags, as samples of past arrivals by type of day.

Nothing is fitted: what is expected of a Monday is drawn from what Mondays were like, and that of a month's end from
what these were.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DAY = 86400.0
MIN_SAMPLES = 6  # samples of one kind of day; of fewer, all working days, or all days, are taken together
_MIN_ANY_SAMPLES = 4  # samples below which there is no forecast


@dataclass(frozen=True, slots=True)
class ArrivalHistory:
    """The arrival history of one dataset or process (seconds since 1970, in order).

    took: seconds of each run. rows: row count of each version. NaN if unknown.
    """

    arrived: Floats
    took: Floats
    rows: Floats

    @property
    def last(self) -> float:
        """The last arrival; minus infinity if there was none."""
        return float(self.arrived[-1]) if len(self.arrived) else -np.inf


NO_HISTORY = ArrivalHistory(np.empty(0), np.empty(0), np.empty(0))


class Zone:
    """Seconds since 1970 as seconds of a zone's own clock, for whole arrays of moments between two."""

    def __init__(self, name: str, first: float, last: float) -> None:
        zone = ZoneInfo(name)
        self._days = np.arange(first - 2 * DAY, last + 3 * DAY, DAY / 24)
        moments = (datetime.fromtimestamp(day, UTC).astimezone(zone) for day in self._days)
        self._offsets = np.array([(each.utcoffset() or timedelta()).total_seconds() for each in moments])

    def local(self, moments: Floats) -> Floats:
        """The zone's clock, as if it were UTC."""
        places = np.clip(np.searchsorted(self._days, moments, side="right") - 1, 0, len(self._days) - 1)
        result: Floats = moments + self._offsets[places]
        return result


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual about the occurrence nearest to a moment.

    times: samples of when it comes, as seconds since 1970. due: their median. places: their indexes in the history.
    is_expected: whether it comes on such a day at all.
    """

    times: Floats
    due: float
    places: NDArray[np.int64]
    is_expected: bool


def usual(arrival_history: ArrivalHistory, zone: Zone, moment: float) -> Usual | None:
    """What is usual about the occurrence that is nearest to the moment; None where too little is known.

    For several arrivals a day, the usual gap counts.
    """
    if len(arrival_history.arrived) < _MIN_ANY_SAMPLES:
        return None
    gaps = np.diff(arrival_history.arrived)
    gap = float(np.median(gaps))
    if gap < DAY / 2:
        times = arrival_history.last + gaps
        return Usual(times, float(np.median(times)), np.arange(1, len(arrival_history.arrived)), True)
    local = zone.local(arrival_history.arrived)
    middle = middle_of_day(local)
    now = float(zone.local(np.array([moment]))[0])
    day = round((now - middle) / DAY)
    due = day * DAY + middle  # that time of day, nearest to the moment
    days, off = by_day(local, middle)
    places, is_expected = alike(days, day)
    times = moment + (due + off[places] - now)
    return Usual(times, float(np.median(times)), places, is_expected)


def lags(arrival_history: ArrivalHistory, inputs: list[ArrivalHistory]) -> Floats:
    """How long after the last of its inputs it came, each time; NaN where no input came within the day before."""
    ready = np.full(len(arrival_history.arrived), -np.inf)
    for each in inputs:
        if not len(each.arrived):
            continue
        places = np.searchsorted(each.arrived, arrival_history.arrived, side="right") - 1
        arrived = np.where(places >= 0, each.arrived[np.clip(places, 0, None)], -np.inf)
        ready = np.maximum(ready, np.where(arrival_history.arrived - arrived < DAY, arrived, -np.inf))
    result: Floats = np.where(np.isfinite(ready), arrival_history.arrived - ready, np.nan)
    return result


def spread(samples: Floats) -> float:
    """The distance of the quartiles; infinite of too few samples."""
    known = samples[np.isfinite(samples)]
    if len(known) < _MIN_ANY_SAMPLES:
        return float("inf")
    low, high = np.quantile(known, [0.25, 0.75])
    return float(high - low)


def by_day(local: Floats, middle: float) -> tuple[NDArray[np.int64], Floats]:
    """Of which day each is, and how long after that day's `middle` it came: half a day before or after it at most.

    What usually comes at midnight is of one day, whether it comes a little before or after.
    """
    off: Floats = (local - middle + DAY / 2) % DAY - DAY / 2
    return np.round((local - off - middle) / DAY).astype(np.int64), off


def middle_of_day(local: Floats) -> float:
    """The mean time of day, on the circle: of 23:30 and 0:30 midnight."""
    angles = local % DAY * (2 * np.pi / DAY)
    return float(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()) * DAY / (2 * np.pi)) % DAY


def alike(days: NDArray[np.int64], day: int) -> tuple[NDArray[np.int64], bool]:
    """Which samples are of the same kind of day, and whether there is usually something on such a day.

    days are counted from 1970-01-01, a Thursday.
    """
    weekdays, weekday = (days + 3) % 7, (day + 3) % 7
    same = np.flatnonzero(weekdays == weekday)
    weeks = max((days.max() - days.min()) / 7, 1.0)
    is_expected = len(same) >= min(weeks / 4, 2)
    if _is_end_of_month(np.array([day]))[0]:
        ends = np.flatnonzero(_is_end_of_month(days))
        if len(ends) >= MIN_SAMPLES:
            return ends, bool(is_expected)
    if len(same) >= MIN_SAMPLES:
        same = (
            same[~_is_end_of_month(days[same])]
            if np.sum(~_is_end_of_month(days[same])) >= MIN_SAMPLES
            else same
        )
        return same, bool(is_expected)
    working = np.flatnonzero((weekdays < 5) == (weekday < 5))
    return (working if len(working) >= MIN_SAMPLES else np.arange(len(days))), bool(is_expected)


def _is_end_of_month(days: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The last two days of a month and the first."""
    dates = days.astype("datetime64[D]")
    of_month = (dates - dates.astype("datetime64[M]")).astype(np.int64)
    after = ((dates + 2) - (dates + 2).astype("datetime64[M]")).astype(np.int64)
    result: NDArray[np.bool_] = (of_month == 0) | (after < 2)
    return result
