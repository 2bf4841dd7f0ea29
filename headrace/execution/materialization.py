"""One materialization, from pinned inputs to a published version: pin, write, audit, publish, report.

The only module that knows the order of the steps. A crash between two steps leaves the published versions unchanged;
written files are garbage below a version directory that no pointer names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.records import VersionDraft
from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity import cleared, sensitive_sources
from headrace.context import current_context
from headrace.dagster_internals import ROOT_RUN_ID_TAG
from headrace.database.connection import connect
from headrace.database.ids import run_id
from headrace.execution.column_lineage import inherited_sources, inheriting, output_lineage, unmet
from headrace.execution.failures import explained_errors, raising_failures, with_location
from headrace.execution.masking import without_sensitive_values
from headrace.execution.metadata import described
from headrace.execution.partitions import sql_parameters
from headrace.execution.pinning import PartitionKey, PinnedInputs, pin
from headrace.execution.plan import OutputPlan, ProcessPlan, TransformContext
from headrace.execution.registration import register
from headrace.execution.reporting import PublishedOutput, Results, report
from headrace.execution.run_tokens import run_environment
from headrace.execution.writing import draft, refuse_breaking_change, write
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import Attempt, attempt, record_inputs
from headrace.spark.progress import progress
from headrace.spark.session import configured, restarted_after_full_disk
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
            record_inputs(engine, current.run_id, current.number, pinned.all)
            for alias, choices in pinned.by_alias.items():
                context.log.info("%s: %s", alias, described(choices))
            with (
                configured(session, plan.spark_conf),
                restarted_after_full_disk(),
                progress(session, context.log, spark.is_remote),
                without_sensitive_values(_hidden(plan, pinned), explained_errors()),
            ):
                frames, inputs = _transform(context, engine, plan, spark, stores, pinned, keys)
                lineages = {
                    output.record.key: _lineage(context, plan, output, frames[output.record.key], inputs)
                    for output in plan.outputs
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
            drafts = [
                draft(
                    plan,
                    output,
                    tag,
                    version,
                    pinned,
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
            yield from report(context, engine, plan, current, pinned.all, published, stores, spark)


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
) -> tuple[Mapping[str, DataFrame], Mapping[str, DataFrame]]:
    """Return the analysed, not yet computed output frames by dataset, each with a publishable schema; and the input
    frames by alias."""
    with stores.explained(plan.record.key):
        inputs = {
            alias: stores.read([choice.version for choice in choices])
            for alias, choices in pinned.by_alias.items()
        }
        frames = plan.transform(
            TransformContext(
                # Requested again: if the JVM died while the inputs were pinned, it is restarted.
                spark=spark.session,
                log=context.log,
                partition_keys=tuple(key for key in keys if key is not None),
                parameters=sql_parameters(plan.partitions, keys),
            ),
            inputs,
        )
        for output in plan.outputs:
            refuse_breaking_change(engine, output, frames[output.record.key])
    return frames, inputs


def _lineage(
    context: dg.AssetExecutionContext,
    plan: ProcessPlan,
    output: OutputPlan,
    frame: DataFrame,
    inputs: Mapping[str, DataFrame],
) -> LineageOfOutput:
    """Return the lineage of the output's columns; failures to determine it give unknown lineage and no error."""
    found = output_lineage(plan, output, frame, inputs)
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
            [draft for draft in drafts if draft.dataset == output.record.key],
            [each for each in publications if each.version.dataset == output.record.key],
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
