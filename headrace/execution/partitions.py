"""The partitions of a run: parameters for its transform, and the partitions of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import dagster as dg
from dagster import TimeWindowPartitionsDefinition

from headrace.dagster_internals import (
    BaseAssetGraph,
    DynamicPartitionsStore,
    infer_partition_mapping,
    partition_loading_context,
)
from headrace.execution.plan import InputPlan, PartitionPlan, ProcessPlan
from headrace.execution.problems import UnknownParameter

# Metadata of a stub for a dataset with unknown partitions, because its declaration is invalid.
UNKNOWN_PARTITIONS = "partitions_unknown"

# Characters with a meaning in commands, ranges and dimensions, so that no key has them.
KEY_SEPARATORS = {
    "...": "separates the ends of a range",
    ",": "separates keys in lists",
    "|": "separates the keys of two dimensions",
}

Key = str | None
Definition = dg.PartitionsDefinition[str]


class NoUpstreamPartition(Exception):
    """A partition reads an input partition that is unknown, or outside the input's first and last."""


class RangeRefused(Exception):
    """A run of several partitions of a process that computes one at a time."""


def is_single_key(key: str) -> bool:
    """Return True if the text can be a key: printable, and without separators."""
    return bool(key.strip()) and key.isprintable() and not any(each in key for each in KEY_SEPARATORS)


def separator_in(definition: Definition, key: str) -> str | None:
    """Return the separator in a text because of which it cannot be a key; None if there is none."""
    is_multiple = isinstance(
        definition, dg.MultiPartitionsDefinition
    )  # in whose keys `|` separates dimensions
    return next((each for each in KEY_SEPARATORS if each in key and not (is_multiple and each == "|")), None)


def may_have_key(definition: Definition, key: str) -> bool:
    """Return True if the definition has the key, or would have it once it is added to a dynamic one."""
    if isinstance(definition, dg.DynamicPartitionsDefinition):
        return is_single_key(key)
    if isinstance(definition, dg.MultiPartitionsDefinition):
        # Dagster orders the parts of a key by the names of their dimensions.
        dimensions = sorted(definition.partitions_defs, key=lambda each: each.name)
        parts = key.split("|")
        return len(parts) == len(dimensions) and all(
            may_have_key(dimension.partitions_def, part)
            for dimension, part in zip(dimensions, parts, strict=True)
        )
    return definition.has_partition_key(key)


def parameters_of(plan: PartitionPlan | None) -> frozenset[str]:
    """Return the parameter names of `sql_parameters`."""
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
    """Parameters by name; an unknown one raises UnknownParameter with the existing names."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        several = name == "partition_key" and "partition_keys" in self
        raise UnknownParameter(
            f"the run has no parameter {name!r}{', as `ranges: true` lets it have several keys' if several else ''};"
            f" it has: {', '.join(self) or 'none'}"
        )


def sql_parameters(plan: PartitionPlan | None, keys: Sequence[Key]) -> Mapping[str, Any]:
    """Return the parameters of a transform: partition_keys, partition_start, partition_end, and partition_key.

    Start and end exist for a time dimension: the first partition's start and the last one's end (exclusive), as dates,
    or as instants for hourly partitions and in time zones other than UTC. partition_key exists if no run has several
    keys. Accessing another parameter raises UnknownParameter; raises RangeRefused for several keys without `ranges`.
    """
    if plan is None:
        return _Parameters()
    named = [key for key in keys if key is not None]
    values = _Parameters(partition_keys=named)
    if not plan.ranges:
        if len(named) > 1:
            raise RangeRefused(
                f"the run has {len(named)} partitions, and the declaration allows one at a time; set `ranges: true` in"
                " `partitions` if each row is the same either way"
            )
        values["partition_key"] = named[0]
    time, time_keys = _time_part(plan.definition, named)
    if time is not None and time_keys:
        starts = sorted(time_keys)
        # Spark's sessions are in UTC, where a date is its midnight. Elsewhere a day starts at another instant.
        moment = _as_date if ":" not in starts[0] and time.timezone == "UTC" else _as_timestamp
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


def previous_key(definition: Definition, key: str) -> str | None:
    """Return the key of the time partition before `key`; None for the first."""
    assert isinstance(definition, TimeWindowPartitionsDefinition)  # noqa: S101 - checked when it was declared
    before = definition.get_prev_partition_window(definition.time_window_for_partition_key(key).start)
    return None if before is None else definition.get_partition_key_for_timestamp(before.start.timestamp())


def starts_of(graph: BaseAssetGraph[Any], dataset: str, keys: Sequence[str]) -> dict[str, datetime]:
    """Return the start of each of these partitions that is a time partition of the dataset."""
    definition = graph.get(dg.AssetKey.from_user_string(dataset)).partitions_def
    if not isinstance(definition, TimeWindowPartitionsDefinition):
        return {}
    starts: dict[str, datetime] = {}
    for key in dict.fromkeys(keys):
        with suppress(ValueError):  # a key of an earlier declaration
            starts[key] = definition.time_window_for_partition_key(key).start
    return starts


def upstream_keys(
    graph: BaseAssetGraph[Any],
    instance: DynamicPartitionsStore,
    plan: ProcessPlan,
    item: InputPlan,
    keys: Sequence[Key],
) -> dict[Key, tuple[Key, ...]]:
    """Return, for each partition key of a run, the partition keys of the input `item` that it reads.

    (None,) for an unpartitioned input; () if it reads every published partition. A run without partitions has the
    single key None. Raises NoUpstreamPartition for a partition that cannot exist.
    """
    node = graph.get(dg.AssetKey.from_user_string(item.dataset))
    downstream = plan.partitions.definition if plan.partitions else None
    if UNKNOWN_PARTITIONS in node.metadata:
        if downstream is None or isinstance(item.mapping, dg.AllPartitionMapping):
            return dict.fromkeys(keys, ())
        raise NoUpstreamPartition(
            f"{plan.record.key} reads partitions of {item.dataset}, whose declaration is so invalid that its "
            "partitions are unknown. `headrace check` lists the errors."
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
            f" All input partitions must exist: limit {plan.record.key} to the partitions of its input, or give"
            " the input `partitions: {window: ...}`, which reads the existing ones."
        )
    return found
