"""Deadlines as instants: a cron in a time zone, on the days of a business calendar, and the partition of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from headrace.cron import MACROS
from headrace.slas.calendars import Calendar, Calendars
from headrace.slas.objectives import Clock, ExpectedPartition

_CLOCK_CHANGE = timedelta(hours=3)
_FURTHEST = timedelta(days=366 * 9)  # days: 29 February may be eight years away
_DAY = timedelta(days=1)


class NoDeadline(ValueError):
    """A cron, zone or partition cannot be evaluated, or a cron and a calendar have no common day."""


def following(clock: Clock, calendars: Calendars, moment: datetime) -> datetime:
    """Return the first deadline after the moment, in UTC.

    A time skipped by a clock change is due right after the gap; a repeated time is due once. Raises NoDeadline,
    UnknownCalendar.
    """
    for found in _times(clock, moment - clock.delay):
        deadline = found.astimezone(UTC) + clock.delay
        if deadline > moment + _FURTHEST:
            break
        if deadline > moment and is_open(clock, calendars, found.date()):
            return deadline
    raise NoDeadline(_none(clock))


def preceding(clock: Clock, calendars: Calendars, moment: datetime) -> datetime:
    """Return the last deadline at or before the moment, in UTC. Raises NoDeadline, UnknownCalendar."""
    # Longer than any clock change: within a repeated hour, cronsim may return a time of the other pass.
    for found in _times(clock, moment - clock.delay + _CLOCK_CHANGE, reverse=True):
        deadline = found.astimezone(UTC) + clock.delay
        if deadline < moment - _FURTHEST:
            break
        if deadline <= moment and is_open(clock, calendars, found.date()):
            return deadline
    raise NoDeadline(_none(clock))


def remembered(calendars: Calendars) -> Callable[[Clock, datetime], datetime]:
    """Return `following`, cached for one tick: many objectives share cron, zone, calendar and moment."""

    @lru_cache(maxsize=100_000)
    def after(
        cron: str,
        timezone: str,
        calendar: str | None,
        exclude_calendar: str | None,
        instance: str,
        days_after: int,
        delay: timedelta,
        moment: datetime,
    ) -> datetime:
        clock = Clock(
            deadline=cron,
            timezone=timezone,
            calendar=calendar,
            exclude_calendar=exclude_calendar,
            instance=instance,
            days_after=days_after,
            delay=delay,
        )
        return following(clock, calendars, moment)

    return lambda clock, moment: after(
        clock.deadline,
        clock.timezone,
        clock.calendar,
        clock.exclude_calendar,
        clock.instance,
        clock.days_after,
        clock.delay,
        moment,
    )


def partition_of(clock: Clock, calendars: Calendars, deadline: datetime) -> str:
    """Return the key of a deadline's partition; '' for an objective without partition.

    Raises NoDeadline, UnknownCalendar.
    """
    if clock.partition is None:
        return ""
    day = (deadline - clock.delay).astimezone(_zone(clock)).date()
    try:
        return _day_before(clock, calendars, clock.partition, day).strftime(clock.partition.format)
    except OverflowError as error:
        raise NoDeadline(f"no date is {clock.partition.days_before} days before {day}") from error


def is_open(clock: Clock, calendars: Calendars, day: date) -> bool:
    """Return True if the calendars allow a deadline on this day of the clock's zone."""
    day -= clock.days_after * _DAY
    if clock.exclude_calendar is not None and _named(calendars, clock, clock.exclude_calendar).is_open(day):
        return False
    return clock.calendar is None or _named(calendars, clock, clock.calendar).is_open(day)


def _times(clock: Clock, moment: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    """Return the times of a clock's cron from a moment on, in its zone; the calendars are not considered.

    Crons are checked when they are declared, yet a stored one may not be readable to this version of cronsim.
    """
    try:
        return CronSim(expression(clock), moment.astimezone(_zone(clock)), reverse=reverse)
    except CronSimError as error:
        raise NoDeadline(f"the cron {clock.deadline!r} cannot be read: {error}") from error


def _zone(clock: Clock) -> ZoneInfo:
    try:
        return ZoneInfo(clock.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise NoDeadline(f"the time zone {clock.timezone!r} is unknown") from error


def _none(clock: Clock) -> str:
    without = f" without those of {clock.exclude_calendar}" if clock.exclude_calendar else ""
    days = f"day of the calendar {clock.calendar}" if clock.calendar else "day"
    return f"no {days}{without} is one of {clock.deadline!r}"


def _named(calendars: Calendars, clock: Clock, name: str) -> Calendar:
    return calendars.named(name, clock.instance)


def _day_before(clock: Clock, calendars: Calendars, partition: ExpectedPartition, day: date) -> date:
    if not partition.business or clock.calendar is None:
        return day - partition.days_before * _DAY
    calendar = calendars.named(clock.calendar, clock.instance)
    for _ in range(partition.days_before):
        day -= _DAY
        while not calendar.is_open(day):
            day -= _DAY
    return day


def expression(clock: Clock) -> str:
    """Return the cron expression of its deadlines: five fields, also for a macro such as @daily."""
    return MACROS.get(clock.deadline.strip().lower(), clock.deadline)
