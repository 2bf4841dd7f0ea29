"""Validate cron expressions and time zones."""

from __future__ import annotations

from functools import cache
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field

from headrace.dagster_internals import is_valid_cron_schedule


@cache
def valid_cron(text: str) -> str:
    """Return `text` if it is a five-field cron expression or a macro such as @daily; raise ValueError otherwise."""
    if not is_valid_cron_schedule(text):
        raise ValueError(
            f"{text!r} is not a cron expression; write minute hour day month weekday, as in `0 9 * * 1-5`"
        )
    return text


@cache
def valid_timezone(text: str) -> str:
    """Return `text` if it is an IANA time zone; raise ValueError otherwise."""
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{text!r} is not a time zone; write an IANA name, as in America/New_York"
        ) from error
    return text


Cron = Annotated[str, AfterValidator(valid_cron), Field(examples=["0 9 * * *"])]
Timezone = Annotated[str, AfterValidator(valid_timezone), Field(examples=["America/New_York"])]
