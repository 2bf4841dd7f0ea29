"""Read the pinned inputs of a run and apply the transform: the frames of its outputs, not yet computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.records import Version
from headrace.dagster_internals import BaseAssetGraph
from headrace.execution.code_state import fingerprint
from headrace.execution.column_lineage import output_lineage, stored, unmet
from headrace.execution.incremental.growth import Growing, Growth, aligned
from headrace.execution.incremental.intake import Intake
from headrace.execution.partitions import sql_parameters, starts_of
from headrace.execution.pinning import PartitionKey, PinnedInputs
from headrace.execution.plan import OutputPlan, ProcessPlan, TransformContext
from headrace.execution.writing import MadeOf, refuse_breaking_change
from headrace.stores.columns import schema_text
from headrace.stores.store import OpenStores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.spark.engine import SparkEngine


@dataclass(frozen=True, slots=True)
class Computation:
    """The analysed, not yet computed output frames by dataset, each with a publishable schema.

    inputs: the input frames by alias. taking, growth: of a dataset that keeps its history, what the run takes in, and
    of an incremental one, how it has grown.
    """

    plan: ProcessPlan
    frames: Mapping[str, DataFrame]
    inputs: Mapping[str, DataFrame]
    taking: Intake | None = None
    growth: Growth | None = None

    def whole_input(self, stores: OpenStores, alias: str) -> DataFrame:
        """Return the rows of an input, and of that from which a dataset grows all that count now."""
        grows = self.plan.incremental
        if self.taking is not None and grows is not None and alias == grows.input:
            return stores.read(list(self.taking.present.values()))
        return self.inputs[alias]

    def made_of(self, pinned: PinnedInputs, partition: PartitionKey) -> MadeOf:
        """Return the origin of the version of a partition."""
        if self.taking is None:
            inputs = tuple(pinned.by_partition[partition])
            return MadeOf(inputs, fingerprint(self.plan.record.code_version, inputs))
        taken, versions = self.taking.taken, [each.version for each in pinned.all]
        grows = self.plan.incremental
        if self.growth is not None and grows is not None:
            taken = self.growth.taken
            others = [choices for alias, choices in pinned.by_alias.items() if alias != grows.input]
            versions = [*self.growth.read, *(each.version for choices in others for each in choices)]
        # The digest is that of everything taken in, so that a version is up to date if nothing is left to take in.
        return MadeOf(
            tuple(dict.fromkeys(version.version_id for version in versions)),
            fingerprint(taken.code_version, taken.versions.values()),
            taken.metadata,
        )


def compute(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    spark: SparkEngine,
    stores: OpenStores,
    pinned: PinnedInputs,
    keys: Sequence[PartitionKey],
    taking: Intake | None,
) -> Computation:
    """Read the pinned inputs and apply the transform. Raises SchemaChangeRefused."""
    with stores.explained(plan.record.key):
        run = TransformContext(
            # Requested again: if the JVM died while the inputs were pinned, it is restarted.
            spark=spark.session,
            log=context.log,
            partition_keys=tuple(key for key in keys if key is not None),
            parameters=sql_parameters(plan.partitions, keys),
        )
        grows = plan.incremental
        inputs = {
            alias: rows_of(plan, alias, [each.version for each in choices], stores, spark.session)
            for alias, choices in pinned.by_alias.items()
            if grows is None or alias != grows.input
        }
        if grows is None or taking is None:
            computed = Computation(plan, plan.transform(run, inputs), inputs, taking)
        else:
            growth = grow(context.job_def.asset_layer.asset_graph, plan, run, inputs, stores, taking)
            frames = {**inputs, grows.input: growth.taken_in}
            computed = Computation(plan, {plan.outputs[0].record.key: growth.frame}, frames, taking, growth)
        for output in plan.outputs:
            refuse_breaking_change(engine, output, computed.frames[output.record.key])
    return computed


def lineage_of(
    context: dg.AssetExecutionContext, plan: ProcessPlan, output: OutputPlan, computed: Computation
) -> LineageOfOutput:
    """Return the lineage of the output's columns; failures to determine it give unknown lineage and no error."""
    frame, growth = computed.frames[output.record.key], computed.growth
    found = output_lineage(plan, output, frame if growth is None else growth.computed, computed.inputs)
    if growth is not None:
        added = [name for name in frame.columns if name not in growth.computed.columns]
        found = stored(found, frame.columns, added)
    if more := unmet(found, output):
        context.log.warning(
            "%s: `lineage` states columns that the transform does not return: %s",
            output.record.key,
            ", ".join(more),
        )
    return found


def grow(
    graph: BaseAssetGraph[Any],
    plan: ProcessPlan,
    run: TransformContext,
    inputs: Mapping[str, DataFrame],
    stores: OpenStores,
    taking: Intake,
) -> Growth:
    """Compute the rows of a new version of an incremental dataset.

    inputs: the frames by alias, without that from which it grows.
    """
    grows, (output,) = plan.incremental, plan.outputs
    assert grows is not None  # noqa: S101 - of an incremental dataset
    dataset = next(item.dataset for item in plan.inputs if item.alias == grows.input)
    keys = [key for key in (*taking.present, *taking.replaced) if key]
    return Growing(
        grows,
        output,
        taking,
        stores.read,
        lambda frame: plan.transform(run, {**inputs, grows.input: frame})[output.record.key],
        starts_of(graph, dataset, keys),
        run.log,
    ).grow()


def rows_of(
    plan: ProcessPlan, alias: str, versions: Sequence[Version], stores: OpenStores, session: SparkSession
) -> DataFrame:
    """Return the rows of an input. `self` has the declared columns, and no rows before the first version."""
    if plan.own is None or alias != plan.own.alias:
        return stores.read(versions)
    none = session.createDataFrame([], schema_text(plan.outputs[0].record.columns))
    return aligned(stores.read(versions), none) if versions else none
