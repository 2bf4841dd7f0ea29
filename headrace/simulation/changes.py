"""Changes of an estate, of its runs and of its surroundings, to see what they would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headrace.autosys import Clock
from headrace.autosys.calendars import Standard
from headrace.durations import Duration, parse_duration
from headrace.simulation.definitions import Definition
from headrace.simulation.engine import Effort, Efforts, Simulation
from headrace.simulation.playing import Scene
from headrace.simulation.statuses import Status

Kind = Literal[
    "slower", "late", "failed", "on_ice", "on_hold", "noexec", "spark", "machine_lost", "calendar", "variable",
    "volume", "clock_change",
]  # fmt: skip
_FIELDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(needed.split()), frozenset(allowed.split()))
    for kind, needed, allowed in (
        ("slower", "job", "factor by"),
        ("late", "job", "by until"),
        ("failed", "job", "exit_code times"),
        ("on_ice", "job", ""),
        ("on_hold", "job", ""),
        ("noexec", "job", ""),
        ("spark", "job takes", ""),
        ("machine_lost", "machine at", "until"),
        ("calendar", "calendar", "add remove"),
        ("variable", "variable value", "at"),
        ("volume", "factor", "job"),
        ("clock_change", "at by", ""),
    )
}
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "slower": ("factor", "by"), "late": ("by", "until"), "calendar": ("add", "remove"),
}  # fmt: skip
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_MAX_CLOCK_CHANGE = timedelta(hours=9)  # no zone is a day or more from UTC after it
_STATUSES = {"on_ice": Status.ON_ICE, "on_hold": Status.ON_HOLD}


def _signed(value: object) -> object:
    if isinstance(value, str) and value.startswith("-"):
        return -parse_duration(value[1:])
    return parse_duration(value)


def _within_zones(value: datetime | None) -> datetime | None:
    """Refuse the first and last years that Python has: in another zone they are outside of it."""
    if value is not None and not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise ValueError(f"the year is not within {_FIRST_YEAR} and {_LAST_YEAR}")
    return value


_Time = Annotated[datetime, AfterValidator(_within_zones)]


class Change(BaseModel):
    """One entry of a what-if file.

    job: a name, or a pattern with `*`. by: longer, later, or by how much clocks go forward (back with `-`). until: not
    before then. times: how many attempts fail; all by default. Times without an offset are in the server's zone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: Kind
    job: str | None = None
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    by: Annotated[timedelta, BeforeValidator(_signed)] | None = None
    until: _Time | None = None
    at: _Time | None = None
    exit_code: Annotated[int, Field(ge=1)] | None = None
    times: Annotated[int, Field(ge=1)] | None = None
    takes: Duration | None = None
    machine: str | None = None
    calendar: str | None = None
    add: tuple[date, ...] | None = None
    remove: tuple[date, ...] | None = None
    variable: str | None = None
    value: str | None = None

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> Change:
        needed, allowed = _FIELDS[self.change]
        empty = sorted(name for name in self.model_fields_set if getattr(self, name) is None)
        if empty:
            raise ValueError(f"`{empty[0]}` has no value")
        given = self.model_fields_set - {"change"}
        if missing := sorted(needed - given):
            raise ValueError(f"{self.change} needs {' and '.join(f'`{name}`' for name in missing)}")
        if wrong := sorted(given - needed - allowed):
            raise ValueError(f"{self.change} has no field `{wrong[0]}`")
        if (choice := _ONE_OF.get(self.change)) and given.isdisjoint(choice):
            raise ValueError(f"{self.change} needs {' or '.join(f'`{name}`' for name in choice)}")
        if self.change == "clock_change" and self.by is not None and abs(self.by) > _MAX_CLOCK_CHANGE:
            raise ValueError("`by` is more than 9 hours: clocks change by less")
        if self.at is not None and self.until is not None and not _is_before(self.at, self.until):
            raise ValueError("`until` is not after `at`")
        return self


def unknown_names(change: Change, scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield the fields of a change that name something that the estate lacks, each with the problem."""
    if change.job is not None and not any(_is_of(change, name) for name in scene.definitions):
        yield "job", f"no job {change.job} is in the estate"
    if change.machine is not None and not any(
        change.machine in each.machines for each in scene.definitions.values()
    ):
        yield "machine", f"no job names machine {change.machine}"
    if change.calendar is not None and change.calendar not in scene.clock.calendars:
        known = ", ".join(sorted(scene.clock.calendars)[:10]) or "none"
        yield "calendar", f"calendar {change.calendar} is in no export; there are {known}"


def changed_scene(scene: Scene, changes: Sequence[Change], since: datetime) -> Scene:
    """Return the scene with the changes of definitions, calendars and clocks."""
    definitions = dict(scene.definitions)
    for change in changes:
        for name in [each for each in definitions if change.job is not None and _is_of(change, each)]:
            definitions[name] = _changed(definitions[name], change)
    return replace(scene, definitions=definitions, clock=_changed_clock(scene.clock, changes, since))


def plan(simulation: Simulation, changes: Iterable[Change], since: datetime, zone: tzinfo) -> None:
    """Plan the changes that happen at a time."""
    for change in changes:
        at = _instant(change.at, zone) if change.at is not None else since
        if change.machine is not None:
            simulation.take_machine(at, change.machine, offline=True)
            if change.until is not None:
                simulation.take_machine(_instant(change.until, zone), change.machine, offline=False)
        if change.variable is not None:
            simulation.set_variable(at, change.variable, change.value or "")


@dataclass(frozen=True, slots=True)
class ChangedEfforts:
    """The runs of a period as changes make them; those before it, and of other jobs, go as in `base`."""

    base: Efforts
    changes: tuple[Change, ...]
    since: float
    zone: tzinfo

    def of(self, definition: Definition, started_at: float, attempt: int) -> Effort:
        """Return how the run goes."""
        effort = self.base.of(definition, started_at, attempt)
        if started_at < self.since:
            return effort
        for change in self.changes:
            if (change.change == "volume" and change.job is None) or _is_of(change, definition.name):
                effort = self._changed(effort, change, started_at, attempt)
        return effort

    def _changed(self, effort: Effort, change: Change, started_at: float, attempt: int) -> Effort:
        seconds, code, status = effort
        if change.change == "failed" and attempt <= (change.times or attempt):
            code, status = change.exit_code or 1, None
        if change.change == "spark" and change.takes is not None:
            seconds = change.takes.total_seconds()
        if change.factor is not None and seconds is not None:
            seconds *= change.factor
        if change.by is not None:
            seconds = (seconds or 0.0) + change.by.total_seconds()
        if change.change == "late" and change.until is not None:
            seconds = max(seconds or 0.0, _instant(change.until, self.zone).timestamp() - started_at)
        return Effort(None if seconds is None else max(seconds, 0.0), code, status)


class ChangedZone(tzinfo):
    """A zone whose clocks go forward by `by` (back if it is negative) at an instant, and stay so."""

    def __init__(self, base: tzinfo, at: datetime, by: timedelta) -> None:
        self._base, self._at, self._by = base, at.astimezone(UTC), by

    def utcoffset(self, moment: datetime | None) -> timedelta:
        """Return the offset; in a repeated or missing hour it depends on the fold, as for any zone."""
        before = self._offset(moment)
        if moment is None:
            return before
        local = moment.replace(tzinfo=UTC)
        was_before, was_after = local - before < self._at, local - before - self._by >= self._at
        if was_before != was_after:
            return before if was_before else before + self._by
        return before if moment.fold == 0 else before + self._by

    def dst(self, moment: datetime | None) -> timedelta | None:
        """Return the daylight-saving part of the zone that is changed."""
        return self._base.dst(None if moment is None else moment.replace(tzinfo=self._base))

    def tzname(self, moment: datetime | None) -> str:
        """Return the name of the zone that is changed, as its clocks are changed."""
        return f"{self._base.tzname(moment and moment.replace(tzinfo=self._base)) or self._base}*"

    def fromutc(self, moment: datetime) -> datetime:
        """Return the local time of an instant."""
        instant = moment.replace(tzinfo=UTC)
        local = instant.astimezone(self._base).replace(tzinfo=self)
        if instant < self._at:
            return local.replace(fold=0)
        return (local + self._by).replace(fold=1 if instant < self._at - self._by else 0)

    def _offset(self, moment: datetime | None) -> timedelta:
        return self._base.utcoffset(moment and moment.replace(tzinfo=self._base)) or timedelta()

    def __str__(self) -> str:
        return f"{self._base} with changed clocks"


def _is_of(change: Change, name: str) -> bool:
    return change.job is not None and (name == change.job or fnmatchcase(name, change.job))


def _changed(definition: Definition, change: Change) -> Definition:
    if change.change in _STATUSES:
        return replace(definition, status=_STATUSES[change.change])
    if change.change == "noexec":
        return replace(definition, is_bypassed=True)
    if change.change == "spark":
        return replace(definition, machines=(), load=0, priority=0, term_run_time=None)
    return definition


def _changed_clock(clock: Clock, changes: Iterable[Change], since: datetime) -> Clock:
    calendars, zone = dict(clock.calendars), clock.zone
    for change in changes:
        if change.calendar is not None:
            calendars[change.calendar] = _changed_calendar(clock, change, since)
        if change.change == "clock_change" and change.at is not None and change.by is not None:
            zone = ChangedZone(zone, _instant(change.at, zone), change.by)
    return Clock(zone, calendars, clock.cycles)


def _changed_calendar(clock: Clock, change: Change, since: datetime) -> Standard:
    """Return the calendar as a list of dates. Raises UncertainError if the rules of the present one are uncertain."""
    name, day = str(change.calendar), since.date()
    days = dict(clock.dates(name, day - timedelta(days=31), day + timedelta(days=400)))
    days.update(dict.fromkeys(change.add or (), (time(),)))
    for gone in change.remove or ():
        days.pop(gone, None)
    return Standard(name, days)


def _is_before(at: datetime, until: datetime) -> bool:
    """Return whether a time is before another; one of them with an offset and the other without are not compared."""
    return (at.tzinfo is None) != (until.tzinfo is None) or at < until


def _instant(at: datetime, zone: tzinfo) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)
