"""Partitions: Dagster's definition, the parameters of a run, and which partitions of its inputs it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, cast

import dagster as dg
from dagster import TimeWindowPartitionsDefinition
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.utils.mapping import infer_partition_mapping
from dagster._core.instance import DynamicPartitionsStore

from components.declaration import Multi, Offset, Static, Time, Window
from components.plan import InputPlan, PartitionPlan, ProcessPlan
from components.problems import UnknownParameter
from components.row_key import partition_column

# In the metadata of a stub for a dataset of which nobody can say how it is divided.
UNKNOWN_PARTITIONS = "partitions_unknown"

Key = str | None
Definition = dg.PartitionsDefinition[str]

_DEFINITIONS: Mapping[str, Any] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}
# strftime for parsing `start`; the same as Dagster's key format.
_FORMATS = {"hourly": "%Y-%m-%d-%H:%M", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d", "monthly": "%Y-%m-%d"}


class NoUpstreamPartition(Exception):
    """A partition reads a partition of an input that lies before the input's first or after its last, or is unknown."""


class RangeRefused(Exception):
    """A run of several partitions of a process that computes one at a time."""


class PartitionProblem(ValueError):
    """Partitions that cannot be; `field` is the dotted path within the partitions that is wrong."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def partition_plan(partitions: Time | Static | Multi) -> PartitionPlan:
    """What `partitions` comes to.

    Raises PartitionProblem for a start that is no date, a range without a column, and the like.
    """
    column = partition_column(partitions)
    if partitions.ranges and column is None:
        raise PartitionProblem(
            "ranges", "a range run needs `column`, to tell which partition a row belongs to"
        )
    return PartitionPlan(definition=definition(partitions), column=column, ranges=partitions.ranges)


def definition(partitions: Time | Static | Multi) -> Definition:
    """Dagster's definition of `partitions`. Raises PartitionProblem."""
    if isinstance(partitions, Static):
        if len(set(partitions.keys)) < len(partitions.keys):
            raise PartitionProblem("keys", "a partition key comes twice")
        return dg.StaticPartitionsDefinition(partitions.keys)
    if isinstance(partitions, Multi):
        found: dict[str, Definition] = {}
        for name, dimension in partitions.dimensions.items():
            if dimension.ranges:
                raise PartitionProblem(
                    f"dimensions.{name}.ranges", "it is about both dimensions; write it beside `dimensions`"
                )
            try:
                found[name] = definition(dimension)
            except PartitionProblem as problem:
                raise PartitionProblem(f"dimensions.{name}.{problem.field}", str(problem)) from problem
        return dg.MultiPartitionsDefinition(found)
    return _time_definition(
        partitions.type, partitions.start, partitions.end, partitions.timezone, partitions.end_offset
    )


@cache
def _time_definition(length: str, start: str, end: str | None, timezone: str, end_offset: int) -> Definition:
    first = _moment("start", length, start)
    last = _moment("end", length, end) if end is not None else None
    if last is not None and last <= first:
        raise PartitionProblem("end", f"{end} is not after the start {start}")
    extra = {} if end is None else {"end_date": end}
    return cast(
        "Definition",
        _DEFINITIONS[length](start_date=start, timezone=timezone, end_offset=end_offset, **extra),
    )


def _moment(field: str, length: str, text: str) -> datetime:
    try:
        return datetime.strptime(text, _FORMATS[length])  # noqa: DTZ007
    except ValueError as error:
        wanted = "2013-01-01-00:00" if length == "hourly" else "2013-01-01"
        raise PartitionProblem(
            field, f"{text!r} is not a {length} partition's start; write it as {wanted}"
        ) from error


def parameters_of(plan: PartitionPlan | None) -> frozenset[str]:
    """The names that `sql_parameters` has values for."""
    if plan is None:
        return frozenset()
    times = _time_part(plan.definition, [])[0] is not None
    return frozenset(
        {
            "partition_keys",
            *(() if plan.ranges else ("partition_key",)),
            *(("partition_start", "partition_end") if times else ()),
        }
    )


class _Parameters(dict[str, Any]):
    """Parameters by name; one that is not there raises UnknownParameter with those that are."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        several = name == "partition_key" and "partition_keys" in self
        raise UnknownParameter(
            f"the run has no parameter {name!r}{', as `ranges: true` lets it have several keys' if several else ''};"
            f" it has: {', '.join(self) or 'none'}"
        )


def sql_parameters(plan: PartitionPlan | None, keys: Sequence[Key]) -> Mapping[str, Any]:
    """The values that a transform sees: partition_keys, partition_start, partition_end, and partition_key.

    Start and end exist where a dimension is time: the first partition's start and the last one's end (exclusive), as
    dates, or as timestamps where the partitions are hourly. partition_key exists where no run has several keys.
    Raises UnknownParameter when it is asked for another, RangeRefused where there must not be several keys and are.
    """
    if plan is None:
        return _Parameters()
    named = [key for key in keys if key is not None]
    values = _Parameters(partition_keys=named)
    if not plan.ranges:
        if len(named) > 1:
            raise RangeRefused(
                f"the run has {len(named)} partitions, and the declaration allows one at a time; say `ranges: true` in"
                " `partitions` if each row comes out the same either way"
            )
        values["partition_key"] = named[0]
    time, time_keys = _time_part(plan.definition, named)
    if time is not None and time_keys:
        starts = sorted(time_keys)
        moment = _as_timestamp if ":" in starts[0] else _as_date
        values["partition_start"] = moment(time.time_window_for_partition_key(starts[0]).start)
        values["partition_end"] = moment(time.time_window_for_partition_key(starts[-1]).end)
    return values


def _time_part(
    definition: Definition, keys: Sequence[str]
) -> tuple[TimeWindowPartitionsDefinition | None, list[str]]:
    if isinstance(definition, TimeWindowPartitionsDefinition):
        return definition, list(keys)
    if isinstance(definition, dg.MultiPartitionsDefinition):
        names = [dimension.name for dimension in definition.partitions_defs]
        for index, dimension in enumerate(definition.partitions_defs):
            if isinstance(dimension.partitions_def, TimeWindowPartitionsDefinition):
                place = sorted(names).index(names[index])
                return dimension.partitions_def, [key.split("|")[place] for key in keys]
    return None, []


def _as_date(moment: datetime) -> date:
    return moment.date()


def _as_timestamp(moment: datetime) -> datetime:
    return moment


Which = Literal["same", "all", "last", "previous"]


@cache
def partition_mapping(which: Which | Offset | Window) -> dg.PartitionMapping | None:
    """Dagster's mapping for what an input says of its partitions; None is Dagster's default (`same`)."""
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
    """One mapping to all that several read of the same dataset, since Dagster keeps one for each dependency.

    Of steps in time it is the whole stretch from the earliest to the latest, of others every partition.
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


def upstream_keys(
    graph: BaseAssetGraph[Any],
    instance: DynamicPartitionsStore,
    plan: ProcessPlan,
    item: InputPlan,
    keys: Sequence[Key],
) -> dict[Key, tuple[Key, ...]]:
    """For each partition key of a run, the partition keys of the input `item` that it reads.

    (None,) where the input is not partitioned; () where it reads every partition that is published. A run without
    partitions has the one key None. Raises NoUpstreamPartition where a partition that is read cannot exist.
    """
    node = graph.get(dg.AssetKey.from_user_string(item.dataset))
    downstream = plan.partitions.definition if plan.partitions else None
    if UNKNOWN_PARTITIONS in node.metadata:
        if downstream is None or isinstance(item.mapping, dg.AllPartitionMapping):
            return dict.fromkeys(keys, ())
        raise NoUpstreamPartition(
            f"{plan.record.key} reads partitions of {item.dataset}, and the declaration of that is so wrong that"
            " nobody can say which there are. `headrace check` says what to put right."
        )
    upstream = node.partitions_def
    if upstream is None:
        return dict.fromkeys(keys, (None,))
    mapping = infer_partition_mapping(item.mapping, downstream, upstream)
    if isinstance(mapping, dg.AllPartitionMapping):
        return dict.fromkeys(keys, ())
    same = isinstance(mapping, dg.IdentityPartitionMapping) or mapping == dg.TimeWindowPartitionMapping()
    if downstream == upstream and same:
        return {key: (key,) for key in keys}
    with partition_loading_context(dynamic_partitions_store=instance):
        return {key: _mapped(mapping, plan, item, upstream, key) for key in keys}


def _mapped(
    mapping: dg.PartitionMapping, plan: ProcessPlan, item: InputPlan, upstream: Definition, key: Key
) -> tuple[Key, ...]:
    downstream = plan.partitions.definition if plan.partitions else None
    subset = None if downstream is None or key is None else downstream.subset_with_partition_keys([key])
    result = mapping.get_upstream_mapped_partitions_result_for_partitions(subset, downstream, upstream)
    missing = sorted(result.required_but_nonexistent_subset.get_partition_keys())
    found = tuple(sorted(result.partitions_subset.get_partition_keys()))
    if missing or not found:
        wanted = ", ".join(missing) or "a partition"
        existing = upstream.get_partition_keys()
        there = (
            f"its partitions are {existing[0]} to {existing[-1]}" if existing else "it has no partition yet"
        )
        raise NoUpstreamPartition(
            f"{plan.record.key}, partition {key}, reads {wanted} of {item.dataset}, which does not exist: {there}."
            f" All that is read must exist: let {plan.record.key} begin and end where there is what it reads, or give"
            " the input `partitions: {window: ...}`, which takes what there is."
        )
    return found
