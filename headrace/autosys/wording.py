"""Describe in words what starts a job."""

from collections.abc import Iterator, Sequence
from datetime import time

from headrace.autosys.jobs import Job, Trigger
from headrace.autosys.schedules import Must, Schedule

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def start_in_words(job: Job) -> str:
    """Describe the start of the job, by its schedule, its box and its condition."""
    triggers = job.triggers
    parts = []
    if Trigger.CLOCK in triggers:
        parts.append(schedule_in_words(job.schedule))
    elif Trigger.BOX in triggers:
        parts.append("when its box starts")
    if Trigger.CONDITION in triggers:
        parts.append("if its condition holds then" if parts else "when its condition holds")
    elif not parts:
        parts.append("by hand, or by an event")
    return ", ".join(parts)


def schedule_in_words(schedule: Schedule) -> str:
    """Describe when the clock starts a job with this schedule; empty if it does not."""
    return ", ".join(_parts(schedule)) if schedule.starts_itself else ""


def _parts(schedule: Schedule) -> Iterator[str]:
    yield f"{_times(schedule)} {_days(schedule)}"
    if schedule.exclude_calendar:
        yield f"but not on those of {schedule.exclude_calendar}"
    if schedule.run_window is not None:
        opens, closes = schedule.run_window
        yield f"within {opens:%H:%M}-{closes:%H:%M}"
    yield schedule.timezone or "in the server's zone"
    if schedule.must_start:
        yield f"must start by {_listed([_must(each) for each in schedule.must_start])}"
    if schedule.must_complete:
        yield f"must complete by {_listed([_must(each) for each in schedule.must_complete])}"


def _times(schedule: Schedule) -> str:
    if schedule.start_mins:
        return f"at {_listed([f'{minute:02d}' for minute in schedule.start_mins])} past each hour"
    if schedule.run_calendar and not schedule.start_times:
        return "at the times"
    return f"at {_listed([f'{at:%H:%M}' for at in schedule.start_times or (time(),)])}"


def _days(schedule: Schedule) -> str:
    if schedule.run_calendar:
        return (
            f"of {schedule.run_calendar}"
            if not (schedule.start_times or schedule.start_mins)
            else f"on the days of {schedule.run_calendar}"
        )
    days = sorted(schedule.days)
    if len(days) in (0, 7):
        return "every day"
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        return f"{_DAYS[days[0]]} to {_DAYS[days[-1]]}"
    return f"on {_listed([_DAYS[day] for day in days])}"


def _must(must: Must) -> str:
    minutes = int(must.offset.total_seconds()) // 60
    return f"+{minutes} min" if must.relative else f"{minutes // 60:02d}:{minutes % 60:02d}"


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
