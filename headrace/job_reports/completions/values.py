"""The types of a report's fields: names, times, dates and counts, and the notations accepted for them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, ValidationInfo

from headrace.autosys.clocks import possible
from headrace.catalog.records import TECHNOLOGY_WORDS, Technology

_AUTOSYS_TIME = re.compile(r"(\d\d)/(\d\d)/(\d{4})(?:[ T](\d\d:\d\d(?::\d\d)?))?")
_PACKED = re.compile(r"\d{8}")
_PACKED_TIME = re.compile(r"(\d{8})(\d{4}(?:\d\d)?)")  # YYYYMMDDhhmmss, or without seconds
_DB2_TIME = re.compile(r"(\d{4}-\d\d-\d\d)-(\d\d)\.(\d\d)\.(\d\d(?:\.\d+)?)")
_EPOCH_DIGITS = (10, 13)  # seconds and milliseconds since 1970, of the years 2001 to 2286
MAX_OTHER_DIGITS = 7  # fewer than a date's: seconds of a clock that was never set
WRITTEN = {
    "date": "2013-01-31, 20130131 or 01/31/2013",
    "time": "2026-11-28T04:15:00Z, 20261128041500 or, as Autosys does, 11/28/2026 04:15:00",
}


def _instant(value: object, info: ValidationInfo) -> object:
    """Parse an instant in any notation, in the zone of the report's place if it has none.

    Digits alone are a date and time, or seconds or milliseconds since 1970, by their number. Raises ValueError.
    """
    zone: tzinfo = info.context.zone  # type: ignore[union-attr]  # the report's place
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str):
        value = value.strip()
        if found := _AUTOSYS_TIME.fullmatch(value):
            month, day, year, time = found.groups()
            value = f"{year}-{month}-{day}T{time or '00:00:00'}"
        elif found := _PACKED_TIME.fullmatch(value):
            value = f"{found[1]}T{found[2]}"
        elif found := _DB2_TIME.fullmatch(value):
            value = f"{found[1]}T{found[2]}:{found[3]}:{found[4]}"
        elif value.isdecimal() and not _PACKED.fullmatch(value):
            if len(value) > MAX_OTHER_DIGITS and len(value) not in _EPOCH_DIGITS:
                raise ValueError(f"{value[:80]!r} is not a time; write {WRITTEN['time']}")
            return value  # since 1970; `fromisoformat` would read some as a date, one digit in between and a time
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    if not isinstance(value, datetime):
        return value
    instant = value if value.tzinfo else value.replace(tzinfo=zone)
    try:
        instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is not within the years 1 to 9999 of UTC") from error
    return instant


def day(value: object) -> object:
    """Parse a date in one of three notations to YYYY-MM-DD; 20130131 may be a number, too. Raises ValueError for other
    digits, which are no dates in seconds since 1970."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, int) and not isinstance(text, bool):
        text = f"{text:08}"
    if isinstance(text, str):
        if found := _AUTOSYS_TIME.fullmatch(text):
            text = f"{found[3]}-{found[1]}-{found[2]}"
        elif _PACKED.fullmatch(text):
            text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
        elif text.isdecimal():
            raise ValueError(f"{text[:80]!r} is not a date; write {WRITTEN['date']}")
    return text


def single(value: object) -> object:
    """Check text that a database can store: without NUL and without unpaired surrogates."""
    if isinstance(value, str):
        value = value.strip()
        if "\x00" in value:
            raise ValueError("has a NUL character")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("has half of a surrogate pair, which is not a character") from error
    return value


def technology_of(value: object) -> object:
    """Parse a technology, by its name in keys or its word in YAML. Raises ValueError."""
    if not isinstance(value, str):
        return value
    found = Technology.of(value)
    if found is None:
        raise ValueError(f"{value[:80]!r} is not a technology; use one of {', '.join(TECHNOLOGY_WORDS)}")
    return found


def _text(longest: int, pattern: str | None = None) -> Any:  # noqa: ANN401 - an annotation
    return Annotated[str, BeforeValidator(single), Field(min_length=1, max_length=longest, pattern=pattern)]


Name = _text(255, r"^[^/\s]+$")
ProcessName = _text(800, r"^[^/\s]+(/+[^/\s]+)*$")  # a name, or a key such as AUTOSYS/PRD/BOX/JOB
Short = _text(500)
Long = _text(100_000)
Key = _text(255, r"^[^/\s]+(/[^/\s]+)*$")
Instant = Annotated[AwareDatetime, BeforeValidator(_instant), AfterValidator(possible)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
