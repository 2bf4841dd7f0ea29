"""Describe an SLA in words: "by 06:00 Europe/London on business days of XLON, warned 1 h before"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from pydantic import ValidationError

from headrace.slas.deadlines import expression
from headrace.slas.objectives import Age, Clock, ObjectiveKind, RunTime, Terms, objectives, terms

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = re.compile(r"\d{1,2}(,\d{1,2})*")
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def describe_sla(sla: Mapping[str, Any]) -> str:
    """Describe a stored SLA in words."""
    return "; ".join(describe_objective(kind, definition) for kind, _, definition in objectives(sla))


def describe_objective(kind: ObjectiveKind, definition: Mapping[str, Any]) -> str:
    """Describe the terms of a stored objective in words."""
    return ", ".join(_objective(kind, definition))


def times_in_words(clock: Clock) -> str:
    """Describe the times of a clock, and its days, without its delay."""
    cron = expression(clock)
    times, days = _times(cron.split()) or (f"each time of the cron {cron!r}", "")
    if clock.calendar:
        monthly = f"{days}," if "month" in days else ""
        days = f"{monthly} on business days of {clock.calendar}"
    excluded = f", not on days of {clock.exclude_calendar}" if clock.exclude_calendar else ""
    return f"{times} {clock.timezone}{days}{excluded}"


def length(time: timedelta) -> str:
    """Format a duration, such as 1 h 30 min."""
    left, parts = round(time.total_seconds()), []
    for unit, size in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts) or "0 s"


def _objective(kind: ObjectiveKind, definition: Mapping[str, Any]) -> Iterator[str]:
    try:
        found: Terms = terms(kind, definition)
    except ValidationError:
        yield f"{kind.lower().replace('_', ' ')}, in terms that cannot be read"
        return
    if isinstance(found, Clock) and found.delay:
        done = "started" if kind is ObjectiveKind.START else "ended"
        yield f"{done} within {length(found.delay)} of {times_in_words(found)}"
    elif isinstance(found, Clock):
        yield f"{'started ' if kind is ObjectiveKind.START else ''}by {times_in_words(found)}"
        yield from _more(found)
    elif isinstance(found, Age):
        yield f"never older than {length(found.max_age)}"
        if found.warn_after is not None:
            yield f"warned after {length(found.warn_after)}"
    elif isinstance(found, RunTime):
        if found.max_run is not None:
            yield f"runs no longer than {length(found.max_run)}"
        if found.min_run is not None:
            yield f"runs no shorter than {length(found.min_run)}"
    else:
        if found.min_rows is not None:
            yield f"at least {found.min_rows:,} rows"
        if found.min_bytes is not None:
            yield f"at least {found.min_bytes:,} bytes"


def _more(clock: Clock) -> Iterator[str]:
    if clock.partition is not None:
        day, before = "business day" if clock.partition.business else "day", clock.partition.days_before
        if before == 0:
            yield "with the partition of that day"
        else:
            yield f"with the partition of {f'the {day}' if before == 1 else f'{before} {day}s'} before"
    if clock.within is not None:
        yield f"made {length(clock.within)} before at most"
    if clock.warn_before is not None:
        yield f"warned {length(clock.warn_before)} before"


def _times(cron: list[str]) -> tuple[str, str] | None:
    """Return the times of day and days of a simple cron; None for any other."""
    if len(cron) != 5 or cron[3] != "*" or not _NUMBERS.fullmatch(cron[1]) or not cron[0].isdigit():
        return None
    times = [f"{int(hour):02d}:{int(cron[0]):02d}" for hour in cron[1].split(",")]
    if cron[2] != "*":
        if cron[4] != "*" or not _NUMBERS.fullmatch(cron[2]):
            return None
        return _listed(times), f" on day {_listed(cron[2].split(','))} of each month"
    if cron[4] == "*":
        return _listed(times), " each day"
    days = re.sub(r"[0-7]", lambda found: _DAYS[int(found[0])], cron[4].lower())
    if not re.fullmatch(r"[a-z]{3}([,-][a-z]{3})*", days):
        return None
    return _listed(times), f" on {days.replace('-', ' to ').replace(',', ', ')}"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
