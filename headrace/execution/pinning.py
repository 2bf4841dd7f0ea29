"""Resolve the inputs of a run to exact versions, once for all of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.records import InputRequest, ResolvedInput
from headrace.catalog.sensitivity import marked
from headrace.execution.partitions import previous_key, upstream_keys
from headrace.execution.plan import InputPlan, PartitionPlan, ProcessPlan
from headrace.publishing.pins import resolve

PartitionKey = str | None


@dataclass(frozen=True, slots=True)
class PinnedInputs:
    """The pinned inputs of a run: all versions by alias, and those that each output partition depends on.

    The input `self` has no version in the first run, or for the first partition. previous: the version that an
    incremental dataset continues.
    """

    by_alias: Mapping[str, Sequence[ResolvedInput]]
    by_partition: Mapping[PartitionKey, Sequence[UUID]]
    previous: Sequence[ResolvedInput] = ()

    @property
    def all(self) -> list[ResolvedInput]:
        """Every version that the run reads."""
        return [*self.previous, *(each for choices in self.by_alias.values() for each in choices)]


def pin(
    context: dg.AssetExecutionContext, engine: Engine, plan: ProcessPlan, keys: Sequence[PartitionKey]
) -> PinnedInputs:
    """Resolve every input to exact versions. Raises MissingVersion if one has none."""
    upstream = [
        upstream_keys(context.job_def.asset_layer.asset_graph, context.instance, plan, item, keys)
        for item in plan.inputs
    ]
    resolved = _marked(
        engine,
        resolve(engine, [input_request(plan, index, upstream[index]) for index in range(len(plan.inputs))]),
    )
    by_partition: dict[PartitionKey, list[UUID]] = {key: [] for key in keys}
    for by_output, choices in zip(upstream, resolved, strict=True):
        version_ids = {choice.version.partition: choice.version.version_id for choice in choices}
        for key in keys:
            by_partition[key].extend(version_ids[wanted] for wanted in by_output[key] or version_ids)
    by_alias = {item.alias: choices for item, choices in zip(plan.inputs, resolved, strict=True)}
    if plan.own is not None and plan.partitions is not None:
        by_alias[plan.own.alias] = _before(engine, plan.own, plan.partitions, by_partition)
    return PinnedInputs(by_alias, by_partition)


def _before(
    engine: Engine,
    own: InputPlan,
    partitions: PartitionPlan,
    by_partition: Mapping[PartitionKey, list[UUID]],
) -> list[ResolvedInput]:
    """Resolve the partition before the only one of a run, and add it to its inputs. Raises MissingVersion."""
    ((key, inputs),) = by_partition.items()
    before = previous_key(partitions.definition, key or "")
    if before is None:
        return []
    (resolved,) = _marked(engine, resolve(engine, [InputRequest(own.dataset, own.dataset, (before,))]))
    inputs.extend(each.version.version_id for each in resolved)
    return resolved


def _marked(engine: Engine, resolved: Sequence[Sequence[ResolvedInput]]) -> list[list[ResolvedInput]]:
    """Return the inputs with inherited sensitive columns tagged."""
    versions = iter(marked(engine, [choice.version for choices in resolved for choice in choices]))
    return [[replace(choice, version=next(versions)) for choice in choices] for choices in resolved]


def input_request(
    plan: ProcessPlan, index: int, upstream: Mapping[PartitionKey, tuple[PartitionKey, ...]]
) -> InputRequest:
    """Create the catalog request for one input of `plan`; `upstream` has the input's keys for each output key."""
    item = plan.inputs[index]
    return InputRequest(
        dataset=item.dataset,
        consumer=plan.outputs[0].record.key,
        partitions=tuple(dict.fromkeys(key for wanted in upstream.values() for key in wanted)),
        version_tag=item.version_tag,
        as_of=item.as_of,
    )
