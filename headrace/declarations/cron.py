"""Validate cron expressions and time zones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from headrace.dagster_internals import cron_string_iterator, is_valid_cron_schedule
from headrace.slas.deadlines import MACROS

_START = datetime(2024, 1, 1, tzinfo=UTC)
_BEFORE = _START - timedelta(seconds=1)  # cronsim begins after a moment, Dagster at it
_COMPARED_DAYS = 300  # of a rule of days: five years or more for a rule that names a date


@cache
def valid_cron(text: str) -> str:
    """Return `text` if it is a five-field cron expression or a macro such as @daily; raise ValueError otherwise.

    Deadlines are evaluated with cronsim, and the same expressions are given to Dagster, so both must read the same
    times: they differ about ranges that wrap around, `L5`, and a step beside a weekday.
    """
    expression = MACROS.get(text.strip().lower(), text)
    if len(expression.split()) != 5:
        raise ValueError(
            f"{text!r} is not a valid cron expression; write minute hour day month weekday, as in `0 9 * * 1-5`"
        )
    try:
        CronSim(expression, _START)
    except CronSimError as error:
        raise ValueError(f"{text!r} is not a valid cron expression: {_advice(expression, error)}") from error
    if not is_valid_cron_schedule(expression):
        raise ValueError(f"{text!r} is a cron expression that Dagster cannot read; {_WRITE_DAYS}")
    minute, hour, *days = expression.split()
    if not _days_agree(" ".join(days)):
        raise ValueError(
            f"{text!r} is read differently by cron and by Dagster: write either the day of the month or the weekday, "
            "and `*` for the other"
        )
    if not _times_agree(minute, hour):
        raise ValueError(
            f"{text!r} is read differently by cron and by Dagster: list the minutes and hours, as in `0,30 8,9 * * *`"
        )
    return text


def _advice(expression: str, error: CronSimError) -> str:
    """Return what is wrong and what to write. cronsim names the field only, as in `Bad day-of-week`."""
    wrong = str(error).lower()
    if "L" in expression.upper().split()[4] or "W" in expression.upper().split()[2]:
        return f"{wrong}; {_WRITE_DAYS}"
    return f"{wrong}; a range must end after it begins: write `22,23,0-2` for 22-2, and `sat,sun` for sat-sun"


_WRITE_DAYS = "write days of the month (`L` is its last one) or weekdays (`fri#2` is the second Friday)"


@cache
def _days_agree(days: str) -> bool:
    """Compare what cronsim and Dagster make of a rule of days, over years. Raises ValueError if it names no day."""
    if days == "* * *":
        return True
    expression = f"0 0 {days}"
    ours = list(islice(CronSim(expression, _BEFORE), _COMPARED_DAYS))
    if not ours:
        raise ValueError(f"no date is one of the days {days!r}")
    return ours == list(islice(_dagster(expression), _COMPARED_DAYS))


@cache
def _times_agree(minute: str, hour: str) -> bool:
    """Compare what cronsim and Dagster make of the times of one day."""
    expression = f"{minute} {hour} * * *"
    ours, theirs = (
        list(takewhile(lambda each: each.date() == _START.date(), times))
        for times in (CronSim(expression, _BEFORE), _dagster(expression))
    )
    return ours == theirs


@cache
def is_even(cron: str) -> bool:
    """Return True if the times between the deadlines of one day, and to the next day, are all the same."""
    minute, hour, *_ = MACROS.get(cron.strip().lower(), cron).split()
    day = timedelta(days=1)
    times = list(takewhile(lambda each: each < _START + day, CronSim(f"{minute} {hour} * * *", _BEFORE)))
    return len({later - time for time, later in pairwise([*times, times[0] + day])}) == 1


def _dagster(expression: str) -> Iterator[datetime]:
    return cron_string_iterator(_START.timestamp(), expression, "UTC")


@cache
def valid_timezone(text: str) -> str:
    """Return `text` if it is an IANA time zone; raise ValueError otherwise."""
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{text!r} is not a known time zone; write an IANA name, such as America/New_York"
        ) from error
    return text


Cron = Annotated[str, AfterValidator(valid_cron), Field(examples=["0 9 * * *"])]
Timezone = Annotated[str, AfterValidator(valid_timezone), Field(examples=["America/New_York"])]
