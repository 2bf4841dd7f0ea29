"""Durations as people write them: `90m`, `26h`, `1d12h`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_DURATION = re.compile(r"(?:\d+[dhms])+")


def parse_duration(text: object) -> timedelta:
    """Parse a duration of at least one minute. Raises ValueError with the accepted notations."""
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a valid duration; write it as 90m, 26h or 1d12h")
    length = timedelta()
    try:
        for number, unit in re.findall(r"(\d+)([dhms])", text):
            length += timedelta(**{_UNITS[unit]: int(number)})
    except (OverflowError, ValueError) as error:  # ValueError: of a number with thousands of digits
        raise ValueError(f"{text[:40]!r} is longer than a duration can be") from error
    if length < timedelta(minutes=1):
        raise ValueError(f"{text!r} is shorter than one minute")
    return length


def duration_text(seconds: float) -> str:
    """Return whole seconds as a declaration writes them: `1d12h`."""
    text, rest = "", int(seconds)
    for unit, name in _UNITS.items():
        length = int(timedelta(**{name: 1}).total_seconds())
        if rest >= length:
            text += f"{rest // length}{unit}"
            rest %= length
    return text


Duration = Annotated[
    timedelta,
    BeforeValidator(
        parse_duration, json_schema_input_type=Annotated[str, Field(examples=["90m", "26h", "1d12h"])]
    ),
]
