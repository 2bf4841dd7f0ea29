"""Start times of a schedule, across daylight-saving changes, each with its reason.

On the day the clocks go back, start_times within the repeated hour count in its second pass and start_mins in both. On
the day they go forward, only the first of the start_times within the missing hour runs, as many seconds into the next
hour as its minutes (02:05 starts at 03:00:05), and start_mins within it do not occur.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from headrace.autosys.calendars import Calendar, Cycle, Standard
from headrace.autosys.extended_calendars import UncertainError, dates_of
from headrace.autosys.schedules import Must, Schedule
from headrace.autosys.time_zones import zone_named

_HORIZON = 731  # days; a job that does not start within two years is not expected to
_MIDNIGHT = time()


@dataclass(frozen=True, slots=True)
class Start:
    """One start by the clock.

    at: UTC. local: the same in the zone of the job. why: one line per applied rule. must_start, must_complete: UTC;
    None if the schedule has neither.
    """

    at: datetime
    local: datetime
    why: tuple[str, ...]
    must_start: datetime | None = None
    must_complete: datetime | None = None


class NoStartError(ValueError):
    """The schedule has no start, or its starts are unknown; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The context of a schedule: the zone of the server (for jobs without one), calendars and cycles."""

    zone: tzinfo
    calendars: Mapping[str, Calendar] = field(default_factory=dict)
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    _dates: dict[tuple[str, date, date], Mapping[date, tuple[time, ...]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def dates(self, name: str, first: date, last: date) -> Mapping[date, tuple[time, ...]]:
        """Return the dates of a calendar from `first` to `last`, with its times of day. Raises UncertainError."""
        key = (name, first, last)
        if key not in self._dates:
            self._dates[key] = _dates(name, first, last, self)
        return self._dates[key]


def next_start(schedule: Schedule, after: datetime, clock: Clock) -> Start:
    """Return the first start later than `after`. Raises NoStartError."""
    for start in starts(schedule, after, clock):
        return start
    raise NoStartError(_nothing(schedule, after, clock))


def starts(schedule: Schedule, after: datetime, clock: Clock) -> Iterator[Start]:
    """Yield every start later than `after`, earliest first, as far ahead as days or calendars go, two years at most.

    Raises NoStartError on the first one if the schedule does not start the job, or is unknown.
    """
    if not schedule.starts_itself:
        raise NoStartError(
            "no days, calendar or start times are given"
            if schedule.date_conditions
            else "date_conditions is not 1, so no time attribute has an effect"
        )
    for one, other in (("start_times", "start_mins"), ("days", "run_calendar")):
        if getattr(schedule, one) and getattr(schedule, other):
            raise NoStartError(f"{one} and {other} exclude each other; which of them counts is not known")
    try:
        zone = zone_named(schedule.timezone) if schedule.timezone else clock.zone
        first = after.astimezone(zone).date() - timedelta(days=1)
        days = _days(schedule, first, first + timedelta(days=_HORIZON), clock)
    except ValueError as error:
        raise NoStartError(str(error)) from error
    waiting: dict[datetime, Start] = {}  # a run window may move a start past those of the next day
    for day, times, why in days:
        waiting.update(
            (start.at, start) for start in _of_day(schedule, day, times, zone, why) if start.at > after
        )
        for at in sorted(waiting):
            if waiting[at].local.date() <= day:
                yield waiting.pop(at)
    yield from (waiting[at] for at in sorted(waiting))


def _days(
    schedule: Schedule, first: date, last: date, clock: Clock
) -> Iterator[tuple[date, tuple[time, ...], tuple[str, ...]]]:
    """Yield the days on which it may start, with the times of day of a run calendar."""
    excluded = clock.dates(schedule.exclude_calendar, first, last) if schedule.exclude_calendar else {}
    if schedule.run_calendar:
        dates = clock.dates(schedule.run_calendar, first, last)
        allowed: Iterable[tuple[date, tuple[time, ...]]] = sorted(dates.items())
        why: tuple[str, ...] = (f"run_calendar {schedule.run_calendar}",)
    else:
        wanted = schedule.days or frozenset(range(7))
        span = (first + timedelta(days=offset) for offset in range((last - first).days + 1))
        allowed = ((day, ()) for day in span if day.weekday() in wanted)
        why = ("days_of_week",) if schedule.days else ("every day, since no days are named",)
    if excluded:
        why = (*why, f"not on a day of {schedule.exclude_calendar}")
    return ((day, times, why) for day, times in allowed if day not in excluded)


def _dates(name: str, first: date, last: date, clock: Clock) -> Mapping[date, tuple[time, ...]]:
    calendar = clock.calendars.get(name)
    if calendar is None:
        raise UncertainError(f"calendar {name} is not among the exports that were read")
    if isinstance(calendar, Standard):
        return {day: times for day, times in calendar.days.items() if first <= day <= last}
    try:
        return dict.fromkeys(dates_of(calendar, first, last, clock.calendars, clock.cycles), ())
    except UncertainError as error:
        raise UncertainError(f"extended calendar {name}: {error}") from error


def _of_day(
    schedule: Schedule, day: date, calendar_times: tuple[time, ...], zone: tzinfo, why: tuple[str, ...]
) -> list[Start]:
    moments: list[tuple[datetime, int, tuple[str, ...]]] = []  # local time, index among the start times, why
    if schedule.start_mins:
        for minute in schedule.start_mins:
            for hour in range(24):
                local = datetime.combine(day, time(hour, minute), zone)
                if not _is_missing(local):
                    moments += [(each, 0, (*why, "start_mins")) for each in _passes(local)]
    else:
        times = schedule.start_times or calendar_times or (_MIDNIGHT,)
        what = (
            "start_times"
            if schedule.start_times
            else "time of the calendar"
            if calendar_times
            else "midnight, since no time is given"
        )
        gap_taken = False
        for at in sorted(set(times)):
            local = datetime.combine(day, at, zone)
            because = (*why, what)
            if _is_missing(local):
                if gap_taken:
                    continue
                gap_taken = True
                because = (*because, f"{at:%H:%M} does not exist on this day of the change to summer time")
                local = _after_gap(local)
            else:
                passes = _passes(local)
                if len(passes) > 1:
                    because = (*because, f"{at:%H:%M} comes twice on this day; the second counts")
                local = passes[-1]
            place = schedule.start_times.index(at) if schedule.start_times else 0
            moments.append((local, place, because))
    found = [_windowed(schedule, local, place, because) for local, place, because in moments]
    return sorted((start for start in found if start is not None), key=lambda start: start.at)


def opening(window: tuple[time, time], local: datetime) -> datetime | None:
    """Return when a start at `local` may take place: then, or at the next opening if that is nearer than the last
    close; None otherwise."""
    opens, closes = window
    at = local.replace(second=0, microsecond=0, fold=0).time()
    if opens <= at <= closes if opens <= closes else at >= opens or at <= closes:
        return local
    if (_minutes(at) - _minutes(closes)) % 1440 < (_minutes(opens) - _minutes(at)) % 1440:
        return None
    day = local.date() + timedelta(days=opens <= at)
    opened = datetime.combine(day, opens, local.tzinfo)
    return _after_gap(opened) if _is_missing(opened) else _passes(opened)[-1]


def _windowed(schedule: Schedule, local: datetime, place: int, why: tuple[str, ...]) -> Start | None:
    """Adjust the start to the run window.

    A start outside it moves to the next opening if that is nearer than the last close, otherwise it is dropped.
    """
    slot = local
    if schedule.run_window is not None:
        opened = opening(schedule.run_window, local)
        if opened is None:
            return None
        if opened != local:
            local = opened
            why = (*why, f"moved to {schedule.run_window[0]:%H:%M}, when run_window opens")
    return Start(
        local.astimezone(UTC),
        local,
        why,
        _due(schedule.must_start, place, slot),
        _due(schedule.must_complete, place, slot),
    )


def _due(musts: tuple[Must, ...], place: int, slot: datetime) -> datetime | None:
    """Return when a must-time of the start at `slot` is due, in UTC; one relative time applies to every start."""
    if not musts or (place >= len(musts) and len(musts) > 1):
        return None
    must = musts[place if len(musts) > 1 else 0]
    if must.relative:
        return slot.astimezone(UTC) + must.offset
    midnight = datetime.combine(slot.date(), _MIDNIGHT)
    return (midnight + must.offset).replace(tzinfo=slot.tzinfo, fold=slot.fold).astimezone(UTC)


def _is_missing(local: datetime) -> bool:
    return local.astimezone(UTC).astimezone(local.tzinfo).replace(fold=0) != local.replace(fold=0)


def _passes(local: datetime) -> list[datetime]:
    """Return the instants at which a wall clock shows this time: two when the clocks go back."""
    second = local.replace(fold=1)
    return [local, second] if second.utcoffset() != local.utcoffset() else [local]


def _after_gap(local: datetime) -> datetime:
    """Return the end of the gap that contains `local`, plus as many seconds as its minutes."""
    before, after = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    if before is None or after is None:
        raise NoStartError(f"zone {local.tzinfo} has no offset at {local:%Y-%m-%d %H:%M}")
    low, high = local.astimezone(UTC) - abs(after - before), local.astimezone(UTC)
    while high - low > timedelta(
        seconds=1
    ):  # the change is in between; zone files contain it, but no interface returns it
        middle = low + (high - low) / 2
        if middle.astimezone(local.tzinfo).utcoffset() == low.astimezone(local.tzinfo).utcoffset():
            low = middle
        else:
            high = middle
    change = high.replace(microsecond=0)
    return (change + timedelta(seconds=local.minute)).astimezone(local.tzinfo)


def _nothing(schedule: Schedule, after: datetime, clock: Clock) -> str:
    name = schedule.run_calendar
    calendar = clock.calendars.get(name) if name else None
    if isinstance(calendar, Standard):
        if not calendar.days:
            return f"run_calendar {name} holds no dates"
        last = max(calendar.days)
        return f"run_calendar {name} has no start after {after:%Y-%m-%d %H:%M}; its last date is {last}"
    if schedule.run_window is not None:
        return "every start is outside run_window, nearer to its close than to its next opening"
    return f"no day within {_HORIZON} days qualifies"


def _minutes(at: time) -> int:
    return at.hour * 60 + at.minute
