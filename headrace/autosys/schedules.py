"""The schedule of a job, from its time attributes: when it may start and when it must."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from functools import lru_cache
from typing import TypeVar

from headrace.autosys.findings import Problem
from headrace.autosys.time_zones import zone_named
from headrace.severity import Severity

TIME_ATTRIBUTES = frozenset(
    (
        "date_conditions",
        "start_times",
        "start_mins",
        "days_of_week",
        "run_calendar",
        "exclude_calendar",
        "run_window",
        "timezone",
        "must_start_times",
        "must_complete_times",
    )
)
"""What `date_conditions` switches on and off, and the switch."""

_FIELDS = TIME_ATTRIBUTES | {"max_run_alarm", "min_run_alarm", "term_run_time", "n_retrys"}
_DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_WINDOW = re.compile(r"\s*(\d{1,2}:\d\d)\s*-\s*(\d{1,2}:\d\d)\s*")
_TRUE, _FALSE = frozenset("1yt"), frozenset("0nf")
_LAST_MUST_HOUR = 71  # must-times reach into the second day after the start

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Must:
    """A time by which a run must start or end.

    offset: since the start time if relative, otherwise since midnight of the day of the start.
    """

    offset: timedelta
    relative: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """The time schedule of a job.

    date_conditions: False (the default) disables all of it except alarms and retries. days: 0 for Monday to 6 for
    Sunday. start_mins: minutes past every hour. timezone: as written; None for the zone of the server. max_run_alarm,
    min_run_alarm (alarms only) and term_run_time (the job is killed): whole minutes.
    """

    date_conditions: bool = False
    start_times: tuple[time, ...] = ()
    start_mins: tuple[int, ...] = ()
    days: frozenset[int] = frozenset()
    run_calendar: str | None = None
    exclude_calendar: str | None = None
    run_window: tuple[time, time] | None = None
    timezone: str | None = None
    must_start: tuple[Must, ...] = ()
    must_complete: tuple[Must, ...] = ()
    max_run_alarm: int | None = None
    min_run_alarm: int | None = None
    term_run_time: int | None = None
    n_retrys: int = 0

    @property
    def starts_itself(self) -> bool:
        """True if the clock starts the job: it is enabled and has days, a calendar or times."""
        return self.date_conditions and bool(
            self.days or self.run_calendar or self.start_times or self.start_mins
        )


NONE = Schedule()
"""The schedule of a job that has no time attributes."""


def read_schedule(values: Mapping[str, str]) -> tuple[Schedule, tuple[Problem, ...]]:
    """Parse the schedule in a job's attributes. Invalid attributes are problems, and ignored."""
    names = _FIELDS.intersection(values)
    if not names:
        return NONE, ()
    return _read(tuple((name, values[name]) for name in sorted(names) if values[name] not in ("", "NULL")))


@lru_cache(maxsize=4096)  # estates have a few thousand schedules among a hundred thousand jobs
def _read(written: tuple[tuple[str, str], ...]) -> tuple[Schedule, tuple[Problem, ...]]:
    values = dict(written)
    problems: list[Problem] = []

    def take(name: str, read: Callable[[str], T], default: T) -> T:
        try:
            return read(values[name]) if name in values else default
        except ValueError as error:
            problems.append(Problem(name, f"{error}; ignored in the schedule", Severity.ERROR, None))
            return default

    schedule = Schedule(
        date_conditions=take("date_conditions", _flag, False),
        start_times=take("start_times", _times, ()),
        start_mins=take("start_mins", _minutes, ()),
        days=take("days_of_week", _days, frozenset()),
        run_calendar=take("run_calendar", _word, None),
        exclude_calendar=take("exclude_calendar", _word, None),
        run_window=take("run_window", _window, None),
        timezone=take("timezone", _word, None),
        must_start=take("must_start_times", _musts, ()),
        must_complete=take("must_complete_times", _musts, ()),
        max_run_alarm=take("max_run_alarm", _whole, None),
        min_run_alarm=take("min_run_alarm", _whole, None),
        term_run_time=take("term_run_time", _whole, None),
        n_retrys=take("n_retrys", _whole, 0),
    )
    return schedule, (*problems, *_ineffective(schedule, values))


def _ineffective(schedule: Schedule, written: Iterable[str]) -> Iterator[Problem]:
    """Yield attributes that are valid, but have no effect or contradict each other."""
    timed = sorted(TIME_ATTRIBUTES.intersection(written) - {"date_conditions"})
    if timed and not schedule.date_conditions:
        yield Problem(
            timed[0],
            f"{', '.join(timed)} without date_conditions: 1: the schedule has no effect",
            Severity.WARNING,
            "set date_conditions: 1 if the schedule should start the job",
        )
    for one, other, both in (
        ("start_times", "start_mins", schedule.start_times and schedule.start_mins),
        ("days_of_week", "run_calendar", schedule.days and schedule.run_calendar),
    ):
        if both:
            yield Problem(other, f"{one} and {other} exclude each other", Severity.ERROR, "keep one of them")
    if schedule.timezone is not None:
        try:
            zone_named(schedule.timezone)
        except ValueError as error:
            hint = "name it in the file of the setting autosys_timezones, or use a name such as Europe/London"
            yield Problem("timezone", f"{error}; start times are unknown", Severity.WARNING, hint)
    for name, musts in (
        ("must_start_times", schedule.must_start),
        ("must_complete_times", schedule.must_complete),
    ):
        single = len(musts) == 1 and musts[0].relative
        if musts and schedule.start_times and len(musts) != len(schedule.start_times) and not single:
            message = f"{len(musts)} times for {len(schedule.start_times)} start times"
            yield Problem(
                name, message, Severity.WARNING, "write one for each, or a single relative one for all"
            )


def _items(value: str) -> list[str]:
    items = [
        item.strip().strip('"').replace("\\:", ":").strip() for item in value.strip().strip('"').split(",")
    ]
    return [item for item in items if item]


def _word(value: str) -> str | None:
    return value.strip().strip('"') or None


def _flag(value: str) -> bool:
    first = value.strip().lower()[:1]
    if first in _TRUE:
        return True
    if first in _FALSE:
        return False
    raise ValueError(f"{value!r} is neither 1 (y) nor 0 (n)")


def _whole(value: str) -> int:
    if not value.strip().isdecimal():
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _time(item: str) -> time:
    found = _TIME.fullmatch(item)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise ValueError(f"{item!r} is not a time of day written hh:mm")
    return time(int(found[1]), int(found[2]))


def _times(value: str) -> tuple[time, ...]:
    return tuple(map(_time, _items(value)))


def _minutes(value: str) -> tuple[int, ...]:
    items = _items(value)
    wrong = [item for item in items if not item.isdecimal() or int(item) > 59]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: minutes past the hour go from 0 to 59")
    return tuple(sorted({int(item) for item in items}))


def _days(value: str) -> frozenset[int]:
    items = [item.lower() for item in _items(value)]
    if items == ["all"]:
        return frozenset(range(7))
    wrong = [item for item in items if item not in _DAYS]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: days are mo, tu, we, th, fr, sa, su or all")
    return frozenset(map(_DAYS.index, items))


def _window(value: str) -> tuple[time, time]:
    found = _WINDOW.fullmatch(value.strip().strip('"').replace("\\:", ":"))
    if found is None:
        raise ValueError(f"{value!r} is not a window written hh:mm-hh:mm")
    return _time(found[1]), _time(found[2])


def _musts(value: str) -> tuple[Must, ...]:
    return tuple(map(_must, _items(value)))


def _must(item: str) -> Must:
    if item.startswith("+") and item[1:].strip().isdecimal():
        return Must(timedelta(minutes=int(item[1:])), relative=True)
    found = _TIME.fullmatch(item)
    if found is None or int(found[1]) > _LAST_MUST_HOUR or int(found[2]) > 59:
        raise ValueError(f"{item!r} is neither +minutes nor a time from 00:00 to 71:59")
    return Must(timedelta(hours=int(found[1]), minutes=int(found[2])), relative=False)
