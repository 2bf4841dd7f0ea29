"""Partitions: Dagster's definition, a run's parameters, and the partitions of inputs to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo

import dagster as dg

from headrace.declarations.declaration import Dynamic, Multi, Offset, Static, Time, Window
from headrace.declarations.row_key import partition_column
from headrace.execution.partitions import KEY_SEPARATORS, is_single_key
from headrace.execution.plan import PartitionPlan
from headrace.slas.calendars import UnknownCalendar, library_calendar

Definition = dg.PartitionsDefinition[str]

_DEFINITIONS: Mapping[str, Any] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}
# strftime for parsing `start`; the same as Dagster's key format.
_FORMATS = {"hourly": "%Y-%m-%d-%H:%M", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d", "monthly": "%Y-%m-%d"}


# The attributes that determine the partition keys.
PARTITION_SHAPE = frozenset(
    {"type", "start", "end", "timezone", "end_offset", "calendar", "keys", "name", "dimensions"}
)
_KNOWN_AHEAD = timedelta(days=366)  # how far closed days are computed, at each load


class PartitionProblem(ValueError):
    """Invalid partitions; `field` is the dotted path of the invalid field."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def partition_shape(partitions: Time | Static | Dynamic | Multi) -> dict[str, Any]:
    """Return what determines the partition keys, as JSON, from which another project builds the same partitions."""
    return partitions.model_dump(mode="json", exclude_defaults=True, include=set(PARTITION_SHAPE))


def partition_plan(partitions: Time | Static | Dynamic | Multi) -> PartitionPlan:
    """Build the plan of `partitions`.

    Raises PartitionProblem for a start that is not a date, a range without a column, and the like.
    """
    column = partition_column(partitions)
    if partitions.ranges and column is None:
        raise PartitionProblem(
            "ranges", "a range run needs `column`, which determines the partition of a row"
        )
    return PartitionPlan(definition=definition(partitions), column=column, ranges=partitions.ranges)


def definition(partitions: Time | Static | Dynamic | Multi) -> Definition:
    """Build Dagster's definition of `partitions`. Raises PartitionProblem."""
    if isinstance(partitions, Static):
        if len(set(partitions.keys)) < len(partitions.keys):
            raise PartitionProblem("keys", "a partition key occurs twice")
        _refuse_ambiguous(partitions.keys)
        try:
            return dg.StaticPartitionsDefinition(partitions.keys)
        except dg.DagsterError as error:
            raise PartitionProblem("keys", str(error)) from error
    if isinstance(partitions, Multi):
        found: dict[str, Definition] = {}
        for name, dimension in partitions.dimensions.items():
            if dimension.ranges:
                raise PartitionProblem(
                    f"dimensions.{name}.ranges",
                    "it applies to both dimensions: move it next to `dimensions`",
                )
            try:
                found[name] = definition(dimension)
            except PartitionProblem as problem:
                raise PartitionProblem(f"dimensions.{name}.{problem.field}", str(problem)) from problem
        try:
            return dg.MultiPartitionsDefinition(found)
        except dg.DagsterError as error:
            raise PartitionProblem("dimensions", str(error)) from error
    if isinstance(partitions, Dynamic):
        return dg.DynamicPartitionsDefinition(name=partitions.name)
    return _time_definition(
        partitions.type,
        partitions.start,
        partitions.end,
        partitions.timezone,
        partitions.end_offset,
        _closed_days(partitions),
    )


def _refuse_ambiguous(keys: Sequence[str]) -> None:
    """Raise PartitionProblem for a key with a character that separates keys: in commands, ranges and dimensions."""
    for key in keys:
        for separator, use in KEY_SEPARATORS.items():
            if separator in key:
                raise PartitionProblem(
                    "keys", f"{key!r} contains {separator!r}, which {use}; write another key"
                )
        if not is_single_key(key):
            raise PartitionProblem(
                "keys", f"{key!r} is empty, or has a tab, line break or other control character"
            )


def _closed_days(partitions: Time) -> tuple[datetime, ...]:
    """Return the midnights of the days on which the calendar is closed, as far as it is known."""
    if partitions.calendar is None:
        return ()
    if partitions.type != "daily":
        raise PartitionProblem("calendar", "only daily partitions have a calendar")
    day = _moment("start", partitions.type, partitions.start).date()
    last = (
        _moment("end", partitions.type, partitions.end).date() if partitions.end else _today() + _KNOWN_AHEAD
    )
    try:
        calendar = library_calendar(partitions.calendar)
        known = getattr(calendar, "last", last)
        days = (day + timedelta(days=n) for n in range((min(last, known) - day).days + 1))
        zone = ZoneInfo(partitions.timezone)
        return tuple(datetime.combine(each, time(), zone) for each in days if not calendar.is_open(each))
    except UnknownCalendar as error:
        raise PartitionProblem("calendar", str(error)) from error


def _today() -> date:
    return datetime.now(ZoneInfo("UTC")).date()


@cache
def _time_definition(
    length: str, start: str, end: str | None, timezone: str, end_offset: int, closed: tuple[datetime, ...]
) -> Definition:
    first = _moment("start", length, start)
    last = _moment("end", length, end) if end is not None else None
    if last is not None and last <= first:
        raise PartitionProblem("end", f"{end} is not after the start {start}")
    if length == "hourly" and not _has_whole_hours(timezone, first.year, (last or first).year + 10):
        raise PartitionProblem(
            "timezone",
            f"clock changes in {timezone} are not of a whole hour, so that its hours have no distinct keys; use UTC",
        )
    extra: dict[str, Any] = {} if end is None else {"end_date": end}
    if closed:
        extra["exclusions"] = closed
    return cast(
        "Definition",
        _DEFINITIONS[length](start_date=start, timezone=timezone, end_offset=end_offset, **extra),
    )


def _has_whole_hours(timezone: str, first: int, last: int) -> bool:
    """Return True if the zone's UTC offsets in these years differ by whole hours."""
    zone = ZoneInfo(timezone)
    offsets = {
        datetime(year, month, 1, tzinfo=zone).utcoffset()
        for year in range(first, last + 1)
        for month in range(1, 13)
    }
    return len({offset % timedelta(hours=1) for offset in offsets if offset is not None}) == 1


def _moment(field: str, length: str, text: str) -> datetime:
    try:
        return datetime.strptime(text, _FORMATS[length])  # noqa: DTZ007
    except ValueError as error:
        wanted = "2013-01-01-00:00" if length == "hourly" else "2013-01-01"
        raise PartitionProblem(
            field, f"{text!r} is not a {length} partition's start; write it as {wanted}"
        ) from error


Which = Literal["same", "all", "last", "previous"]


@cache
def partition_mapping(which: Which | Offset | Window) -> dg.PartitionMapping | None:
    """Build Dagster's mapping for an input's `partitions`; None is Dagster's default (`same`)."""
    if isinstance(which, Offset):
        return dg.TimeWindowPartitionMapping(start_offset=which.offset, end_offset=which.offset)
    if isinstance(which, Window):
        return dg.TimeWindowPartitionMapping(
            start_offset=1 - which.window, end_offset=0, allow_nonexistent_upstream_partitions=True
        )
    match which:
        case "all":
            return dg.AllPartitionMapping()
        case "last":
            return dg.LastPartitionMapping()
        case "previous":
            return dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
        case _:
            return None


def joint_mapping(mappings: Sequence[dg.PartitionMapping | None]) -> dg.PartitionMapping | None:
    """Combine the mappings of several inputs from the same dataset, since Dagster keeps one per dependency.

    For time steps it is the range from the earliest to the latest, for others every partition.
    """
    first = mappings[0]
    # By type as well: Dagster's mappings without fields are tuples, and equal to each other.
    if all(type(each) is type(first) and each == first for each in mappings):
        return first
    steps = [dg.TimeWindowPartitionMapping() if each is None else each for each in mappings]
    windows = [each for each in steps if isinstance(each, dg.TimeWindowPartitionMapping)]
    if len(windows) < len(steps):
        return dg.AllPartitionMapping()
    return dg.TimeWindowPartitionMapping(
        start_offset=min(each.start_offset for each in windows),
        end_offset=max(each.end_offset for each in windows),
        allow_nonexistent_upstream_partitions=any(
            each.allow_nonexistent_upstream_partitions for each in windows
        ),
    )
