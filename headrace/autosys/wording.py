"""Describe in words what starts a job, and the conditions of its start."""

from collections.abc import Iterator, Sequence
from datetime import time

from headrace.autosys.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExitIs,
    GlobalIs,
    JobIs,
    Lookback,
    RequiredStatus,
)
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


_STATUSES = {
    RequiredStatus.SUCCESS: "has succeeded",
    RequiredStatus.FAILURE: "has failed",
    RequiredStatus.DONE: "has ended",
    RequiredStatus.TERMINATED: "was terminated",
    RequiredStatus.NOT_RUNNING: "is not running",
}


def condition_in_words(condition: Condition) -> str:
    """Describe a condition: `A has succeeded and B is not running` for `s(A) & n(B)`."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            word = " and " if isinstance(condition, AllOf) else " or "
            return word.join(
                f"({condition_in_words(part)})"
                if isinstance(part, AllOf | AnyOf)
                else condition_in_words(part)
                for part in parts
            )
        case JobIs():
            return f"{_job(condition)} {_STATUSES[condition.wanted]}{_within(condition.lookback)}"
        case ExitIs():
            code = f"exit code of {_job(condition)} {condition.operator} {condition.code}"
            return f"{code}{_within(condition.lookback)}"
        case GlobalIs():
            return f"variable {condition.name} {condition.operator} {condition.value}"


def _job(atom: JobIs | ExitIs) -> str:
    return f"{atom.job} of {atom.instance}" if atom.instance else atom.job


def _within(lookback: Lookback | None) -> str:
    if lookback is None or lookback.minutes is None:
        return ""
    if not lookback.minutes:
        return " since the last run"
    hours, minutes = divmod(lookback.minutes, 60)
    return f" in the last {' '.join([f'{hours} h'] * bool(hours) + [f'{minutes} min'] * bool(minutes))}"


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
