"""Read the pinned inputs of a run and apply the transform: the frames of its outputs, not yet computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.records import ResolvedInput
from headrace.execution.column_lineage import output_lineage, stored, unmet
from headrace.execution.fingerprint import fingerprint
from headrace.execution.incremental.growth import Growing, Growth, aligned
from headrace.execution.incremental.intake import Intake
from headrace.execution.partitions import sql_parameters, starts_of
from headrace.execution.pinning import PartitionKey, PinnedInputs
from headrace.execution.plan import OutputPlan, ProcessPlan, TransformContext
from headrace.execution.writing import MadeOf, refuse_breaking_change
from headrace.stores.columns import schema_text
from headrace.stores.store import OpenStores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
            alias: _frame(plan, alias, choices, stores, spark)
            for alias, choices in pinned.by_alias.items()
            if grows is None or alias != grows.input
        }
        if grows is None or taking is None:
            computed = Computation(plan, plan.transform(run, inputs), inputs, taking)
        else:
            ((key, output),) = ((output.record.key, output) for output in plan.outputs)
            growth = Growing(
                grows,
                output,
                taking,
                stores.read,
                lambda frame: plan.transform(run, {**inputs, grows.input: frame})[key],
                _starts(context, plan, taking),
                context.log,
            ).grow()
            frames = {**inputs, grows.input: growth.taken_in}
            computed = Computation(plan, {key: growth.frame}, frames, taking, growth)
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


def _frame(
    plan: ProcessPlan,
    alias: str,
    choices: Sequence[ResolvedInput],
    stores: OpenStores,
    spark: SparkEngine,
) -> DataFrame:
    """Return the rows of an input. `self` has the declared columns, and no rows before the first version."""
    if plan.own is None or alias != plan.own.alias:
        return stores.read([choice.version for choice in choices])
    none = spark.session.createDataFrame([], schema_text(plan.outputs[0].record.columns))
    return aligned(stores.read([choice.version for choice in choices]), none) if choices else none


def _starts(context: dg.AssetExecutionContext, plan: ProcessPlan, taking: Intake) -> Mapping[str, datetime]:
    assert plan.incremental is not None  # noqa: S101 - the caller has one
    dataset = next(item.dataset for item in plan.inputs if item.alias == plan.incremental.input)
    keys = [key for key in (*taking.present, *taking.replaced) if key]
    return starts_of(context.job_def.asset_layer.asset_graph, dataset, keys)
