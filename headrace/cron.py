"""Cron expressions and time zones as people write them, with messages that say what to write instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EXAMPLE_START = datetime(2024, 1, 1, tzinfo=UTC) - timedelta(seconds=1)  # cronsim begins after a moment
WRITE_DAYS = "write days of the month (`L` is its last one) or weekdays (`fri#2` is the second Friday)"


@cache
def five_fields(text: str) -> str:
    """Return the five fields of a cron expression, or of a macro such as @daily; raise ValueError for anything else."""
    expression = MACROS.get(text.strip().lower(), text)
    if len(expression.split()) != 5:
        raise ValueError(
            f"{text!r} is not a valid cron expression; write minute hour day month weekday, as in `0 9 * * 1-5`"
        )
    try:
        CronSim(expression, _EXAMPLE_START)
    except CronSimError as error:
        raise ValueError(f"{text!r} is not a valid cron expression: {_advice(expression, error)}") from error
    return expression


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


def _advice(expression: str, error: CronSimError) -> str:
    """Return what is wrong and what to write. cronsim names the field only, as in `Bad day-of-week`."""
    wrong = str(error).lower()
    if "L" in expression.upper().split()[4] or "W" in expression.upper().split()[2]:
        return f"{wrong}; {WRITE_DAYS}"
    return f"{wrong}; a range must end after it begins: write `22,23,0-2` for 22-2, and `sat,sun` for sat-sun"


Timezone = Annotated[str, AfterValidator(valid_timezone), Field(examples=["America/New_York"])]
