"""Stale outputs: unpublished, or published from other code or inputs than a run would use now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from uuid import UUID

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.records import InputRequest
from headrace.errors import UnknownDataset
from headrace.execution.code_state import fingerprint
from headrace.execution.partitions import NoUpstreamPartition, previous_key, upstream_keys
from headrace.execution.pinning import input_request
from headrace.execution.plan import ProcessPlan
from headrace.publishing.pins import choose
from headrace.queries.pointers import fingerprints

PartitionKey = str | None


def stale_keys(
    graph: dg.AssetGraph,
    instance: dg.DagsterInstance,
    engine: Engine,
    plan: ProcessPlan,
    keys: Sequence[PartitionKey],
    coming: Mapping[str, Set[PartitionKey]],
) -> list[PartitionKey]:
    """Return those of `keys` that must and can be computed, after the runs that renew the partitions `coming`.

    Args:
        graph: the asset graph of the definitions.
        instance: Dagster's instance, which has dynamic partitions.
        engine: the catalog, which has the published versions and the inputs of a run.
        plan: the process.
        keys: its partitions to check; (None,) if unpartitioned.
        coming: by dataset, the partitions that earlier planned runs will publish.
    """
    needed = [_needed(graph, instance, plan, index, keys) for index in range(len(plan.inputs))]
    requests = [input_request(plan, index, by_output) for index, by_output in enumerate(needed)]
    try:
        chosen = choose(engine, requests)
    except UnknownDataset:
        return []  # an input without a valid declaration was never published
    readings = [
        _Reading(
            needed=by_output,
            versions={choice.version.partition: choice.version.version_id for choice in choices},
            coming=coming.get(item.dataset, frozenset()),
        )
        for item, by_output, choices in zip(plan.inputs, needed, chosen, strict=True)
    ]
    published = fingerprints(engine, [output.record.key for output in plan.outputs])
    if plan.own is not None and plan.partitions is not None:
        return _stale_in_sequence(engine, plan, plan.partitions.definition, readings, keys, published)
    # What an incremental dataset has taken in is of one input; the others are as they were when it was read.
    deciding = [
        reading
        for item, reading in zip(plan.inputs, readings, strict=True)
        if plan.incremental is None or item.alias == plan.incremental.input
    ]
    return [
        key
        for key in keys
        if not _waits(readings, key)
        and (_renewed(deciding, key) or not _current(plan, deciding, key, published))
    ]


def _stale_in_sequence(
    engine: Engine,
    plan: ProcessPlan,
    definition: dg.PartitionsDefinition[str],
    readings: Sequence[_Reading],
    keys: Sequence[PartitionKey],
    published: Mapping[tuple[str, PartitionKey], str | None],
) -> list[PartitionKey]:
    """Return the stale partitions of a dataset that reads its partition before: those after a stale one are stale."""
    dataset = plan.outputs[0].record.key
    before = {key: previous_key(definition, key or "") for key in keys}
    (chosen,) = choose(engine, [InputRequest(dataset, dataset, tuple(key for key in before.values() if key))])
    versions = {choice.version.partition: choice.version.version_id for choice in chosen}
    found: list[PartitionKey] = []
    for key in keys:
        own = _Reading({key: [before[key]] if before[key] else []}, versions, set(found))
        read = readings if before[key] is None else [*readings, own]
        if not _waits(read, key) and (_renewed(read, key) or not _current(plan, read, key, published)):
            found.append(key)
    return found


@dataclass(frozen=True, slots=True)
class _Reading:
    """One input: the partitions needed for each output key, the existing versions, and the coming partitions.

    needed: () means every existing partition; a missing entry, that a partition is needed which cannot exist.
    """

    needed: Mapping[PartitionKey, Sequence[PartitionKey]]
    versions: Mapping[PartitionKey, UUID]
    coming: Set[PartitionKey]

    def partitions(self, key: PartitionKey) -> Set[PartitionKey]:
        """Return the partitions that a run of `key` reads; empty if it cannot run."""
        if key not in self.needed:
            return frozenset()
        return frozenset(self.needed[key]) or self.versions.keys() | self.coming


def _waits(readings: Sequence[_Reading], key: PartitionKey) -> bool:
    """Return True if an input has nothing to read, or not all of it."""
    return any(
        not reading.partitions(key) or reading.partitions(key) - reading.versions.keys() - reading.coming
        for reading in readings
    )


def _renewed(readings: Sequence[_Reading], key: PartitionKey) -> bool:
    """Return True if an input is about to have a new version."""
    return any(reading.partitions(key) & reading.coming for reading in readings)


def _current(
    plan: ProcessPlan,
    readings: Sequence[_Reading],
    key: PartitionKey,
    published: Mapping[tuple[str, PartitionKey], str | None],
) -> bool:
    """Return True if every output is published, by this code from the current versions."""
    inputs = [reading.versions[needed] for reading in readings for needed in reading.partitions(key)]
    expected = fingerprint(plan.record.code_version, inputs)
    return all(published.get((output.record.key, key)) == expected for output in plan.outputs)


def _needed(
    graph: dg.AssetGraph,
    instance: dg.DagsterInstance,
    plan: ProcessPlan,
    index: int,
    keys: Sequence[PartitionKey],
) -> dict[PartitionKey, tuple[PartitionKey, ...]]:
    """Return `upstream_keys`, without the keys that read a partition which cannot exist."""
    try:
        return upstream_keys(graph, instance, plan, plan.inputs[index], keys)
    except NoUpstreamPartition:
        if len(keys) == 1:
            return {}
        return {
            key: wanted
            for one in keys
            for key, wanted in _needed(graph, instance, plan, index, [one]).items()
        }
