"""When the clock starts a described process, and the SLA that follows from it.

A schedule is stored as the terms of a clock (`slas.objectives.Clock`), so that starts, deadlines and their calendars
are computed in one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from headrace.autosys import Start
from headrace.cron import Timezone, five_fields
from headrace.durations import Duration
from headrace.simulation.expected import ExpectedInstant
from headrace.slas.calendars import Calendars, UnknownCalendar
from headrace.slas.deadlines import NoDeadline, following
from headrace.slas.objectives import Clock
from headrace.slas.wording import times_in_words

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def _time_of_day(value: object) -> object:
    """Refuse anything but HH:MM. YAML reads 22:30 without quotes as a number of minutes."""
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError(f'{value!r} is not a time of day; write it in quotes, as in "02:00"')
    return value


class ProcessSchedule(BaseModel):
    """The starts of a process by the clock: `cron`, or `at` a time of day, on the days of a calendar, if it has one.

    exclude_calendar: no start on its days.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cron: Annotated[str, AfterValidator(five_fields)] | None = None
    at: Annotated[str, BeforeValidator(_time_of_day)] | None = None
    timezone: Timezone = "UTC"
    calendar: str | None = None
    exclude_calendar: str | None = None

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if (self.cron is None) is (self.at is None):
            raise ValueError("give either `cron`, or `at` with or without a `calendar`")
        return self

    @property
    def clock(self) -> Clock:
        """Its starts, as a clock."""
        cron = self.cron
        if self.at is not None:
            hour, minute = self.at.split(":")
            cron = f"{int(minute)} {int(hour)} * * *"
        assert cron is not None  # noqa: S101 - there is one of the two
        return Clock(
            deadline=cron,
            timezone=self.timezone,
            calendar=self.calendar,
            exclude_calendar=self.exclude_calendar,
        )

    @property
    def terms(self) -> Mapping[str, Any]:
        """Its starts, as the catalog stores them."""
        return self.clock.model_dump(mode="json", exclude_defaults=True)

    @property
    def words(self) -> str:
        """Its starts in words."""
        return f"at {times_in_words(self.clock)}"

    def calendars(self) -> Iterator[tuple[str, str]]:
        """Yield the calendars that it names, each with its field."""
        for field, name in (("calendar", self.calendar), ("exclude_calendar", self.exclude_calendar)):
            if name is not None:
                yield f"schedule.{field}", name


class ProcessSla(BaseModel):
    """The SLA of a process: how long after each scheduled start a run must have started, and succeeded; run times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start_within: Duration | None = None
    complete_within: Duration | None = None
    max_run: Duration | None = None
    min_run: Duration | None = None

    @property
    def needs_schedule(self) -> bool:
        """True if it counts from a scheduled start."""
        return self.start_within is not None or self.complete_within is not None

    def stored(self, schedule: ProcessSchedule | None) -> dict[str, Any]:
        """Return the SLA as the catalog stores it.

        A start counts from `start_within` before its time, since the clocks of two systems differ, and people start a
        request early. So does the end of that run.
        """
        found: dict[str, Any] = {}
        early = self.start_within or timedelta()
        for name, delay in (("start_by", self.start_within), ("complete_by", self.complete_within)):
            if delay is not None and schedule is not None:
                within = (delay + early).total_seconds()
                delayed = {"delay_seconds": delay.total_seconds(), "within_seconds": within}
                found[name] = [{**schedule.terms, **delayed}]
        for name, length in (("max_run_seconds", self.max_run), ("min_run_seconds", self.min_run)):
            if length is not None:
                found[name] = length.total_seconds()
        return found


def expected_start(
    terms: Mapping[str, Any], sla: Mapping[str, Any], after: datetime, calendars: Calendars
) -> ExpectedInstant:
    """Return the first scheduled start after a moment; the instant is unknown, with the reason, if there is none.

    terms, sla: as the catalog stores them.
    """
    try:
        clock = Clock.model_validate(terms)
        at = following(clock, calendars, after)
    except (NoDeadline, UnknownCalendar) as error:
        return ExpectedInstant(None, (str(error),))
    except ValidationError:
        return ExpectedInstant(None, ("its schedule is stored in terms that cannot be read: scan it again",))
    why = (f"its schedule: at {times_in_words(clock)}",)
    start = Start(
        at,
        at.astimezone(ZoneInfo(clock.timezone)),
        why,
        _due(sla, "start_by", at),
        _due(sla, "complete_by", at),
    )
    return ExpectedInstant(at, why, clock=start)


def _due(sla: Mapping[str, Any], name: str, at: datetime) -> datetime | None:
    clocks = sla.get(name) or ()
    return at + timedelta(seconds=clocks[0].get("delay_seconds", 0)) if clocks else None
