"""One materialization, from pinned inputs to a published version: pin, write, audit, publish, report.

The only module that knows the order of the steps. A crash between two steps leaves the published versions unchanged;
written files are garbage below a version directory that no pointer names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.records import ResolvedInput, VersionDraft
from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity import cleared, sensitive_sources
from headrace.context import current_context
from headrace.dagster_internals import ROOT_RUN_ID_TAG
from headrace.database.connection import connect
from headrace.database.ids import run_id
from headrace.execution.column_lineage import inherited_sources, inheriting, output_lineage, stored, unmet
from headrace.execution.failures import explained_errors, raising_failures, with_location
from headrace.execution.fingerprint import fingerprint
from headrace.execution.incremental.growth import Growing, Growth, aligned
from headrace.execution.incremental.intake import Intake, intake
from headrace.execution.masking import without_sensitive_values
from headrace.execution.metadata import described
from headrace.execution.partitions import sql_parameters, starts_of
from headrace.execution.pinning import PartitionKey, PinnedInputs, pin
from headrace.execution.plan import FULL_REFRESH_TAG, OutputPlan, ProcessPlan, TransformContext
from headrace.execution.registration import register
from headrace.execution.reporting import PublishedOutput, Results, report, report_unchanged
from headrace.execution.run_tokens import run_environment
from headrace.execution.writing import MadeOf, draft, refuse_breaking_change, with_input_checks, write
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import Attempt, attempt, record_inputs
from headrace.spark.progress import progress
from headrace.spark.session import configured, restarted_after_full_disk
from headrace.stores.columns import schema_text
from headrace.stores.store import OpenStores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.spark.engine import SparkEngine


def materialize(context: dg.AssetExecutionContext, plan: ProcessPlan, spark: SparkEngine) -> Results:
    """Compute, audit and publish the outputs of `plan` for the run's partitions.

    Yields one result for each completely published output. Raises dg.Failure on errors, with the reason that the
    catalog also stores; Dagster retries it only if that may help.
    """
    keys: tuple[PartitionKey, ...] = tuple(context.partition_keys) if plan.partitions else (None,)
    root = context.run.root_run_id or context.run.tags.get(ROOT_RUN_ID_TAG) or context.run.run_id
    with raising_failures():
        engine = connect()
        records = [output.record for output in plan.outputs]
        for warning in register(engine, records, [plan.record], lambda: spark.session):
            context.log.warning(warning)
        with (
            attempt(
                engine,
                run_id=run_id(root, plan.record.key),
                process_key=plan.record.key,
                root_dagster_run_id=root,
                dagster_run_id=context.run.run_id,
                partitions=[key for key in keys if key is not None],
                log_location=_log_location(context),
            ) as current,
            with_location(plan),
            run_environment(engine, plan, current.run_id),
        ):
            context.log.info(
                "attempt %d of run %s; starting Spark if it does not run", current.number, current.run_id
            )
            session = spark.session
            stores = OpenStores(session, current_context().settings.warehouse_uri)
            for output in plan.outputs:  # fails early, before the computation, if it cannot be reached
                stores.named(output.store)
            # Before the inputs are pinned: a later publish was faster, and this run must not undo it.
            expected = generations(
                engine, [(output.record.key, key) for output in plan.outputs for key in keys]
            )
            pinned = pin(context, engine, plan, keys)
            taking = None
            if plan.keeps_history:
                full_refresh = context.run.tags.get(FULL_REFRESH_TAG) == "true"
                taking = intake(engine, plan, pinned, context.log, full_refresh=full_refresh)
                if taking.previous is not None and taking.is_empty:
                    yield from report_unchanged(
                        context, engine, plan, current, pinned.all, taking.previous, expected, stores, spark
                    )
                    return
                pinned = taking.reads(plan, pinned)
            record_inputs(engine, current.run_id, current.number, pinned.all)
            for alias, choices in pinned.by_alias.items():
                context.log.info("%s: %s", alias, described(choices) if choices else "no version yet")
            hidden = _hidden(plan, pinned)
            with (
                configured(session, plan.spark_conf),
                restarted_after_full_disk(),
                progress(session, context.log, spark.is_remote),
                without_sensitive_values(hidden, explained_errors()),
            ):
                computed = _transform(context, engine, plan, spark, stores, pinned, keys, taking)
                frames = computed.frames
                lineages = {
                    output.record.key: _lineage(context, plan, output, computed) for output in plan.outputs
                }
                written = [
                    write(
                        context,
                        plan,
                        output,
                        frames[output.record.key],
                        stores.named(output.store),
                        keys,
                        _inherited(engine, output, lineages[output.record.key], pinned),
                    )
                    for output in plan.outputs
                ]
                with stores.explained(plan.record.key):
                    compared = _whole_inputs(plan, stores, taking, computed)
                    written = [
                        with_input_checks(
                            output, each, stores.named(output.store), compared, totals_shown=not hidden
                        )
                        for output, each in zip(plan.outputs, written, strict=True)
                    ]
            drafts = [
                draft(
                    plan,
                    output,
                    tag,
                    version,
                    _made_of(plan, pinned, version.partition, taking, computed.growth),
                    expected[output.record.key, version.partition],
                    current,
                    lineages[output.record.key],
                )
                for output, (tag, versions) in zip(plan.outputs, written, strict=True)
                for version in versions
            ]
            published = _publish(engine, plan, current, drafts)
            # Within the attempt: it succeeds only once Dagster has the report, so a retry of a run that died in between
            # uses the same idempotency key and gets the existing version.
            yield from report(
                context, engine, plan, current, _foreign(plan, pinned), published, stores, spark
            )


@dataclass(frozen=True, slots=True)
class _Computed:
    """The analysed, not yet computed output frames by dataset, each with a publishable schema; the input frames by
    alias; and how the dataset has grown, if it is incremental."""

    frames: Mapping[str, DataFrame]
    inputs: Mapping[str, DataFrame]
    growth: Growth | None = None


def _foreign(plan: ProcessPlan, pinned: PinnedInputs) -> list[ResolvedInput]:
    """Return the inputs that are other datasets, which Dagster shows as inputs."""
    return [each for each in pinned.all if each.version.dataset not in plan.record.outputs]


def _made_of(
    plan: ProcessPlan,
    pinned: PinnedInputs,
    partition: PartitionKey,
    taking: Intake | None,
    growth: Growth | None,
) -> MadeOf:
    """Return what the version of a partition is made of."""
    if taking is None:
        inputs = tuple(pinned.by_partition[partition])
        return MadeOf(inputs, fingerprint(plan.record.code_version, inputs))
    taken, versions = taking.taken, [each.version for each in pinned.all]
    if growth is not None and plan.incremental is not None:
        taken = growth.taken
        others = {alias: each for alias, each in pinned.by_alias.items() if alias != plan.incremental.input}
        versions = [*growth.read, *(each.version for choices in others.values() for each in choices)]
    # The digest is that of everything taken in, so that a version is up to date if nothing is left to take in.
    return MadeOf(
        tuple(dict.fromkeys(version.version_id for version in versions)),
        fingerprint(taken.code_version, taken.versions.values()),
        taken.metadata,
    )


def _hidden(plan: ProcessPlan, pinned: PinnedInputs) -> frozenset[str]:
    """Return the columns of the run's inputs and outputs that are hidden by default."""
    read = [column for choice in pinned.all for column in choice.version.columns]
    written = [column for output in plan.outputs for column in output.record.columns]
    return sensitive([*read, *written])


def _transform(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    spark: SparkEngine,
    stores: OpenStores,
    pinned: PinnedInputs,
    keys: Sequence[PartitionKey],
    taking: Intake | None,
) -> _Computed:
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
            computed = _Computed(plan.transform(run, inputs), inputs)
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
            computed = _Computed({key: growth.frame}, {**inputs, grows.input: growth.taken_in}, growth)
        for output in plan.outputs:
            refuse_breaking_change(engine, output, computed.frames[output.record.key])
    return computed


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


def _whole_inputs(
    plan: ProcessPlan, stores: OpenStores, taking: Intake | None, computed: _Computed
) -> Callable[[str], DataFrame]:
    """Return the inputs by alias, for checks: of what an incremental dataset grows from, everything that counts now."""

    def input_of(alias: str) -> DataFrame:
        if taking is not None and plan.incremental is not None and alias == plan.incremental.input:
            return stores.read(list(taking.present.values()))
        return computed.inputs[alias]

    return input_of


def _starts(context: dg.AssetExecutionContext, plan: ProcessPlan, taking: Intake) -> Mapping[str, datetime]:
    assert plan.incremental is not None  # noqa: S101 - the caller has one
    dataset = next(item.dataset for item in plan.inputs if item.alias == plan.incremental.input)
    keys = [key for key in (*taking.present, *taking.replaced) if key]
    return starts_of(context.job_def.asset_layer.asset_graph, dataset, keys)


def _lineage(
    context: dg.AssetExecutionContext, plan: ProcessPlan, output: OutputPlan, computed: _Computed
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


def _inherited(
    engine: Engine, output: OutputPlan, lineage: LineageOfOutput, pinned: PinnedInputs
) -> frozenset[str]:
    """Return the output's columns that inherit sensitivity and have not been cleared."""
    hidden: dict[str, frozenset[str]] = {}
    for choice in pinned.all:
        names = hidden.get(choice.version.dataset, frozenset())
        hidden[choice.version.dataset] = names | sensitive(choice.version.columns)
    found = inheriting(lineage, hidden)
    judged = cleared(engine, output.record.key) if found else {}
    if found.isdisjoint(judged):
        return found
    sources = sensitive_sources(engine, [choice.version for choice in pinned.all])
    return found - {
        name for name, known in judged.items() if inherited_sources(lineage, name, sources) <= known
    }


def _publish(
    engine: Engine, plan: ProcessPlan, current: Attempt, drafts: Sequence[VersionDraft]
) -> list[PublishedOutput]:
    """Publish all outputs and partitions of the run in one transaction. From here on, its work is done."""
    publications = publish(engine, current.run_id, drafts, attempt=current.number)
    return [
        PublishedOutput(
            output,
            {each.partition: each.checks for each in drafts if each.dataset == output.record.key},
            [each for each in publications if each.version.dataset == output.record.key],
            next(each.lineage for each in drafts if each.dataset == output.record.key),
        )
        for output in plan.outputs
    ]


def _log_location(context: dg.AssetExecutionContext) -> str | None:
    """Return the folder of the run's captured output, if Dagster stores it on this machine."""
    from headrace.dagster_internals.storage import LocalComputeLogManager  # of a run, not of loading

    manager = context.instance.compute_log_manager
    if isinstance(manager, LocalComputeLogManager):
        return str(
            Path(manager.get_captured_local_path([context.run.run_id, "compute_logs", "all"], "log")).parent
        )
    return None
