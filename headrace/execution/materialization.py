"""One materialization, from pinned inputs to a published version: pin, write, audit, publish, report.

The only module that knows the order of the steps. A crash between two steps leaves the published versions unchanged;
written files are garbage below a version directory that no pointer names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.locators import JDBC_STORE
from headrace.catalog.records import ResolvedInput, Version, VersionDraft
from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity import cleared, sensitive_sources
from headrace.catalog.sensitivity_suggestions import accepted_columns
from headrace.context import current_context
from headrace.dagster_internals import ROOT_RUN_ID_TAG
from headrace.database.connection import connect
from headrace.database.ids import run_id
from headrace.execution.column_lineage import inherited_sources, inheriting
from headrace.execution.computation import compute, lineage_of
from headrace.execution.extracts import complete_extracts, write_extracts
from headrace.execution.failures import explained_errors, raising_failures, with_location
from headrace.execution.gates import gated
from headrace.execution.incremental.intake import intake
from headrace.execution.masking import without_sensitive_values
from headrace.execution.metadata import described
from headrace.execution.pinning import PartitionKey, PinnedInputs, pin
from headrace.execution.plan import FULL_REFRESH_TAG, OutputPlan, ProcessPlan
from headrace.execution.profiling.drift import with_drift
from headrace.execution.registration import register
from headrace.execution.reporting import PublishedOutput, Results, report, report_unchanged
from headrace.execution.run_tokens import run_environment
from headrace.execution.writing import draft, with_input_checks, write
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import Attempt, attempt, record_inputs
from headrace.queries.versions import published as published_rows_of
from headrace.spark.progress import progress
from headrace.spark.pushdown import database_reads
from headrace.spark.session import configured, restarted_after_full_disk
from headrace.stores.store import OpenStores

if TYPE_CHECKING:
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
            hidden = _hidden(engine, plan, pinned)
            with (
                configured(session, plan.spark_conf),
                restarted_after_full_disk(),
                progress(session, context.log, spark.is_remote),
                without_sensitive_values(hidden, explained_errors()),
            ):
                computed = compute(context, engine, plan, spark, stores, pinned, keys, taking)
                frames = computed.frames
                if any(choice.version.store == JDBC_STORE for choice in pinned.all):
                    for read in (read for frame in frames.values() for read in database_reads(frame)):
                        context.log.info(read)
                lineages = {
                    output.record.key: lineage_of(context, plan, output, computed) for output in plan.outputs
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
                        computed.growth.added if computed.growth is not None else None,
                        engine,
                    )
                    for output in plan.outputs
                ]
                with stores.explained(plan.record.key):
                    written = [
                        gated(
                            engine,
                            plan,
                            output,
                            with_drift(
                                engine,
                                output,
                                with_input_checks(
                                    output,
                                    each,
                                    stores.named(output.store),
                                    partial(computed.whole_input, stores),
                                    partial(_published_versions, engine, output),
                                    totals_shown=not hidden,
                                ),
                                partial(_published_versions, engine, output),
                            ),
                        )
                        for output, each in zip(plan.outputs, written, strict=True)
                    ]
                    extracts = {
                        output.record.key: write_extracts(session, output, *each, stores.named(output.store))
                        for output, each in zip(plan.outputs, written, strict=True)
                    }
            drafts = [
                draft(
                    plan,
                    output,
                    tag,
                    version,
                    computed.made_of(pinned, version.partition),
                    expected[output.record.key, version.partition],
                    current,
                    lineages[output.record.key],
                    extracts[output.record.key],
                )
                for output, (tag, versions) in zip(plan.outputs, written, strict=True)
                for version in versions
            ]
            published = _publish(engine, plan, current, drafts)
            complete_extracts(session, [item.version for each in published for item in each.visible])
            # Within the attempt: it succeeds only once Dagster has the report, so a retry of a run that died in between
            # uses the same idempotency key and gets the existing version.
            yield from report(
                context, engine, plan, current, _foreign(plan, pinned), published, stores, spark
            )


def _foreign(plan: ProcessPlan, pinned: PinnedInputs) -> list[ResolvedInput]:
    """Return the inputs that are other datasets, which Dagster shows as inputs."""
    return [each for each in pinned.all if each.version.dataset not in plan.record.outputs]


def _hidden(engine: Engine, plan: ProcessPlan, pinned: PinnedInputs) -> frozenset[str]:
    """Return the columns of the run's inputs and outputs that are hidden by default."""
    read = [column for choice in pinned.all for column in choice.version.columns]
    written = [column for output in plan.outputs for column in output.record.columns]
    return sensitive([*read, *written]) | accepted_columns(engine, plan.record.outputs)


def _published_versions(engine: Engine, output: OutputPlan) -> list[Version]:
    return [row.version for row in published_rows_of(engine, [output.record.key])]


def _inherited(
    engine: Engine, output: OutputPlan, lineage: LineageOfOutput, pinned: PinnedInputs
) -> frozenset[str]:
    """Return the output's columns that are sensitive without a tag.

    These are the accepted ones, and those that inherit sensitivity and have not been cleared.
    """
    accepted = accepted_columns(engine, [output.record.key])
    hidden: dict[str, frozenset[str]] = {}
    for choice in pinned.all:
        names = hidden.get(choice.version.dataset, frozenset())
        hidden[choice.version.dataset] = names | sensitive(choice.version.columns)
    found = inheriting(lineage, hidden)
    judged = cleared(engine, output.record.key) if found else {}
    if found.isdisjoint(judged):
        return found | accepted
    sources = sensitive_sources(engine, [choice.version for choice in pinned.all])
    return accepted | found - {
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
