"""One materialization, from pinned inputs to a published version: pin, write, audit, publish, tell.

The only module that knows the order of the steps. Whatever dies between two of them leaves the published versions as
they were; what it wrote is garbage below a version directory that no pointer names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import dagster as dg
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.tags import ROOT_RUN_ID_TAG
from sqlalchemy import Engine

from catalog.access.redaction import redacted
from catalog.column_lineage import LineageOfOutput
from catalog.database import connect
from catalog.errors import CatalogError, CatalogUnavailable
from catalog.identity import run_id
from catalog.pins import resolve
from catalog.published import newest
from catalog.publishing import generations, publish
from catalog.records import InputRequest, ResolvedInput, VersionDraft
from catalog.registry import register
from catalog.runs import Attempt, attempt, record_inputs
from catalog.schema import classify, sensitive
from catalog.sensitivity import INHERITED, cleared, marked
from components.column_lineage import inheriting, output_lineage, unmet
from components.discretion import discreet
from components.fingerprint import fingerprint
from components.handing import handed
from components.partitions import NoUpstreamPartition, RangeRefused, sql_parameters, upstream_keys
from components.plan import OutputPlan, ProcessPlan, TransformContext
from components.problems import SqlError, TransformError
from components.report import described
from components.telling import Published, Results, tell
from resources.errors import ResourceError, SparkUnavailable, WarehouseUnavailable
from resources.formats import OutputFormat
from resources.partitions import PartitionWrite
from resources.progress import progress
from resources.spark import configured
from resources.store import VersionStore
from resources.writing import WrittenVersion, conformed
from settings import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from resources.spark import SparkResource

PartitionKey = str | None


class SchemaChangeRefused(Exception):
    """The frame's schema breaks the published version's, and the declaration does not allow that."""


# What trying again may cure; the other errors of these families say the same thing each time.
PASSING = (CatalogUnavailable, SparkUnavailable, WarehouseUnavailable)
FINAL = (
    CatalogError,
    NoUpstreamPartition,
    RangeRefused,
    ResourceError,
    SchemaChangeRefused,
    SqlError,
    TransformError,
)


@dataclass(frozen=True, slots=True)
class Pinned:
    """The inputs of a run, pinned: all versions by alias, and those that each output partition depends on."""

    by_alias: Mapping[str, Sequence[ResolvedInput]]
    by_partition: Mapping[PartitionKey, Sequence[UUID]]

    @property
    def all(self) -> list[ResolvedInput]:
        """Every version that the run reads."""
        return [each for choices in self.by_alias.values() for each in choices]


def materialize(context: dg.AssetExecutionContext, plan: ProcessPlan, spark: SparkResource) -> Results:
    """Compute, audit and publish the outputs of `plan` for the run's partitions.

    Yields one result for each output that was published whole. Raises dg.Failure, with the reason that the catalog
    keeps as well, when something stopped it; Dagster retries it only where trying again may help.
    """
    keys: tuple[PartitionKey, ...] = tuple(context.partition_keys) if plan.partitions else (None,)
    root = context.run.root_run_id or context.run.tags.get(ROOT_RUN_ID_TAG) or context.run.run_id
    with _failures_told():
        engine = connect()
        register(engine, [output.record for output in plan.outputs], [plan.record])
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
            _placed(plan),
            handed(engine, plan, current.run_id),
        ):
            context.log.info(
                "attempt %d of run %s; starting Spark if it does not run", current.number, current.run_id
            )
            session = spark.session
            store = VersionStore(session, settings().warehouse_uri)
            # Before the inputs: whoever publishes after this was quicker, and this run must not undo it.
            expected = generations(
                engine, [(output.record.key, key) for output in plan.outputs for key in keys]
            )
            pinned = _pin(context, engine, plan, keys)
            record_inputs(engine, current.run_id, current.number, pinned.all)
            for alias, choices in pinned.by_alias.items():
                context.log.info("%s: %s", alias, described(choices))
            with (
                configured(session, plan.spark_conf),
                progress(session, context.log, spark.is_remote),
                discreet(_hidden(plan, pinned), _spoken()),
            ):
                frames, inputs = _transform(context, engine, plan, spark, store, pinned, keys)
                lineages = {
                    output.record.key: _lineage(context, plan, output, frames[output.record.key], inputs)
                    for output in plan.outputs
                }
                written = [
                    _write(
                        context,
                        plan,
                        output,
                        frames[output.record.key],
                        store,
                        keys,
                        _inherited(engine, output, lineages[output.record.key], pinned),
                    )
                    for output in plan.outputs
                ]
            drafts = [
                _draft(
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
            # Within the attempt: it succeeds only once Dagster has been told, so that a retry of a run that died in
            # between asks with the same idempotency key and gets the version that is already there.
            yield from tell(context, engine, plan, current, pinned.all, published, store, spark)


def _hidden(plan: ProcessPlan, pinned: Pinned) -> frozenset[str]:
    """The columns that the run reads or writes whose values nobody is shown unasked."""
    read = [column for choice in pinned.all for column in choice.version.columns]
    written = [column for output in plan.outputs for column in output.record.columns]
    return sensitive([*read, *written])


def _spoken() -> tuple[type[Exception], ...]:
    """Our own exceptions, those of Spark's analysis, which name columns and no values, and what a person words."""
    from pyspark.errors import AnalysisException, ParseException

    return (*PASSING, *FINAL, AnalysisException, ParseException, dg.Failure, dg.RetryRequested)


@contextmanager
def _failures_told() -> Iterator[None]:
    """Raise whatever stops a run as Dagster's Failure: one message for a person, retried only where that may help."""
    try:
        yield
    except (dg.Failure, GeneratorExit):
        raise
    except Exception as error:
        name = type(error).__name__
        ours = isinstance(error, (*PASSING, *FINAL))
        raise dg.Failure(
            description=redacted(
                "\n".join([str(error) if ours else f"{name}: {error}", *getattr(error, "__notes__", ())])
            ),
            metadata={"reason": name},
            allow_retries=isinstance(error, PASSING) or not ours,
        ) from error


@contextmanager
def _placed(plan: ProcessPlan) -> Iterator[None]:
    """Add to what stops a run where its process is declared, unless it names a place itself or lies outside of it."""
    try:
        yield
    except (dg.Failure, GeneratorExit):
        raise
    except Exception as error:
        placed = isinstance(error, (SchemaChangeRefused, SqlError, TransformError)) or hasattr(
            error, "__notes__"
        )
        if not placed and not isinstance(error, PASSING):
            error.add_note(f"{plan.record.key} is declared at {plan.record.metadata['declared_at']}")
        raise


def _pin(
    context: dg.AssetExecutionContext, engine: Engine, plan: ProcessPlan, keys: Sequence[PartitionKey]
) -> Pinned:
    """Resolve every input to exact versions. Raises MissingVersion when one has none."""
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
    return Pinned(
        by_alias={item.alias: choices for item, choices in zip(plan.inputs, resolved, strict=True)},
        by_partition=by_partition,
    )


def _marked(engine: Engine, resolved: Sequence[Sequence[ResolvedInput]]) -> list[list[ResolvedInput]]:
    """The same, with columns that are sensitive because of what they are made from tagged so."""
    versions = iter(marked(engine, [choice.version for choices in resolved for choice in choices]))
    return [[replace(choice, version=next(versions)) for choice in choices] for choices in resolved]


def input_request(
    plan: ProcessPlan, index: int, upstream: Mapping[PartitionKey, tuple[PartitionKey, ...]]
) -> InputRequest:
    """What the catalog is asked for one input of `plan`, `upstream` being the input's keys for each output key."""
    item = plan.inputs[index]
    return InputRequest(
        dataset=item.dataset,
        consumer=plan.outputs[0].record.key,
        partitions=tuple(dict.fromkeys(key for wanted in upstream.values() for key in wanted)),
        version_tag=item.version_tag,
        as_of=item.as_of,
    )


def _transform(
    context: dg.AssetExecutionContext,
    engine: Engine,
    plan: ProcessPlan,
    spark: SparkResource,
    store: VersionStore,
    pinned: Pinned,
    keys: Sequence[PartitionKey],
) -> tuple[Mapping[str, DataFrame], Mapping[str, DataFrame]]:
    """The output frames by dataset, analysed but not computed, each with a schema that may be published.

    And the input frames by alias that they were made from.
    """
    with store.explained(plan.record.key):
        inputs = {
            alias: store.read([choice.version for choice in choices])
            for alias, choices in pinned.by_alias.items()
        }
        frames = plan.transform(
            TransformContext(
                # Asked for again: a JVM that died while the inputs were pinned costs nothing but another.
                spark=spark.session,
                log=context.log,
                partition_keys=tuple(key for key in keys if key is not None),
                parameters=sql_parameters(plan.partitions, keys),
            ),
            inputs,
        )
        for output in plan.outputs:
            _refuse_breaking_change(engine, output, frames[output.record.key])
    return frames, inputs


def _lineage(
    context: dg.AssetExecutionContext,
    plan: ProcessPlan,
    output: OutputPlan,
    frame: DataFrame,
    inputs: Mapping[str, DataFrame],
) -> LineageOfOutput:
    """Where the output's columns come from; what cannot be found out is unknown and stops nothing."""
    found = output_lineage(plan, output, frame, inputs)
    if more := unmet(found, output):
        context.log.warning(
            "%s: `lineage` states columns that the transform does not return: %s",
            output.record.key,
            ", ".join(more),
        )
    return found


def _inherited(
    engine: Engine, output: OutputPlan, lineage: LineageOfOutput, pinned: Pinned
) -> frozenset[str]:
    """The output's columns that values of sensitive ones come out in, or may, and that nobody has cleared."""
    hidden: dict[str, frozenset[str]] = {}
    for choice in pinned.all:
        names = hidden.get(choice.version.dataset, frozenset())
        hidden[choice.version.dataset] = names | sensitive(choice.version.columns)
    found = inheriting(lineage, hidden)
    return found - cleared(engine, output.record.key) if found else found


def _write(
    context: dg.AssetExecutionContext,
    plan: ProcessPlan,
    output: OutputPlan,
    frame: DataFrame,
    store: VersionStore,
    keys: Sequence[PartitionKey],
    inherited: frozenset[str],
) -> tuple[str, list[WrittenVersion]]:
    """Compute one output into new versions, one for each partition, that nobody sees yet; they share a tag.

    inherited: columns whose values are kept out of statistics and messages, beside those that are tagged.
    """
    tag = store.tag()
    columns = output.record.columns or conformed(frame, (), output.record.key)
    tags = {column.name: column.tags for column in columns}
    written = store.write(
        frame,
        dataset=output.record.key,
        tag=tag,
        output=OutputFormat(output.record.format, output.options, output.location),
        columns=[
            replace(column, tags=(*column.tags, INHERITED)) if column.name in inherited else column
            for column in columns
        ],
        checks=output.record.checks,
        partition=_partition_write(plan, frame, keys),
    )
    rows = sum(version.row_count for version in written)
    context.log.info("%s: wrote %d rows as version %s", output.record.key, rows, tag)
    # A version keeps the tags that it was declared with: what it inherits follows from its lineage at any time.
    return tag, [
        replace(each, columns=tuple(replace(column, tags=tags[column.name]) for column in each.columns))
        for each in written
    ]


def _refuse_breaking_change(engine: Engine, output: OutputPlan, frame: DataFrame) -> None:
    columns = conformed(frame, output.record.columns, output.record.key)
    published = newest(engine, output.record.key)
    if published is None or output.allow_breaking:
        return
    breaking = classify(published.columns, columns).breaking
    if breaking:
        raise SchemaChangeRefused(
            f"{output.record.key}: the schema breaks that of the published version {published.tag}: "
            f"{'; '.join(breaking)}. When its readers are ready, set `allow_breaking_schema_change: true` at "
            f"{output.record.declared_at}."
        )


def _partition_write(
    plan: ProcessPlan, frame: DataFrame, keys: Sequence[PartitionKey]
) -> PartitionWrite | None:
    if plan.partitions is None:
        return None
    column = plan.partitions.column
    return PartitionWrite(column(frame) if column else None, tuple(key for key in keys if key is not None))


def _draft(
    plan: ProcessPlan,
    output: OutputPlan,
    tag: str,
    written: WrittenVersion,
    pinned: Pinned,
    generation: int,
    current: Attempt,
    lineage: LineageOfOutput,
) -> VersionDraft:
    inputs = tuple(pinned.by_partition[written.partition])
    made_of = fingerprint(plan.record.code_version, inputs)
    return VersionDraft(
        dataset=output.record.key,
        partition=written.partition,
        tag=tag,
        location=written.location,
        format=output.record.format,
        columns=written.columns,
        row_count=written.row_count,
        byte_size=written.byte_size,
        file_count=written.file_count,
        checksum=written.checksum,
        # Code and inputs are in it: only the same work is a repetition.
        idempotency_key=f"{current.run_id}/{current.completed}/{made_of}/{output.record.key}/{written.partition or ''}",
        expected_generation=generation,
        inputs=inputs,
        checks=written.check_results,
        statistics=written.statistics,
        code_version=plan.record.code_version,
        fingerprint=made_of,
        quarantine_location=written.quarantine_location,
        quarantine_rows=written.quarantine_rows,
        metadata={**output.record.metadata, "options": dict(written.read_options)},
        lineage=lineage,
    )


def _publish(
    engine: Engine, plan: ProcessPlan, current: Attempt, drafts: Sequence[VersionDraft]
) -> list[Published]:
    """Publish all outputs and partitions of the run in one transaction. From here on, what it did is done."""
    publications = publish(engine, current.run_id, drafts)
    return [
        Published(
            output,
            [draft for draft in drafts if draft.dataset == output.record.key],
            [each for each in publications if each.version.dataset == output.record.key],
        )
        for output in plan.outputs
    ]


def _log_location(context: dg.AssetExecutionContext) -> str | None:
    """The folder of the run's captured output, when Dagster keeps it on this machine."""
    manager = context.instance.compute_log_manager
    if isinstance(manager, LocalComputeLogManager):
        return str(
            Path(manager.get_captured_local_path([context.run.run_id, "compute_logs", "all"], "log")).parent
        )
    return None
