"""Compute a version once more from its exact inputs, in a scratch place, and compare the rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import Column, Outcome, Version
from headrace.catalog.schema import SchemaChange, classify, sensitive
from headrace.context import current_context
from headrace.dagster_internals import BaseAssetGraph
from headrace.errors import CatalogError
from headrace.execution.code_state import code_state
from headrace.execution.computation import grow, rows_of
from headrace.execution.failures import explained_errors
from headrace.execution.incremental.intake import recorded_intake
from headrace.execution.input_checks import checks_of_store
from headrace.execution.masking import without_sensitive_values
from headrace.execution.partitions import sql_parameters
from headrace.execution.plan import OutputPlan, ProcessPlan, TransformContext
from headrace.execution.writing import partition_write
from headrace.files.filesystem import normalised
from headrace.files.formats import PARQUET
from headrace.queries.datasets import unique_key
from headrace.queries.versions import inputs_of
from headrace.spark.nondeterminism import nondeterministic_functions
from headrace.spark.session import configured
from headrace.stores.comparison import Comparison, KeyProblem, compare
from headrace.stores.protocol import Store
from headrace.stores.store import OpenStores
from headrace.stores.tags import begun, new_tag
from headrace.stores.writes import OutputFormat, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)
_SCRATCH = "_replay"  # in the warehouse, beside the domains


class ReplayRefused(CatalogError):
    """A version that this project cannot compute again."""


class Verdict(StrEnum):
    """The result of a replay."""

    IDENTICAL = "IDENTICAL"  # the files are equal, byte by byte
    EQUAL = "EQUAL"  # the rows are equal
    DIFFERENT = "DIFFERENT"


@dataclass(frozen=True, slots=True)
class Replay:
    """A replayed version. functions: those that may give other rows each time. environment: parts of it that differ,
    each as recorded and as now. schema: other names and types of columns. comparison: None for identical files."""

    verdict: Verdict
    rows: int
    functions: Sequence[str]
    environment: Mapping[str, tuple[str, str]]
    schema: SchemaChange
    comparison: Comparison | None


def replay(
    engine: Engine,
    plan: ProcessPlan,
    output: OutputPlan,
    versions: Sequence[Version],
    session: SparkSession,
    root: Path,
    graph: BaseAssetGraph[Any],
) -> Replay:
    """Compute the versions of one tag once more, with their recorded inputs, and compare them with what they hold.

    A version of a dataset that grows is computed from the one before it. Nothing is published or recorded, and the rows
    computed are deleted. Raises ReplayRefused if the code is another one than that of the versions, or reads a dataset
    in two ways; VersionExpired if they or an input have no rows any more.
    """
    for version in versions:
        version.require_rows()
        _require_same_code(plan, version)
    warehouse = normalised(current_context().settings.warehouse_uri)
    stores, scratch = OpenStores(session, warehouse), OpenStores(session, f"{warehouse}/{_SCRATCH}")
    by_alias = _inputs(engine, plan, versions)
    touched = [*versions, *(each for read in by_alias.values() for each in read)]
    hidden = sensitive(column for version in touched for column in version.columns)
    keys = [version.partition for version in versions]
    tag = new_tag()
    with (
        configured(session, plan.spark_conf),
        stores.explained(plan.record.key),
        without_sensitive_values(hidden, explained_errors()),
    ):
        run = TransformContext(
            spark=session,
            log=_LOG,
            partition_keys=tuple(key for key in keys if key is not None),
            parameters=sql_parameters(plan.partitions, keys),
        )
        grows = plan.incremental
        inputs = {
            alias: rows_of(plan, alias, read, stores, session)
            for alias, read in by_alias.items()
            if grows is None or alias != grows.input
        }
        if grows is None:
            frame = plan.transform(run, inputs)[output.record.key]
        else:
            taking = recorded_intake(engine, grows, versions[0])
            frame = grow(graph, plan, run, inputs, stores, taking).frame
        functions = nondeterministic_functions(frame)
        if functions:
            _LOG.warning("%s may give other rows each time", ", ".join(functions))
        store = scratch.named(FILES_STORE)
        try:
            written = store.write(
                frame,
                dataset=output.record.key,
                tag=tag,
                output=OutputFormat(output.record.format, output.options)
                if output.store == FILES_STORE
                else None,
                columns=output.record.columns,
                checks=checks_of_store(output.record.checks),
                partition=partition_write(plan, frame, keys),
            )
            again = [_as_version(*each) for each in zip(versions, written, strict=True)]
            schema = classify(_physical(versions), _physical(again))
            found = None
            if schema != SchemaChange() or not _are_identical(versions, again):
                key = unique_key(engine, output.record.key)
                found = _compared(stores.read(versions), scratch.read(again), key, hidden)
        finally:
            _clean(store, output.record.key, tag)
    return Replay(
        verdict=Verdict.DIFFERENT if schema != SchemaChange() else _verdict(found),
        rows=sum(each.row_count for each in written),
        functions=functions,
        environment=_changed_environment(versions[0], root),
        schema=schema,
        comparison=found,
    )


def _physical(versions: Sequence[Version]) -> list[Column]:
    """Return the names and types of the columns of versions of one tag, which share them."""
    return [Column(column.name, column.type) for column in versions[0].columns]


def _compared(before: DataFrame, after: DataFrame, key: Sequence[str], hidden: frozenset[str]) -> Comparison:
    """Compare by key, and by whole rows where keys repeat. Raises ReplayRefused if nothing can be compared."""
    try:
        found = compare(before, after, key, hidden)
        return compare(before, after, (), hidden) if found.repeated else found
    except KeyProblem as problem:
        raise ReplayRefused(f"the rows cannot be compared: {problem}") from problem


def _clean(store: Store, dataset: str, tag: str) -> None:
    """Delete the rows computed, and those of replays of the dataset that were killed more than a day ago."""
    for each in store.tags(dataset):
        if each == tag or begun(each) < datetime.now(UTC) - timedelta(days=1):
            store.delete(dataset, each)


def _require_same_code(plan: ProcessPlan, version: Version) -> None:
    if version.outcome is not Outcome.PUBLISHED:
        raise ReplayRefused(
            f"version {version.tag} of {version.dataset} is {version.outcome}: it was never read"
        )
    if version.code_version == plan.record.code_version:
        return
    recorded = version.metadata.get("code", {})
    commit = recorded.get("commit")
    dirty = " with changes that were not committed" if recorded.get("uncommitted") else ""
    advice = (
        f"It was written by commit {commit}{dirty}: `git worktree add ../replay {commit}`, then repeat this with "
        "`--project ../replay`"
        if commit
        else "No commit was recorded with it: repeat this where the code is the one of then"
    )
    raise ReplayRefused(
        f"the code of {version.dataset} is not the one that wrote version {version.tag} "
        f"(code version {version.code_version}, now {plan.record.code_version}). {advice}."
    )


def _inputs(engine: Engine, plan: ProcessPlan, versions: Sequence[Version]) -> dict[str, list[Version]]:
    """Return the recorded input versions by alias."""
    datasets = [item.dataset for item in plan.inputs]
    twice = next((each for each in datasets if datasets.count(each) > 1), None)
    if twice is not None:
        raise ReplayRefused(
            f"{versions[0].dataset} reads {twice} in two ways, and a version does not record which rows each was for"
        )
    read = inputs_of(engine, [each.version_id for each in versions])
    for each in read:
        each.require_rows()
    found = {item.alias: [each for each in read if each.dataset == item.dataset] for item in plan.inputs}
    if plan.own is not None:
        found[plan.own.alias] = [each for each in read if each.dataset == versions[0].dataset]
    return found


def _as_version(version: Version, written: WrittenVersion) -> Version:
    """Return the scratch copy of a version, for reading."""
    return replace(
        version,
        location=written.location,
        format=version.format if version.store == FILES_STORE else PARQUET,
        columns=written.columns,
        row_count=written.row_count,
        byte_size=written.byte_size,
        file_count=written.file_count,
        checksum=written.checksum,
        metadata={"options": dict(written.read_options)},
    )


def _are_identical(versions: Sequence[Version], again: Sequence[Version]) -> bool:
    """Return True if the files of both are equal; checksums of other stores are not those of files."""
    return all(
        one.store == FILES_STORE and one.checksum and one.checksum == other.checksum
        for one, other in zip(versions, again, strict=True)
    )


def _verdict(found: Comparison | None) -> Verdict:
    if found is None:
        return Verdict.IDENTICAL
    differences = found.added or found.removed or found.changed or found.repeated or found.apart
    return Verdict.DIFFERENT if differences else Verdict.EQUAL


def _changed_environment(version: Version, root: Path) -> dict[str, tuple[str, str]]:
    """Return the parts of the environment that are not those recorded with the version."""
    now = code_state(root)
    return {
        name: (str(then), str(now.get(name)))
        for name, then in version.metadata.get("code", {}).items()
        if name not in ("commit", "uncommitted") and now.get(name) != then
    }
