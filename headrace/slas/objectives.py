"""Split an SLA into objectives, each of which is met or missed independently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class ObjectiveKind(StrEnum):
    """The kind of an objective."""

    DELIVERY = "DELIVERY"  # a version is published, or a run has succeeded, by a deadline
    AGE = "AGE"  # the published version is never older
    START = "START"  # a run starts by a deadline
    RUN_TIME = "RUN_TIME"  # a run takes no longer, and no less
    VOLUME = "VOLUME"  # a version has at least this many rows or bytes


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


Seconds = Annotated[
    timedelta | None, BeforeValidator(lambda value: timedelta(seconds=value) if _is_number(value) else value)
]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class ExpectedPartition(_Value):
    """The partition of a deadline: a number of days before the deadline's day, formatted with `format`.

    business: only days on which the calendar is open are counted.
    """

    days_before: int = 1
    business: bool = False
    format: str = "%Y-%m-%d"


class Clock(_Value):
    """Deadlines by cron in a zone, on days on which the calendar is open.

    exclude_calendar: no deadline on days on which it is open. days_after: the calendars are evaluated this many days
    before the day of the deadline (a job that starts in the evening has to end in the morning). delay: the deadline is
    this long after each time of the cron, as measured by a stopwatch. within: how long before a deadline an arrival
    counts for it; None: since the previous deadline.
    """

    deadline: str
    timezone: str = "UTC"
    calendar: str | None = None
    exclude_calendar: str | None = None
    instance: str = ""  # the scheduler instance of the calendars
    days_after: int = 0
    delay: Annotated[timedelta, Field(alias="delay_seconds")] = timedelta()
    within: Seconds = Field(default=None, alias="within_seconds")
    warn_before: Seconds = Field(default=None, alias="warn_before_seconds")
    partition: ExpectedPartition | None = None


class Age(_Value):
    """Maximum age of the newest version."""

    max_age: timedelta = Field(alias="max_age_seconds")
    warn_after: Seconds = Field(default=None, alias="warn_after_seconds")


class RunTime(_Value):
    """Maximum and minimum run time."""

    max_run: Seconds = Field(default=None, alias="max_run_seconds")
    min_run: Seconds = Field(default=None, alias="min_run_seconds")


class Volume(_Value):
    """Minimum size of a version."""

    min_rows: int | None = None
    min_bytes: int | None = None


Terms = Clock | Age | RunTime | Volume
_TERMS: Mapping[ObjectiveKind, type[Clock] | type[Age] | type[RunTime] | type[Volume]] = {
    ObjectiveKind.DELIVERY: Clock,
    ObjectiveKind.START: Clock,
    ObjectiveKind.AGE: Age,
    ObjectiveKind.RUN_TIME: RunTime,
    ObjectiveKind.VOLUME: Volume,
}
_PARTS = {
    ObjectiveKind.AGE: ("max_age_seconds", "warn_after_seconds"),
    ObjectiveKind.RUN_TIME: ("max_run_seconds", "min_run_seconds"),
    ObjectiveKind.VOLUME: ("min_rows", "min_bytes"),
}
_CLOCK = ("deadline", "timezone", "calendar", "within_seconds", "warn_before_seconds", "partition")


def terms(kind: ObjectiveKind, definition: Mapping[str, Any]) -> Terms:
    """Parse the terms of a stored objective. Raises pydantic.ValidationError."""
    return _TERMS[kind].model_validate(definition)


def objectives(sla: Mapping[str, Any]) -> Iterator[tuple[ObjectiveKind, int, dict[str, Any]]]:
    """Yield the objectives of a stored SLA: kind, ordinal within its kind, definition.

    `complete_by` and `start_by` are lists of deadlines (a job that starts several times a day has several).
    """
    complete_by = list(sla.get("complete_by") or ())
    if sla.get("deadline") is not None:
        complete_by.insert(0, {name: sla[name] for name in _CLOCK if sla.get(name) is not None})
    for kind, clocks in (
        (ObjectiveKind.DELIVERY, complete_by),
        (ObjectiveKind.START, sla.get("start_by") or ()),
    ):
        for ordinal, clock in enumerate(clocks):
            yield kind, ordinal, dict(clock)
    for kind, names in _PARTS.items():
        found = {name: sla[name] for name in names if sla.get(name) is not None}
        if found and (kind is not ObjectiveKind.AGE or "max_age_seconds" in found):
            yield kind, 0, found
