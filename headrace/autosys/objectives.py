"""The SLA in a job's definition: must-times and run-time alarms, for the catalog."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from headrace.autosys.calendars import Calendars, ExtendedCalendar, Standard
from headrace.autosys.extended_calendars import UncertainError, dates_of
from headrace.autosys.findings import Finding
from headrace.autosys.jobs import Job
from headrace.autosys.schedules import Must, Schedule
from headrace.autosys.time_zones import zone_named
from headrace.severity import Severity

_DAY = timedelta(days=1)
_YEARS = 3  # period for which rules are evaluated: the next scan continues from there


def sla_of(schedule: Schedule, instance: str, zone: str) -> Mapping[str, Any] | None:
    """Return the SLA of a job with this schedule; None if it has none.

    zone: IANA name of the server's time zone, for jobs without one. A must-time belongs to a start and to the calendar
    days of that start. See `unsupported_must_times` for exceptions.
    """
    found: dict[str, Any] = {}
    own = _zone(schedule, zone)
    if own and schedule.starts_itself:
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


def unsupported_must_time_findings(
    jobs: Iterable[Job], calendars: Calendars, today: date
) -> Iterator[Finding]:
    """Yield a warning for each must-time that is not supported."""
    for job in jobs:
        for attribute, message in unsupported_must_times(job.schedule, calendars, today):
            written = next((each for each in job.attributes if each.name == attribute), None)
            yield Finding(
                "schedule/no-sla",
                Severity.WARNING,
                message,
                (written and written.file) or job.file,
                written.line if written else job.line,
                job.name,
                attribute,
                "Autosys keeps alarming",
            )


def unsupported_must_times(
    schedule: Schedule, calendars: Calendars, today: date
) -> Iterator[tuple[str, str]]:
    """Yield must-times for which no deadline, or none with days, can be created: the attribute, and why."""
    musts = (("must_start_times", schedule.must_start), ("must_complete_times", schedule.must_complete))
    wanted = [name for name, times in musts if times]
    if not wanted or not schedule.starts_itself:
        return
    if _zone(schedule, "UTC") is None:
        yield (
            "timezone",
            f"{schedule.timezone} is not a known time zone, so {wanted[0]} is not supported",
        )
    for name, times in musts:
        if times and schedule.start_mins and not all(each.relative for each in times):
            yield name, "a time of day cannot be assigned to a start by start_mins and is not supported"
    named = {"run_calendar": schedule.run_calendar, "exclude_calendar": schedule.exclude_calendar}
    for attribute, calendar_name in named.items():
        calendar = calendars.calendars.get(calendar_name or "")
        if isinstance(calendar, ExtendedCalendar):
            try:
                _extended(calendar, calendars, today)
            except UncertainError as error:
                yield (
                    attribute,
                    f"the days of {calendar_name} are unknown, so {wanted[0]} is not supported: {error}",
                )


def _deadlines(
    schedule: Schedule, musts: tuple[Must, ...], instance: str, zone: str
) -> Iterator[Mapping[str, Any]]:
    if schedule.start_mins:
        yield from _by_minutes(schedule, musts, instance, zone)
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
        yield _deadline(schedule, f"{minute} {hour}", days, due - began, instance, zone)


def _by_minutes(
    schedule: Schedule, musts: tuple[Must, ...], instance: str, zone: str
) -> Iterator[Mapping[str, Any]]:
    """Yield deadlines relative to each start of a day; those due on the next day have separate days."""
    for place, start in enumerate(schedule.start_mins):
        must = musts[place % len(musts)] if len(musts) in (1, len(schedule.start_mins)) else None
        if must is None or not must.relative or must.offset <= timedelta():
            continue
        later, minute = divmod(start + int(must.offset.total_seconds()) // 60, 60)
        if later % 24 == 0 or not (
            0 < len(schedule.days) < 7 or schedule.run_calendar or schedule.exclude_calendar
        ):
            yield _deadline(schedule, f"{minute} *", later // 24, must.offset, instance, zone)
            continue
        days, hour = divmod(later, 24)
        yield _deadline(schedule, f"{minute} {hour}-23", days, must.offset, instance, zone)
        early = f"0-{hour - 1}" if hour > 1 else "0"
        yield _deadline(schedule, f"{minute} {early}", days + 1, must.offset, instance, zone)


def _deadline(
    schedule: Schedule, time_of_day: str, days: int, within: timedelta, instance: str, zone: str
) -> Mapping[str, Any]:
    """Create a deadline. days: after the day of the start."""
    weekdays = sorted((day + 1 + days) % 7 for day in schedule.days)  # cron counts from Sunday
    calendars = {"calendar": schedule.run_calendar, "exclude_calendar": schedule.exclude_calendar}
    named = {name: value for name, value in calendars.items() if value}
    return {
        "deadline": f"{time_of_day} * * {','.join(map(str, weekdays)) if 0 < len(weekdays) < 7 else '*'}",
        "timezone": zone,
        **named,
        **({"instance": instance} if named else {}),
        **({"days_after": days} if days else {}),
        "within_seconds": within.total_seconds(),
    }


def _zone(schedule: Schedule, zone: str) -> str | None:
    if schedule.timezone is None:
        return zone
    try:
        return zone_named(schedule.timezone).key
    except ValueError:
        return None


def business_calendars(calendars: Calendars, today: date) -> Mapping[str, tuple[date, ...]]:
    """Return the days of each calendar, in order; for extended ones, days around today if their rules are supported."""
    found: dict[str, tuple[date, ...]] = {}
    for name, each in calendars.calendars.items():
        if isinstance(each, Standard):
            found[name] = tuple(sorted(each.days))
            continue
        with suppress(UncertainError):
            found[name] = tuple(sorted(_extended(each, calendars, today)))
    return found


def _extended(calendar: ExtendedCalendar, calendars: Calendars, today: date) -> frozenset[date]:
    first, last = date(today.year - 1, 1, 1), date(today.year + _YEARS, 12, 31)
    return dates_of(calendar, first, last, calendars.calendars, calendars.cycles)
