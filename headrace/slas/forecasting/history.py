"""Typical arrival times and lags, as samples of past arrivals by type of day.

No model is fitted: Mondays are sampled from past Mondays, and ends of months from past ends of months.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DAY = 86400.0
MIN_SAMPLES = 6  # samples per kind of day; below that, all working days, or all days, are combined
_MIN_ANY_SAMPLES = 4  # minimum samples for a forecast


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
    """Converts seconds since 1970 to seconds of a zone's local clock, for arrays of moments within a range."""

    def __init__(self, name: str, first: float, last: float) -> None:
        zone = ZoneInfo(name)
        self._days = np.arange(first - 2 * DAY, last + 3 * DAY, DAY / 24)
        moments = (datetime.fromtimestamp(day, UTC).astimezone(zone) for day in self._days)
        self._offsets = np.array([(each.utcoffset() or timedelta()).total_seconds() for each in moments])

    def local(self, moments: Floats) -> Floats:
        """Return local time, as if it were UTC."""
        places = np.clip(np.searchsorted(self._days, moments, side="right") - 1, 0, len(self._days) - 1)
        result: Floats = moments + self._offsets[places]
        return result


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual occurrence nearest to a moment.

    times: samples of its arrival, as seconds since 1970. due: their median. places: their indexes in the history.
    is_expected: True if it arrives on such a day at all.
    """

    times: Floats
    due: float
    places: NDArray[np.int64]
    is_expected: bool


def usual(arrival_history: ArrivalHistory, zone: Zone, moment: float) -> Usual | None:
    """Return the usual occurrence nearest to the moment; None if too little is known.

    With several arrivals a day, the usual gap counts.
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
    """Return each arrival's delay after the last of its inputs; NaN if no input arrived within the day before."""
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
    """Return the interquartile range; infinite for too few samples."""
    known = samples[np.isfinite(samples)]
    if len(known) < _MIN_ANY_SAMPLES:
        return float("inf")
    low, high = np.quantile(known, [0.25, 0.75])
    return float(high - low)


def by_day(local: Floats, middle: float) -> tuple[NDArray[np.int64], Floats]:
    """Assign each arrival to a day, with its offset from that day's `middle`, at most half a day either way.

    Arrivals around midnight thus belong to one day, whether they are slightly before or after it.
    """
    off: Floats = (local - middle + DAY / 2) % DAY - DAY / 2
    return np.round((local - off - middle) / DAY).astype(np.int64), off


def middle_of_day(local: Floats) -> float:
    """Return the circular mean of the times of day: midnight for 23:30 and 0:30."""
    angles = local % DAY * (2 * np.pi / DAY)
    return float(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()) * DAY / (2 * np.pi)) % DAY


def alike(days: NDArray[np.int64], day: int) -> tuple[NDArray[np.int64], bool]:
    """Select the samples of the same kind of day, and whether there usually is an arrival on such a day.

    days are counted from 1970-01-01, a Thursday.
    """
    weekdays, weekday = (days + 3) % 7, (day + 3) % 7
    same = np.flatnonzero(weekdays == weekday)
    weeks = max((days.max() - days.min()) / 7, 1.0)
    is_expected = len(same) >= min(weeks / 4, 2)
    if is_end_of_month(np.array([day]))[0]:
        ends = np.flatnonzero(is_end_of_month(days))
        if len(ends) >= MIN_SAMPLES:
            return ends, bool(is_expected)
    if len(same) >= MIN_SAMPLES:
        same = (
            same[~is_end_of_month(days[same])]
            if np.sum(~is_end_of_month(days[same])) >= MIN_SAMPLES
            else same
        )
        return same, bool(is_expected)
    working = np.flatnonzero((weekdays < 5) == (weekday < 5))
    return (working if len(working) >= MIN_SAMPLES else np.arange(len(days))), bool(is_expected)


def is_end_of_month(days: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Select the last two days and the first day of each month."""
    dates = days.astype("datetime64[D]")
    of_month = (dates - dates.astype("datetime64[M]")).astype(np.int64)
    after = ((dates + 2) - (dates + 2).astype("datetime64[M]")).astype(np.int64)
    result: NDArray[np.bool_] = (of_month == 0) | (after < 2)
    return result
