"""Report a publish: references for external readers, materializations for Dagster.

The versions are published by then. A failed reference or preview is a warning; the publish stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.records import CheckResult, Outcome, Publication, ResolvedInput, RunState, Version
from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity import marked
from headrace.dagster_internals import DATA_VERSION_TAG, get_input_data_version_tag
from headrace.errors import CatalogError
from headrace.execution.column_lineage import dagster_lineage
from headrace.execution.metadata import (
    PREVIEW_ROWS,
    check_results,
    column_schema,
    preview,
    reasons,
    version_metadata,
)
from headrace.execution.notices import NotificationResult, notify
from headrace.execution.partitions import is_single_key
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.publishing import unreported
from headrace.publishing.runs import Attempt
from headrace.queries.versions import version as detail
from headrace.spark.errors import ResourceError
from headrace.spark.quoting import quoted
from headrace.stores.references import update_references

if TYPE_CHECKING:
    from headrace.spark.engine import SparkEngine
from headrace.stores.store import OpenStores

Results = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


@dataclass(frozen=True, slots=True)
class PublishedOutput:
    """Result of one output: the results of its checks by partition, its column lineage, and its publications."""

    output: OutputPlan
    checks: Mapping[str | None, Sequence[CheckResult]]
    publications: Sequence[Publication]
    lineage: LineageOfOutput | None = None

    @property
    def visible(self) -> list[Publication]:
        """Versions that readers get: published by this run, or by another run with the same work."""
        return [
            replace(item, version=item.existing) if item.existing else item
            for item in self.publications
            if item.outcome is Outcome.PUBLISHED or item.existing
        ]

    @property
    def overtaken(self) -> list[Publication]:
        """Versions replaced by the same work of another run."""
        return [item for item in self.publications if item.existing]

    @property
    def refused(self) -> list[Publication]:
        """Versions that were not published."""
        return [
            item for item in self.publications if item.outcome is not Outcome.PUBLISHED and not item.existing
        ]


def report(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    current: Attempt,
    inputs: Sequence[ResolvedInput],
    published: Sequence[PublishedOutput],
    stores: OpenStores,
    spark: SparkEngine,
) -> Results:
    """Report the published versions; then end the attempt, and raise dg.Failure with the reasons of unpublished ones.

    A run that was overtaken by another run with the same code and inputs ends as superseded, not failed: its result
    exists, and downstream runs in Dagster may continue.
    """
    notified: list[NotificationResult] = []
    for each in published:
        if each.visible:
            _update_references(context, engine, each, spark)
            _add_partitions(context, each, stores)
            notified += _notify(context, each)
    for each in published:
        yield from _dagster_results(context, engine, plan, inputs, each, stores)
    # Only now: a run that dies before leaves its versions to the reports sensor.
    incomplete = [each for each in notified if each.failed]
    for one in incomplete:
        unreported.record_failure(engine, one.version.version_id, one.delivered, "; ".join(one.failed))
    visible = {item.version.version_id for each in published for item in each.visible}
    unreported.delete_reported(engine, visible - {one.version.version_id for one in incomplete})
    overtaken = [item for each in published for item in each.overtaken]
    refused = [item for each in published for item in each.refused]
    if overtaken and not refused:
        description = "; ".join(reasons(overtaken))
        context.log.warning("superseded by another run of the same code and inputs: %s", description)
        current.end(RunState.SUPERSEDED, description)
    if refused:
        description = "; ".join(reasons(refused))
        blocked = any(item.outcome is Outcome.BLOCKED for item in refused)
        current.end(RunState.BLOCKED if blocked else RunState.SUPERSEDED, description)
        raise dg.Failure(
            description=description, metadata={"reason": current.state.value.lower()}, allow_retries=False
        )


def report_unchanged(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    current: Attempt,
    inputs: Sequence[ResolvedInput],
    version: Version,
    generations: Mapping[tuple[str, str | None], int],
    stores: OpenStores,
    spark: SparkEngine,
) -> Results:
    """Report that the published version has taken in everything already: a run without a new version.

    If an earlier attempt of this run published it, it is reported like any other, as that attempt may have died before.
    """
    (output,) = plan.outputs
    context.log.info("%s: nothing new; version %s has taken in everything", version.dataset, version.tag)
    generation = generations[version.dataset, version.partition]
    publication = Publication(version, Outcome.PUBLISHED, generation, replayed=True)
    checks = detail(engine, version.dataset, version.tag, version.partition).checks
    published = PublishedOutput(output, {version.partition: checks}, [publication])
    if version.run_id == current.run_id:
        yield from report(context, engine, plan, current, inputs, [published], stores, spark)
    else:
        yield from _dagster_results(context, engine, plan, inputs, published, stores)


def _update_references(
    context: dg.AssetExecutionContext, engine: Engine, published: PublishedOutput, spark: SparkEngine
) -> None:
    """Update the references of the store to the published versions."""
    dataset = published.output.record.key
    partitions = [item.version.partition for item in published.visible]
    try:
        update_references(engine, dataset, lambda: spark.session, partitions)
    except (CatalogError, ResourceError) as error:
        context.log.warning(
            "%s is published, but not all of its references could be updated, so external readers "
            "may still find the version before: %s After fixing that, run `headrace manifests %s`.",
            dataset,
            error,
            dataset,
        )


def _add_partitions(
    context: dg.AssetExecutionContext, published: PublishedOutput, stores: OpenStores
) -> None:
    """Add the values of the declared columns to the sets of dynamic partitions."""
    for name, column in published.output.adds_partitions.items():
        rows = stores.read([item.version for item in published.visible])
        values = (
            rows.selectExpr(f"CAST({quoted(column)} AS STRING) AS key").where("key IS NOT NULL").distinct()
        )
        known = set(context.instance.get_dynamic_partitions(name))
        new = sorted({row["key"] for row in values.collect()} - known)
        keys = [key for key in new if is_single_key(key)]
        if keys:
            context.instance.add_dynamic_partitions(name, keys)
            context.log.info("%s: %d new partitions of %s", published.output.record.key, len(keys), name)
        if len(keys) < len(new):
            context.log.warning(
                "%s: %d values of %s are not partitions of %s: a key has no ',', '|' or '...'",
                published.output.record.key,
                len(new) - len(keys),
                column,
                name,
            )


def _notify(context: dg.AssetExecutionContext, published: PublishedOutput) -> list[NotificationResult]:
    """Deliver the declared notifications; failures are warnings, shown with the version."""
    dataset = published.output.record.key
    notified = notify(published.output.notices, [item.version for item in published.visible])
    for notice in (notice for each in notified for notice in each.delivered):
        context.log.info("%s: notified %s", dataset, notice)
    failed = [problem for each in notified for problem in each.failed]
    for problem in failed:
        context.log.warning(
            "%s is published, but its notifications failed: %s. Headrace tries again; after fixing that,"
            " `headrace legacy notify %s` sends them immediately.",
            dataset,
            problem,
            dataset,
        )
    if failed:
        newest = published.visible[-1].version.partition
        context.add_asset_metadata({"not_notified": "; ".join(failed)}, published.output.key, newest)
    return notified


def _dagster_results(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    inputs: Sequence[ResolvedInput],
    published: PublishedOutput,
    stores: OpenStores,
) -> Results:
    """Yield one result for a completely published output; otherwise its checks, and an event for each version."""
    output, visible = published.output, published.visible
    checks = check_results(output, published.checks)
    if len(visible) < len(published.publications):
        for item in visible:
            context.log_event(
                dg.AssetMaterialization(
                    output.key,
                    partition=item.version.partition,
                    metadata=version_metadata(item),
                    tags={DATA_VERSION_TAG: item.version.tag},
                )
            )
        yield from checks
        return
    for item in visible if plan.partitions else ():
        context.add_asset_metadata(version_metadata(item), output.key, item.version.partition)
    newest = replace(visible[-1], version=marked(engine, [visible[-1].version])[0])
    shown: dict[str, Any] = {"preview": _preview(context, stores, newest.version)}
    if plan.partitions:
        context.add_asset_metadata(shown, output.key, newest.version.partition)
    else:
        shown |= version_metadata(newest)
    yield dg.MaterializeResult(
        asset_key=output.key,
        data_version=dg.DataVersion(newest.version.tag),
        check_results=checks,
        metadata={
            "dagster/column_schema": column_schema(newest.version.columns),
            **_columns(plan, published),
            **({} if plan.partitions else shown),
        },
        tags=_inputs_read(inputs),
    )


def _columns(plan: ProcessPlan, published: PublishedOutput) -> dict[str, Any]:
    return {} if published.lineage is None else dagster_lineage(published.lineage, plan.record.inputs)


def _preview(
    context: dg.AssetExecutionContext, stores: OpenStores, version: Version
) -> dg.MetadataValue[Any]:
    """Return the version's first rows, or why they cannot be shown."""
    try:
        with stores.explained(version.location, wholly=True):
            names = [column.name for column in version.columns]
            return preview(
                names,
                stores.named(version.store).first_rows(version, PREVIEW_ROWS),
                sensitive(version.columns),
            )
    except ResourceError as error:
        context.log.warning(
            "%s is published, but its preview could not be created: %s `headrace read %s` shows its rows.",
            version.dataset,
            error,
            version.dataset,
        )
        return dg.MetadataValue.text(f"No preview: {error}")


def _inputs_read(inputs: Sequence[ResolvedInput]) -> dict[str, str]:
    """Return the tags by which Dagster knows the input versions, which are not always the latest that it saw.

    Only for unpartitioned inputs: Dagster keeps one version per input.
    """
    read = [choice.version for choice in inputs if choice.version.partition is None]
    return {
        get_input_data_version_tag(dg.AssetKey.from_user_string(version.dataset)): version.tag
        for version in read
    }
