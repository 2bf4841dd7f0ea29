"""What a job's definition promises: must-times and run-time alarms, as an SLA in the catalog's words."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from legacy.calendars import Calendars, Standard
from legacy.schedules import Must, Schedule, zone_named

_DAY = timedelta(days=1)


def sla_of(schedule: Schedule, instance: str, zone: str) -> Mapping[str, Any] | None:
    """The SLA of a job with this schedule; None where it promises nothing.

    zone: IANA name of the server's zone, of jobs that name none. A must-time belongs to a start time and to the days of
    the calendar on which that is. Of jobs that start by minutes of the hour, of calendars that exclude days and of
    zones that nobody knows only run times are promised: a cron cannot say their deadlines.
    """
    found: dict[str, Any] = {}
    own = _zone(schedule, zone)
    if own and schedule.starts_itself and schedule.start_times and schedule.exclude_calendar is None:
        for name, musts in (("start_by", schedule.must_start), ("complete_by", schedule.must_complete)):
            if deadlines := list(_deadlines(schedule, musts, instance, own)):
                found[name] = deadlines
    for name, minutes in (
        ("max_run_seconds", schedule.max_run_alarm),
        ("min_run_seconds", schedule.min_run_alarm),
    ):
        if minutes:
            found[name] = minutes * 60
    return found or None


def _deadlines(
    schedule: Schedule, musts: tuple[Must, ...], instance: str, zone: str
) -> Iterator[Mapping[str, Any]]:
    for place, start in enumerate(schedule.start_times):
        if not musts or (place >= len(musts) and len(musts) > 1):
            return
        must = musts[place if len(musts) > 1 else 0]
        began = timedelta(hours=start.hour, minutes=start.minute)
        due = began + must.offset if must.relative else must.offset
        if due <= began:
            continue
        days, of_day = divmod(due, _DAY)
        hour, minute = divmod(int(of_day.total_seconds()) // 60, 60)
        weekdays = sorted((day + 1 + days) % 7 for day in schedule.days)  # cron counts from Sunday
        yield {
            "deadline": f"{minute} {hour} * * {','.join(map(str, weekdays)) if 0 < len(weekdays) < 7 else '*'}",
            "timezone": zone,
            **({"calendar": schedule.run_calendar, "instance": instance} if schedule.run_calendar else {}),
            **({"days_after": days} if days else {}),
            "within_seconds": (due - began).total_seconds(),
        }


def _zone(schedule: Schedule, zone: str) -> str | None:
    if schedule.timezone is None:
        return zone
    try:
        return zone_named(schedule.timezone).key
    except ValueError:
        return None


def business_calendars(calendars: Calendars) -> Mapping[str, tuple[date, ...]]:
    """The days of each standard calendar, in order."""
    return {
        name: tuple(sorted(each.days))
        for name, each in calendars.calendars.items()
        if isinstance(each, Standard)
    }
