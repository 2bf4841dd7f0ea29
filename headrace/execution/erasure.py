"""Erase rows: from every version of a dataset, and of the datasets made from it, as far as column lineage follows them.

A published version is rewritten without the rows and published in its place; others are deleted whole. A version that
was computed from the rows and does not have the columns that select them cannot be rewritten: it is deleted once its
dataset has been materialized again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sqlalchemy import Engine
from sqlglot import ParseError, exp, parse_one
from sqlglot.errors import SqlglotError

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, LineageOfOutput, Subtype, is_field
from headrace.catalog.locators import RelationLocator, locator_metadata
from headrace.catalog.records import APPENDED_TO, SCHEMA_AT, Outcome, Publication, Version, VersionDraft
from headrace.catalog.sensitivity import INHERITED
from headrace.publishing.erasure import (
    Erasure,
    ErasureRefused,
    StoredVersion,
    forget_values,
    record_erasure,
    require_erasable,
    stored_versions,
    versions_made_from,
    versions_of,
)
from headrace.publishing.publication import publish
from headrace.spark.quoting import quoted
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat, PartitionWrite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_VALUES = (exp.Literal, exp.HexString, exp.BitString, exp.RawString, exp.National, exp.Boolean)
# A value of another row may be in a row that is joined, grouped or in a window.
_OF_SEVERAL_ROWS = frozenset({Subtype.AGGREGATION, Subtype.JOIN, Subtype.GROUP_BY, Subtype.WINDOW})
_ROW, _IS_SELECTED = "__headrace_row", "__headrace_is_selected"


class Action(StrEnum):
    """The end of a version that has the rows, or was made from them."""

    REWRITE = "rewrite"  # published: without the rows, in its place
    DELETE = "delete"  # not published
    RECOMPUTE = (
        "recompute"  # published, and its columns do not select the rows: materialize its dataset again
    )


class Condition:
    """A condition on the columns of a row, in Spark's SQL, that is true for the rows to erase.

    names: where the rows have these columns, by the names of the condition in lower case: Spark ignores the case. The
    text itself is never changed. Raises ErasureRefused for anything else than a condition.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        try:
            self._parsed = parse_one(sql, dialect="spark", into=exp.Condition)
        except SqlglotError as error:
            reason = (
                error.errors[0]["description"] if isinstance(error, ParseError) else "a quote is not closed"
            )
            raise ErasureRefused(f"{sql!r} is not a condition in SQL: {reason}") from error
        if self._parsed.find(exp.Query, exp.AggFunc, exp.Window) is not None:
            raise ErasureRefused("a condition may not have a subquery, an aggregate or a window")
        columns = sorted({each.parts[0].name.lower() for each in self._parsed.find_all(exp.Column)})
        if not columns:
            raise ErasureRefused(f"{sql!r} names no column; to remove a whole dataset, use `headrace retire`")
        self.names: Mapping[str, str] = {name: name for name in columns}

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the rows that it needs, in lower case."""
        return frozenset(name.lower() for name in self.names.values())

    @property
    def without_values(self) -> str:
        """The condition with ? for each value, and without comments."""
        hidden = self._parsed.transform(lambda node: exp.Placeholder() if isinstance(node, _VALUES) else node)
        return hidden.sql(dialect="spark", comments=False)

    def renamed(self, names: Mapping[str, str]) -> Condition:
        """Return the condition on rows that have its columns under other names, by the present ones in lower case."""
        same = copy(self)
        same.names = {own: names[name.lower()] for own, name in self.names.items()}
        return same

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two that select the same rows."""
        return tuple(sorted((own, name.lower()) for own, name in self.names.items()))


def of_subject(column: str, identifier: str) -> Condition:
    """Return the condition on rows about a person. column: with the identifiers, of any type."""
    text = exp.cast(exp.column(column, quoted=True), "string", dialect="spark")
    return Condition(exp.EQ(this=text, expression=exp.Literal.string(identifier)).sql(dialect="spark"))


Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AffectedVersion:
    """A version and its end. conditions: a row goes if one is true; None if none can select its rows. rows: that they
    select, quarantined ones included; None if unknown."""

    stored: StoredVersion
    action: Action
    conditions: Conditions | None
    rows: int | None

    @property
    def place(self) -> tuple[str, str]:
        """The dataset and tag, by which its store holds it."""
        return self.stored.version.dataset, self.stored.version.tag


@dataclass(frozen=True, slots=True)
class AffectedRows:
    """The versions with the rows, or made from them, the oldest first. sources: published inputs that still have the
    rows, by dataset, from which the next run would restore them. expired: versions that may have had the rows, whose
    statistics outlive them."""

    versions: Sequence[AffectedVersion]
    sources: Mapping[str, int]
    expired: Sequence[Version]

    @property
    def row_count(self) -> int:
        """The rows that the condition selects, over all versions."""
        return sum(each.rows or 0 for each in self.versions)

    def of(self, *actions: Action) -> list[AffectedVersion]:
        """Return the versions with one of these ends."""
        return [each for each in self.versions if each.action in actions]


def affected_rows(engine: Engine, stores: OpenStores, dataset: str, condition: Condition) -> AffectedRows:
    """Find the rows. Raises UnknownDataset; ErasureRefused for a column that is missing, CorruptInput."""
    waiting: list[tuple[Any, UUID, StoredVersion]] = []
    known: dict[UUID, StoredVersion] = {}

    def add(versions: Sequence[StoredVersion]) -> None:
        for each in versions:
            if each.version.version_id not in known:
                known[each.version.version_id] = each
                heappush(waiting, (each.version.created_at, each.version.version_id, each))

    own = versions_of(engine, dataset)
    if own and not any(condition.columns <= _names(each) for each in own):
        missing = " and ".join(sorted(condition.columns - _names(own[-1])))
        present = ", ".join(column.name for column in own[-1].version.columns)
        raise ErasureRefused(f"{dataset} never had a column {missing}; its columns are {present}")
    add(own)
    followed: dict[UUID, Conditions | None] = {}  # versions that have or had the rows
    affected: list[AffectedVersion] = []
    expired: list[Version] = []
    while waiting:  # the oldest first: what a version was made from is older
        _, version_id, each = heappop(waiting)
        if each.version.dataset != dataset:
            selecting = _selecting(each, known, followed)
        else:
            selecting = (condition,) if condition.columns <= _names(each) else None
        is_gone = each.is_erased or each.is_expired
        rows = None if is_gone or selecting is None else _count(stores, each, selecting)
        if rows == 0:
            continue
        if selecting is None and not is_gone and _is_doubtful(each, known, followed):
            continue
        followed[version_id] = selecting
        if each.is_expired:
            expired.append(each.version)
        elif not each.is_erased:
            affected.append(AffectedVersion(each, _action(each, selecting), selecting, rows))
        add(versions_made_from(engine, [version_id]))
    found = _with_siblings(engine, affected)
    return AffectedRows(found, _sources(engine, stores, own, condition), expired)


def erase(
    engine: Engine,
    found: AffectedRows,
    stores: OpenStores,
    dataset: str,
    condition: Condition,
    *,
    reason: str,
    by: str,
) -> list[Publication]:
    """Publish the rewritten versions, let those with the rows expire, and record it. Returns what was published.

    The expired rows are deleted afterwards (`orchestration.garbage.expired_rows`). If this is killed in between, the
    next call finds what is left; an erasure is recorded once. Raises ErasureRefused if a version is in use, or another
    was published meanwhile.
    """
    for each in found.versions:
        require_erasable(each.stored)
    erasure = Erasure(uuid4(), dataset, condition.without_values, reason, by, found.row_count)
    drafts = [_rewritten(stores, each, erasure) for each in found.of(Action.REWRITE)]
    publications = publish(engine, None, drafts)
    for publication in publications:
        if publication.outcome is not Outcome.PUBLISHED:
            raise ErasureRefused(
                f"{publication.version.dataset}: {publication.reason}; run the command again"
            )
    erased = [each.stored.version for each in found.of(Action.REWRITE, Action.DELETE)]
    if erased:
        record_erasure(engine, erasure, erased)
    if found.expired:
        forget_values(engine, found.expired)
    return publications


def _selecting(
    stored: StoredVersion, known: Mapping[UUID, StoredVersion], followed: Mapping[UUID, Conditions | None]
) -> Conditions | None:
    """Return the conditions for the same rows in a version made from others that have them; None if one is lost."""
    found: dict[tuple[object, ...], Condition] = {}
    for input_id in stored.inputs & followed.keys():
        conditions, dataset = followed[input_id], known[input_id].version.dataset
        if conditions is None or stored.lineage is None or not _is_row_by_row(stored.lineage):
            return None
        for condition in conditions:
            names = _kept_names(stored.lineage, dataset, condition)
            if names is None:
                return None
            same = condition.renamed(names)
            found[same.identity] = same
    return tuple(found.values())


def _is_doubtful(
    stored: StoredVersion, known: Mapping[UUID, StoredVersion], followed: Mapping[UUID, Conditions | None]
) -> bool:
    """Return True if all that a version was made from has expired, of which it is not known whether it had the rows."""
    made_from = stored.inputs & followed.keys()
    return bool(made_from) and all(known[input_id].is_expired for input_id in made_from)


def _is_row_by_row(lineage: LineageOfOutput) -> bool:
    """Return True if each row was made from one row: others have no values of the rows that are erased."""
    sources = [*lineage.whole, *(source for column in lineage.columns for source in column.sources)]
    return all(column.unknown is None for column in lineage.columns) and not any(
        source.subtype in _OF_SEVERAL_ROWS for source in sources
    )


def _kept_names(lineage: LineageOfOutput, dataset: str, condition: Condition) -> dict[str, str] | None:
    """Return the columns with the unchanged values of the condition's columns, by these; None if one has none."""
    names = {
        source.column.lower(): each.column
        for each in reversed(lineage.columns)
        for source in each.sources
        if source.input == dataset and _is_same(each, source)
    }
    kept = {name: names[name] for name in condition.columns if name in names}
    return kept if kept.keys() == condition.columns else None


def _is_same(column: ColumnLineage, source: ColumnSource) -> bool:
    """Return True if the column has the values of the source unchanged."""
    return column.unknown is None and not is_field(column.column) and source.subtype is Subtype.IDENTITY


def _action(stored: StoredVersion, conditions: Conditions | None) -> Action:
    if stored.generation is None:
        return Action.DELETE
    return Action.RECOMPUTE if conditions is None else Action.REWRITE


def _with_siblings(engine: Engine, affected: Sequence[AffectedVersion]) -> list[AffectedVersion]:
    """Add the versions of other partitions that the same runs wrote: they share a place, which is deleted whole.

    A place with a version to compute again stays until that is done.
    """
    by_id = {each.stored.version.version_id: each for each in affected}
    places = {each.place for each in affected}
    for dataset in sorted({dataset for dataset, _ in places}):
        for stored in versions_of(engine, dataset):
            version, is_gone = stored.version, stored.is_erased or stored.is_expired
            if (dataset, version.tag) in places and version.version_id not in by_id and not is_gone:
                action = Action.DELETE if stored.generation is None else Action.REWRITE
                by_id[version.version_id] = AffectedVersion(stored, action, None, 0)
    staying = {each.place for each in by_id.values() if each.action is Action.RECOMPUTE}
    return sorted(
        (
            replace(each, action=Action.RECOMPUTE) if each.place in staying else each
            for each in by_id.values()
        ),
        key=lambda each: (each.stored.version.created_at, each.stored.version.version_id),
    )


def _sources(
    engine: Engine, stores: OpenStores, own: Sequence[StoredVersion], condition: Condition
) -> dict[str, int]:
    """Return how many of the rows are in published versions that the published ones were made from, by dataset."""
    found: dict[str, int] = {}
    for each in own:
        if each.generation is None or each.lineage is None:
            continue
        for source in stored_versions(engine, each.inputs):
            key = source.version.dataset
            names = {
                column.column.lower(): one.column
                for column in each.lineage.columns
                for one in column.sources
                if one.input == key and _is_same(column, one)
            }
            if key == each.version.dataset or source.generation is None or condition.columns - names.keys():
                continue
            there = condition.renamed({name: names[name] for name in condition.columns})
            if rows := _count(stores, source, (there,)):
                found[key] = found.get(key, 0) + rows
    return found


def _count(stores: OpenStores, stored: StoredVersion, conditions: Conditions) -> int:
    """Return the number of rows that a condition selects, accepted and quarantined."""
    with _explained(stores, stored):
        return sum(
            _marked(stored, frame, conditions).where(_IS_SELECTED).count()
            for frame in (_rows(stores, stored), _quarantined(stores, stored))
            if frame is not None
        )


def _marked(stored: StoredVersion, rows: DataFrame, conditions: Conditions) -> DataFrame:
    """Return each row as a struct (_ROW), and whether a condition is true for it (_IS_SELECTED)."""
    from pyspark.sql import functions as F

    # A database that compares its texts otherwise, or cannot, is not asked: nothing is pushed below a random value.
    in_database = isinstance(stored.version.locator, RelationLocator)
    nothing = F.rand() < 0 if in_database else F.lit(False)
    row = F.struct(*(F.col(quoted(name)) for name in rows.columns))
    marked = rows.select(row.alias(_ROW), nothing.alias(_IS_SELECTED))
    for condition in conditions:
        # Under the names of the condition, whose text stays as it was given.
        named = [F.col(_ROW)[name].alias(own) for own, name in condition.names.items()]
        selected = F.col(_IS_SELECTED) | F.coalesce(F.expr(f"({condition.sql}\n)"), F.lit(False))
        marked = marked.select(_ROW, _IS_SELECTED, *named).select(_ROW, selected.alias(_IS_SELECTED))
    return marked


def _names(stored: StoredVersion) -> frozenset[str]:
    """Return the names of its columns, in lower case."""
    return frozenset(column.name.lower() for column in stored.version.columns)


@contextmanager
def _explained(stores: OpenStores, stored: StoredVersion) -> Iterator[None]:
    """Convert Spark's exceptions. Raises ErasureRefused for a condition that the columns' types do not allow."""
    from pyspark.errors import PySparkException

    try:
        with stores.explained(stored.version.dataset):
            yield
    except PySparkException as error:
        reason = str(error).partition("SQLSTATE")[0].strip().splitlines()[0]
        raise ErasureRefused(
            f"the condition cannot be evaluated on {stored.version.dataset}: {reason}"
        ) from error


def _rows(stores: OpenStores, stored: StoredVersion) -> DataFrame | None:
    version = stored.version
    return stores.read([version]) if version.locator is not None else None


def _quarantined(stores: OpenStores, stored: StoredVersion) -> DataFrame | None:
    version = stored.version
    if stored.quarantine_location is None:
        return None
    return stores.named(version.store).set_aside(version, stored.quarantine_location)


def _rewritten(stores: OpenStores, affected: AffectedVersion, erasure: Erasure) -> VersionDraft:
    """Write the version's other rows as a new version; its quarantined rows are not kept."""
    from pyspark.sql import functions as F

    stored, version = affected.stored, affected.stored.version
    rows = stores.read([version])
    if affected.conditions:
        rows = _marked(stored, rows, affected.conditions).where(~F.col(_IS_SELECTED)).select(f"{_ROW}.*")
    tag, options = new_tag(), version.metadata.get("options", {})
    with _explained(stores, stored):
        [written] = stores.named(version.store).write(
            rows,
            dataset=version.dataset,
            tag=tag,
            output=OutputFormat(version.format, options, stored.base_uri),
            # A column without bounds may be sensitive by its lineage.
            columns=[
                column
                if "min" in stored.statistics.get(column.name, {})
                else replace(column, tags=(*column.tags, INHERITED))
                for column in version.columns
            ],
            partition=PartitionWrite(None, (version.partition,)) if version.partition is not None else None,
        )
    return VersionDraft(
        dataset=version.dataset,
        partition=version.partition,
        tag=tag,
        location=written.location,
        format=version.format,
        columns=version.columns,
        row_count=written.row_count,
        byte_size=written.byte_size,
        file_count=written.file_count,
        checksum=written.checksum,
        idempotency_key=f"erasure/{erasure.erasure_id}/{version.version_id}",
        expected_generation=stored.generation or 0,
        inputs=tuple(stored.inputs),
        statistics=written.statistics,
        code_version=version.code_version,
        fingerprint=version.fingerprint,
        metadata={
            **{name: value for name, value in version.metadata.items() if name != APPENDED_TO},
            SCHEMA_AT: version.schema_at.isoformat(),
            "options": dict(written.read_options),
            **locator_metadata(version.store, written.locator),
        },
        lineage=stored.lineage,
    )
