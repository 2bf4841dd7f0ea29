"""Write an output's frame as new, unpublished versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid4

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.locators import locator_metadata
from headrace.catalog.records import APPENDED_TO, SCHEMA_AT, Column, Outcome, Version, VersionDraft
from headrace.catalog.schema import classify, sensitive
from headrace.catalog.sensitivity import INHERITED
from headrace.execution.code_state import code_state
from headrace.execution.failures import SchemaChangeRefused
from headrace.execution.incremental.growth import Addition
from headrace.execution.input_checks import INPUT_KINDS, checks_of_store, evaluated
from headrace.execution.pinning import PartitionKey
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.execution.profiling.measuring import (
    Profiling,
    appended,
    observing,
    read_back,
    seen,
    with_sketches,
)
from headrace.profiles.sketches import ColumnSketches
from headrace.project import project_root
from headrace.publishing.runs import Attempt
from headrace.queries.pointers import newest
from headrace.queries.versions import published as published_rows_of
from headrace.queries.versions import version as detail
from headrace.stores.capabilities import Capability
from headrace.stores.columns import conformed
from headrace.stores.protocol import AppendingStore, MergingStore, Store
from headrace.stores.registry import STORES
from headrace.stores.tags import new_tag
from headrace.stores.writes import MergedInto, OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXTRACT_LOCATION = "extract_location"  # of a version's metadata


@dataclass(frozen=True, slots=True)
class MadeOf:
    """The origin of a version: its exact inputs, the digest of code and inputs, and the record of a growing dataset."""

    inputs: tuple[UUID, ...]
    fingerprint: str
    taken_in: Mapping[str, Any] = field(default_factory=dict)


def write(
    context: dg.AssetExecutionContext,
    plan: ProcessPlan,
    output: OutputPlan,
    frame: DataFrame,
    store: Store,
    keys: Sequence[PartitionKey],
    inherited: frozenset[str],
    addition: Addition | None,
    engine: Engine,
) -> tuple[str, list[WrittenVersion]]:
    """Compute one output into new, unpublished versions, one per partition; they share a tag.

    inherited: columns whose values are excluded from statistics and messages, in addition to tagged ones. addition:
    what the frame adds to another version, if it has the rows of that one unchanged.
    """
    tag = new_tag()
    columns = output.record.columns or conformed(frame, (), output.record.key)
    tags = {column.name: column.tags for column in columns}
    to_store = [
        replace(column, tags=(*column.tags, INHERITED)) if column.name in inherited else column
        for column in columns
    ]
    output_format = OutputFormat(output.record.format, output.options, output.location)
    checks = checks_of_store(output.record.checks)
    write_rows = partial(
        cast(MergingStore, store).write,
        dataset=output.record.key,
        tag=tag,
        output=output_format,
        columns=to_store,
        checks=checks,
    )
    is_addable = addition is not None and _is_addable(
        engine, store, output, addition, output_format, to_store
    )
    added = addition if is_addable else None
    # Of a merge, the store itself copies the rows that stay: only reading shows all of them.
    merges = added is not None and added.replaced is not None
    rows_written = frame if added is None else added.rows
    observed, profiling = observing(rows_written, output, to_store, len(keys), is_read=merges)
    if added is None:
        written = write_rows(observed, partition=partition_write(plan, frame, keys))
        done = "wrote"
    elif added.replaced is None:
        written = write_rows(observed, appended_to=added.to)
        done = f"appended to version {added.to.tag}, which makes"
    else:
        written = write_rows(observed, merged_into=MergedInto(added.to, added.replaced))
        done = f"merged into version {added.to.tag}, which makes"
    sketches = _measured(engine, store, output, tag, written, profiling, None if merges else added)
    rows = sum(version.row_count for version in written)
    context.log.info("%s: %s %d rows as version %s", output.record.key, done, rows, tag)
    # A version keeps its declared tags: inherited ones follow from its lineage at any time.
    return tag, [
        replace(
            with_sketches(each, measured),
            columns=tuple(replace(column, tags=tags[column.name]) for column in each.columns),
        )
        for each, measured in zip(written, sketches, strict=True)
    ]


def _measured(
    engine: Engine,
    store: Store,
    output: OutputPlan,
    tag: str,
    written: Sequence[WrittenVersion],
    profiling: Profiling,
    appending: Addition | None,
) -> list[dict[str, ColumnSketches]]:
    """Return the sketches of each version: as seen by the write, or read back.

    appending: the rows that were appended; the version then also has those of the one before.
    """
    before = appending.to.row_count or 0 if appending is not None else 0
    found = seen(profiling, written[0].row_count - before) if len(written) == 1 else None
    if found is None and profiling.columns:
        frames = (
            [store.read([unpublished(output, tag, each)]) for each in written]
            if appending is None
            else [appending.rows]
        )
        with store.explained(output.record.key):
            measured = read_back(frames, profiling.columns)
    else:
        measured = [found or {} for _ in written]
    if appending is None:
        return measured
    return [appended(engine, appending.to, measured[0])]


def _is_addable(
    engine: Engine,
    store: Store,
    output: OutputPlan,
    addition: Addition,
    output_format: OutputFormat,
    columns: Sequence[Column],
) -> bool:
    """Return True if the store can add the rows, and keep the version's others as they are.

    A new check might set some aside, and the log of a table has the bounds of a column that has become sensitive.
    """
    capabilities = STORES.get(output.store).capabilities
    if addition.to.store != output.store or any(check.quarantine for check in output.record.checks):
        return False
    if addition.replaced is not None:
        return Capability.MERGE in capabilities and cast(MergingStore, store).can_merge(
            addition.to, output_format, columns
        )
    return (
        Capability.APPEND in capabilities
        and cast(AppendingStore, store).can_append(addition.to, output_format, columns)
        and not _has_bounds(engine, addition.to, sensitive(columns))
    )


def _has_bounds(engine: Engine, version: Version, columns: frozenset[str]) -> bool:
    """Return True if the bounds of some of the columns are known, as none of a sensitive one are."""
    if not columns:
        return False
    statistics = detail(engine, version.dataset, version.tag).statistics
    return any("min" in statistics.get(name, {}) for name in columns)


def with_input_checks(
    output: OutputPlan,
    written: tuple[str, list[WrittenVersion]],
    store: Store,
    input_of: Callable[[str], DataFrame],
    published: Callable[[], Sequence[Version]],
    *,
    totals_shown: bool,
) -> tuple[str, list[WrittenVersion]]:
    """Add the results of checks against inputs and other partitions: one result for all partitions of the run.

    published: returns the published versions of the output.
    """
    checks = [check for check in output.record.checks if check.kind in INPUT_KINDS]
    if not checks:
        return written
    tag, versions = written
    rows = store.read([unpublished(output, tag, each) for each in versions])
    replaced = {each.partition for each in versions}

    def others() -> DataFrame | None:
        kept = [each for each in published() if each.partition not in replaced]
        return store.read(kept) if kept else None

    results = evaluated(checks, rows, input_of, others, totals_shown=totals_shown)
    return tag, [replace(each, check_results=(*each.check_results, *results)) for each in versions]


def unpublished(output: OutputPlan, tag: str, written: WrittenVersion) -> Version:
    """Return a written version as a store reads it."""
    return Version(
        version_id=uuid4(),
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
        schema_hash="",
        code_version=None,
        fingerprint=None,
        run_id=None,
        outcome=Outcome.BLOCKED,
        created_at=datetime.now(UTC),
        metadata=_stored_as(output, written),
    )


def _stored_as(output: OutputPlan, written: WrittenVersion) -> dict[str, Any]:
    """Return the metadata by which a store reads a version."""
    return {
        "options": dict(written.read_options),
        **locator_metadata(output.store, written.locator),
        **({APPENDED_TO: [asdict(each) for each in written.appended_to]} if written.appended_to else {}),
    }


def refuse_breaking_change(engine: Engine, output: OutputPlan, frame: DataFrame) -> None:
    """Raise SchemaChangeRefused for a breaking change of the published version's schema, unless it is declared."""
    columns = conformed(frame, output.record.columns, output.record.key)
    published = newest(engine, output.record.key)
    if published is None or output.allow_breaking:
        return
    if SCHEMA_AT in published.metadata:  # an erasure has rewritten a partition, which may be an old one
        rows = published_rows_of(engine, [output.record.key])
        published = max((row.version for row in rows), key=lambda each: each.schema_at)
    breaking = classify(published.columns, columns).breaking
    if breaking:
        raise SchemaChangeRefused(
            f"{output.record.key}: the schema breaks that of the published version {published.tag}: "
            f"{'; '.join(breaking)}. When its readers are ready, set `allow_breaking_schema_change: true` at "
            f"{output.record.declared_at}."
        )


def partition_write(
    plan: ProcessPlan, frame: DataFrame, keys: Sequence[PartitionKey]
) -> PartitionWrite | None:
    """Return how the rows of these partitions are separated; None without partitions."""
    if plan.partitions is None:
        return None
    column = plan.partitions.column
    return PartitionWrite(column(frame) if column else None, tuple(key for key in keys if key is not None))


def draft(
    plan: ProcessPlan,
    output: OutputPlan,
    tag: str,
    written: WrittenVersion,
    made_of: MadeOf,
    generation: int,
    current: Attempt,
    lineage: LineageOfOutput,
    extracts: Mapping[PartitionKey, str],
) -> VersionDraft:
    """Create the draft of `written`: the catalog publishes it if the pointer is still at `generation`.

    extracts: the locations of extracts by partition.
    """
    work = f"{current.run_id}/{current.completed}/{made_of.fingerprint}"  # only the same work is a repetition
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
        idempotency_key=f"{work}/{output.record.key}/{written.partition or ''}",
        expected_generation=generation,
        inputs=made_of.inputs,
        checks=written.check_results,
        statistics=written.statistics,
        sketches=written.sketches,
        code_version=plan.record.code_version,
        fingerprint=made_of.fingerprint,
        quarantine_location=written.quarantine_location,
        quarantine_rows=written.quarantine_rows,
        metadata={
            **output.record.metadata,
            "code": code_state(project_root()),
            **_stored_as(output, written),
            **made_of.taken_in,
            **({EXTRACT_LOCATION: extracts[written.partition]} if written.partition in extracts else {}),
        },
        lineage=lineage,
    )
