"""Validate cron expressions that Headrace evaluates and Dagster is given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from typing import Annotated

from cronsim import CronSim
from pydantic import AfterValidator, Field

from headrace.cron import MACROS, WRITE_DAYS, five_fields
from headrace.dagster_internals import cron_string_iterator, is_valid_cron_schedule

_START = datetime(2024, 1, 1, tzinfo=UTC)
_BEFORE = _START - timedelta(seconds=1)  # cronsim begins after a moment, Dagster at it
_COMPARED_DAYS = 300  # of a rule of days: five years or more for a rule that names a date


@cache
def valid_cron(text: str) -> str:
    """Return `text` if it is a five-field cron expression or a macro such as @daily; raise ValueError otherwise.

    Deadlines are evaluated with cronsim, and the same expressions are given to Dagster, so both must read the same
    times: they differ about ranges that wrap around, `L5`, and a step beside a weekday.
    """
    expression = five_fields(text)
    if not is_valid_cron_schedule(expression):
        raise ValueError(f"{text!r} is a cron expression that Dagster cannot read; {WRITE_DAYS}")
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


Cron = Annotated[str, AfterValidator(valid_cron), Field(examples=["0 9 * * *"])]
