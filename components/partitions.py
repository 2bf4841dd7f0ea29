"""Partitions: Dagster's definition, the column that tells a row's key, SQL parameters, and what an input's keys are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import dagster as dg
from dagster import TimeWindowPartitionsDefinition
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.utils.mapping import infer_partition_mapping
from dagster._core.instance import DynamicPartitionsStore

from components.declaration import Multi, Offset, Static, Time, Window
from components.plan import InputPlan, PartitionPlan, ProcessPlan

if TYPE_CHECKING:
    from pyspark.sql import Column

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
    """A partition reads one of an input's partitions that lies before the input's first or after its last."""


class PartitionProblem(ValueError):
    """Partitions that cannot be; `field` is the dotted path within the partitions that is wrong."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def partition_plan(partitions: Time | Static | Multi, single_key_only: bool = False) -> PartitionPlan:
    """What `partitions` comes to.

    single_key_only: the code asks for one key at a time (`:partition_key`), so that ranges are off unless asked for.
    Raises PartitionProblem for a start that is no date, a range without a column, and the like.
    """
    column = partition_column(partitions)
    ranges = partitions.ranges
    if ranges and column is None:
        raise PartitionProblem(
            "ranges", "a range run needs `column`, to tell which partition a row belongs to"
        )
    if ranges and single_key_only:
        raise PartitionProblem(
            "ranges",
            "the SQL uses :partition_key, which a range does not have; use :partition_start and :partition_end",
        )
    return PartitionPlan(
        definition=definition(partitions),
        column=column,
        ranges=(column is not None and not single_key_only) if ranges is None else ranges,
    )


def definition(partitions: Time | Static | Multi) -> Definition:
    """Dagster's definition of `partitions`. Raises PartitionProblem."""
    if isinstance(partitions, Static):
        if len(set(partitions.keys)) < len(partitions.keys):
            raise PartitionProblem("keys", "a partition key comes twice")
        return dg.StaticPartitionsDefinition(partitions.keys)
    if isinstance(partitions, Multi):
        found: dict[str, Definition] = {}
        for name, dimension in partitions.dimensions.items():
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


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A row's partition key, made from the columns of the dimensions (one, where there is one dimension)."""

    dimensions: tuple[Time | Static, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(cast("str", dimension.column) for dimension in self.dimensions)

    def __call__(self) -> Column:
        """The key as a Spark column of strings."""
        from pyspark.sql import functions as f

        parts = [_key_of(dimension) for dimension in self.dimensions]
        return parts[0] if len(parts) == 1 else f.concat_ws("|", *parts)


def partition_column(partitions: Time | Static | Multi) -> KeyColumn | None:
    """The column that tells a row's partition, or None where the declaration names none."""
    if isinstance(partitions, Multi):
        # Dagster writes a two-dimensional key with its dimensions in the order of their names.
        dimensions = tuple(partitions.dimensions[name] for name in sorted(partitions.dimensions))
    else:
        dimensions = (partitions,)
    return KeyColumn(dimensions) if all(dimension.column for dimension in dimensions) else None


def _key_of(dimension: Time | Static) -> Column:
    from pyspark.sql import functions as f

    column = f.col(cast("str", dimension.column))
    if isinstance(dimension, Static):
        return column.cast("string")
    zone = f.lit(dimension.timezone)
    # A timestamp is an instant and has to be read in the partitions' zone; a date is already local.
    local = f.when(
        f.typeof(column) == "timestamp",
        f.from_utc_timestamp(f.to_utc_timestamp(column.cast("timestamp"), f.current_timezone()), zone),
    ).otherwise(column.cast("timestamp"))
    if dimension.type == "hourly":
        return f.date_format(local, "yyyy-MM-dd-HH:00")
    day = local.cast("date")
    if dimension.type == "weekly":
        # Dagster's weeks begin on Sunday, which Spark numbers 1.
        day = f.date_sub(day, f.dayofweek(day) - 1)
    elif dimension.type == "monthly":
        day = f.trunc(day, "month")
    return f.date_format(day, "yyyy-MM-dd")


PARAMETERS = frozenset({"partition_key", "partition_keys", "partition_start", "partition_end"})
_KEYS = frozenset({"partition_key", "partition_keys"})


def parameters_of(plan: PartitionPlan | None) -> frozenset[str]:
    """The names that `sql_parameters` has values for."""
    if plan is None:
        return frozenset()
    return PARAMETERS if _time_part(plan.definition, [])[0] is not None else _KEYS


def sql_parameters(plan: PartitionPlan | None, keys: Sequence[Key]) -> Mapping[str, Any]:
    """The values that SQL sees: :partition_key (one key only), :partition_keys, :partition_start, :partition_end.

    Start and end exist where a dimension is time: the first partition's start and the last one's end (exclusive), as
    dates, or as timestamps where the partitions are hourly.
    """
    if plan is None:
        return {}
    named = [key for key in keys if key is not None]
    values: dict[str, Any] = {"partition_keys": named}
    if len(named) == 1:
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
    upstream = graph.get(dg.AssetKey.from_user_string(item.dataset)).partitions_def
    if upstream is None:
        return dict.fromkeys(keys, (None,))
    downstream = plan.partitions.definition if plan.partitions else None
    mapping = infer_partition_mapping(item.mapping, downstream, upstream)
    if isinstance(mapping, dg.AllPartitionMapping):
        return dict.fromkeys(keys, ())
    if downstream == upstream and mapping in (dg.IdentityPartitionMapping(), dg.TimeWindowPartitionMapping()):
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
        raise NoUpstreamPartition(
            f"{plan.record.key}, partition {key}, reads {wanted} of {item.dataset}, which does not exist: it has"
            f" {str(upstream).rstrip('.')}. Let {plan.record.key} begin where there is what it reads, or give the"
            " input `partitions: {window: ...}`, which takes what there is."
        )
    return found
