"""Plan and launch materializations: which runs a selection needs, in which order.

Processes with the same partitions share a Dagster run. Up-to-date ones can be omitted (jobs.staleness).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby
from typing import Any

import dagster as dg
from sqlalchemy import Engine

from headrace.dagster_internals import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
    BaseAssetGraph,
    DagsterInvalidAssetSelectionError,
    partition_loading_context,
)
from headrace.execution.plan import FULL_REFRESH_TAG, ProcessPlan
from headrace.orchestration.staleness import PartitionKey, stale_keys

UNPARTITIONED: tuple[PartitionKey, ...] = (None,)


class InvalidSelection(Exception):
    """A selection without matches, or partitions that the selected datasets do not have."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned Dagster run: processes in dependency order, and their partitions ((None,) if unpartitioned).

    Several partitions are consecutive, and are computed as one range. full_refresh: datasets that grow are computed
    from nothing.
    """

    plans: tuple[ProcessPlan, ...]
    partitions: tuple[PartitionKey, ...] = UNPARTITIONED
    full_refresh: bool = False

    @property
    def assets(self) -> list[dg.AssetKey]:
        """The assets that the run materializes."""
        return [output.key for plan in self.plans for output in plan.outputs]

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags by which Dagster knows a run's partitions, and the run that it computes from nothing."""
        first, last = self.partitions[0], self.partitions[-1]
        if first is None or last is None:
            return {FULL_REFRESH_TAG: "true"} if self.full_refresh else {}
        if first == last:
            return {PARTITION_NAME_TAG: first}
        return {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}


def select(
    definitions: dg.Definitions, plans: Sequence[ProcessPlan], selection: Sequence[str]
) -> list[ProcessPlan]:
    """Return the processes of the assets in Dagster's selection syntax, in dependency order.

    Raises InvalidSelection if it matches nothing that Headrace computes.
    """
    graph = definitions.resolve_asset_graph()
    try:
        chosen = dg.AssetSelection.from_coercible(list(selection)).resolve(graph)
    except dg.DagsterInvalidSubsetError as error:
        raise InvalidSelection("; ".join(_unknown(graph, selection)) or str(error)) from error
    except DagsterInvalidAssetSelectionError as error:
        raise InvalidSelection(
            f"{error}; write dataset keys, or Dagster's selection syntax such as 'key:\"flights/*\"'"
        ) from error
    found = [plan for plan in plans if any(output.key in chosen for output in plan.outputs)]
    if not found:
        raise InvalidSelection(
            f"{', '.join(selection)} names no dataset that Headrace computes. `headrace datasets` lists datasets."
        )
    place = {key: position for position, key in enumerate(graph.toposorted_asset_keys)}
    return sorted(found, key=lambda plan: max(place[output.key] for output in plan.outputs))


def plan_runs(
    graph: dg.AssetGraph,
    instance: dg.DagsterInstance,
    plans: Sequence[ProcessPlan],
    partitions: tuple[str, str] | None = None,
    stale_in: Engine | None = None,
    *,
    full_refresh: bool = False,
) -> list[PlannedRun]:
    """Plan the runs that materialize `plans` (in dependency order), each with as many processes and partitions as
    possible.

    Args:
        graph: the asset graph of the definitions.
        instance: Dagster's instance, which has dynamic partitions.
        plans: the result of `select`.
        partitions: first and last key to materialize, inclusive; None for all existing ones.
        stale_in: omit what is up to date in this catalog, and what waits for an unpublished input.
        full_refresh: compute datasets that grow from nothing.

    Raises InvalidSelection if a partitioned dataset does not have the keys or has them in the other order, and for keys
    without a partitioned dataset.
    """
    if partitions is not None and all(plan.partitions is None for plan in plans):
        names = ", ".join(output.record.key for plan in plans for output in plan.outputs)
        raise InvalidSelection(f"{names} is not partitioned. Omit the partition.")
    runs: list[PlannedRun] = []
    coming: dict[str, set[PartitionKey]] = {}
    with partition_loading_context(dynamic_partitions_store=instance):
        for plan in plans:
            keys = _wanted(plan, partitions)
            if stale_in is not None:
                keys = stale_keys(graph, instance, stale_in, plan, keys, coming)
            for output in plan.outputs:
                coming[output.record.key] = set(keys)
            for chunk in _chunks(plan, keys):
                _add(runs, plan, chunk)
    return [replace(run, full_refresh=full_refresh) for run in runs]


def execute(
    definitions: dg.Definitions,
    run: PlannedRun,
    instance: dg.DagsterInstance,
    run_config: Mapping[str, Any] | None = None,
) -> dg.ExecuteInProcessResult:
    """Execute the run in this process and wait; the result shows whether it succeeded, and its events why not.

    Raises InvalidSelection if Dagster cannot run these assets together.
    """
    job = definitions.get_repository_def().get_implicit_job_def_for_assets(run.assets)
    if job is None:
        names = ", ".join(key.to_user_string() for key in run.assets)
        raise InvalidSelection(f"Dagster cannot run {names} together; materialize them one by one")
    return job.execute_in_process(
        run_config=run_config,
        instance=instance,
        asset_selection=run.assets,
        tags=dict(run.tags),
        raise_on_error=False,
    )


def _unknown(graph: BaseAssetGraph[Any], selection: Sequence[str]) -> Iterator[str]:
    """Yield a line for each part of a selection that is a plain key (ignoring pluses) of no dataset."""
    known = [key.to_user_string() for key in graph.get_all_asset_keys()]
    for part in selection:
        name = part.strip("+")
        if re.fullmatch(r"[\w./-]+", name) and name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f". Did you mean {near[0]}?" if near else ""
            yield f"no dataset {name}; `headrace datasets` lists datasets{hint}"


def _wanted(plan: ProcessPlan, partitions: tuple[str, str] | None) -> list[PartitionKey]:
    if plan.partitions is None:
        return [None]
    existing = plan.partitions.definition.get_partition_keys()
    if partitions is None:
        return list(existing)
    missing = [key for key in dict.fromkeys(partitions) if key not in existing]
    if missing:
        known = f"{existing[0]} to {existing[-1]}" if existing else "none"
        hint = ""
        if isinstance(plan.partitions.definition, dg.DynamicPartitionsDefinition):
            hint = f". `headrace partitions {plan.outputs[0].record.key} --add {missing[0]}` adds it"
        raise InvalidSelection(
            f"{plan.record.key} has no partition {' and no '.join(missing)}; it has {known}{hint}"
        )
    first, last = (existing.index(key) for key in partitions)
    if first > last:
        raise InvalidSelection(
            f"{partitions[0]} comes after {partitions[1]} in {plan.record.key}; swap them:"
            f" {partitions[1]}...{partitions[0]}"
        )
    return list(existing[first : last + 1])


def _chunks(plan: ProcessPlan, keys: Sequence[PartitionKey]) -> Iterator[tuple[PartitionKey, ...]]:
    """Yield runs of consecutive keys; one by one if the process has no ranges."""
    # Dagster reads a range of two dimensions as a product, which is not the keys between two keys.
    multi = plan.partitions is not None and isinstance(
        plan.partitions.definition, dg.MultiPartitionsDefinition
    )
    if plan.partitions is None or not plan.partitions.ranges or multi:
        yield from ((key,) for key in keys)
        return
    place = {key: position for position, key in enumerate(plan.partitions.definition.get_partition_keys())}
    for _, chunk in groupby(enumerate(keys), key=lambda item: place[item[1] or ""] - item[0]):
        yield tuple(key for _, key in chunk)


def _add(runs: list[PlannedRun], plan: ProcessPlan, chunk: tuple[PartitionKey, ...]) -> None:
    """Add the process to the last run with the same partitions, unless a later run produces one of its inputs."""
    inputs = {item.dataset for item in plan.inputs}
    for position in range(len(runs) - 1, -1, -1):
        run = runs[position]
        if run.partitions == chunk and _same_partitions(run.plans[0], plan):
            runs[position] = PlannedRun((*run.plans, plan), chunk)
            return
        if inputs & {output.record.key for each in run.plans for output in each.outputs}:
            break
    runs.append(PlannedRun((plan,), chunk))


def _same_partitions(one: ProcessPlan, other: ProcessPlan) -> bool:
    if one.partitions is None or other.partitions is None:
        return one.partitions is other.partitions
    return one.partitions.definition == other.partitions.definition
