"""The times at which schedules let jobs start, one iterator for all jobs with the same schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from headrace.autosys import Clock, Start, starts
from headrace.autosys.schedules import Schedule
from headrace.autosys.starts import opening
from headrace.autosys.time_zones import zone_named

_INSTANT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class CronTimes:
    """The schedule of a dataset: a cron expression in a time zone."""

    expression: str
    zone: str = "UTC"


Timing = Schedule | CronTimes


def ticks(timing: Timing, begin: datetime, clock: Clock) -> Iterator[Start]:
    """Yield the starts from `begin` on. Raises NoStartError on the first one if there is none or they are unknown."""
    if isinstance(timing, CronTimes):
        return _cron_ticks(timing, begin)
    return starts(timing, begin - _INSTANT, clock)


def opens_at(timing: Timing, now: float, clock: Clock) -> float | None:
    """Return when a start at `now` may take place because of a run window; None if it may not."""
    if isinstance(timing, CronTimes) or timing.run_window is None or not timing.date_conditions:
        return now
    zone = zone_named(timing.timezone) if timing.timezone else clock.zone
    opened = opening(timing.run_window, datetime.fromtimestamp(now, zone))
    return None if opened is None else opened.timestamp()


def starts_itself(timing: Timing) -> bool:
    """Return whether times start the job, after which its condition has to hold."""
    return isinstance(timing, CronTimes) or timing.starts_itself


def _cron_ticks(timing: CronTimes, begin: datetime) -> Iterator[Start]:
    zone = ZoneInfo(timing.zone)
    for local in CronSim(timing.expression, begin.astimezone(zone) - _INSTANT):
        yield Start(local.astimezone(UTC), local, (f"schedule {timing.expression}",))
