"""Resolve a column from text, and show the column lineage of an exact version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import PublicField
from headrace.catalog.column_lineage import ColumnSource, LineageOfOutput, from_json, parts
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownColumn, UnknownVersion
from headrace.queries.rows import VersionRef
from headrace.queries.sql import statement
from headrace.queries.versions import tagged, version, versions

_KNOWN = (
    "SELECT dataset_id, full_name FROM catalog.dataset WHERE organisation_id = %s AND full_name = ANY (%s)"
)
_COLUMNS = """
SELECT column_name AS name, true AS complete FROM catalog.dataset_schema WHERE dataset_id = %(dataset_id)s
UNION
SELECT item ->> 'name', false FROM catalog.dataset CROSS JOIN LATERAL jsonb_array_elements(columns) AS item
WHERE dataset_id = %(dataset_id)s
UNION
SELECT target_field, false FROM catalog.column_lineage JOIN catalog.dataset_name ON name_id = target_name_id
WHERE dataset_id = %(dataset_id)s
UNION
SELECT source_field, false FROM catalog.column_lineage JOIN catalog.dataset_name ON name_id = source_name_id
WHERE dataset_id = %(dataset_id)s
"""


@dataclass(frozen=True, slots=True)
class ColumnPlace:
    """A column of a dataset or, with None, the whole dataset."""

    dataset_id: UUID
    key: str
    column: str | None


@dataclass(frozen=True, slots=True)
class VersionColumns:
    """The column lineage of an exact version.

    lineage: None if it was not collected. inputs: its exact input versions. known, columns: the numbers of known
    columns and of all columns.
    """

    version: Annotated[VersionRef, PublicField.NESTED]
    lineage: LineageOfOutput | None
    inputs: tuple[VersionRef, ...]
    known: int
    columns: int


def column_place(engine: Engine, text: str) -> ColumnPlace:
    """Parse `domain/name.column`, or `domain/name` for a dataset.

    Raises UnknownDataset; UnknownColumn for a column that the dataset never had, if its schema is known. Keys may
    contain dots: the longest prefix that is a dataset counts.
    """
    dots = [index for index, character in enumerate(text) if character == "."]
    beginnings = [text, *(text[:index] for index in reversed(dots))]
    with transaction(engine) as cursor:
        rows = cursor.execute(_KNOWN, [current_context().organisation_id, beginnings]).fetchall()
        found = {row["full_name"]: row["dataset_id"] for row in rows}
        key = next((each for each in beginnings if each in found), None)
        if key is None:
            dataset_ids(cursor, {text.partition(".")[0]})
            raise AssertionError  # a dataset of that name would have been found above
    place = ColumnPlace(found[key], key, text[len(key) + 1 :] or None)
    check_column(engine, place)
    return place


def check_column(engine: Engine, place: ColumnPlace) -> None:
    """Raise UnknownColumn if the dataset never had the column, as far as its schemas are known."""
    if place.column is None:
        return
    with transaction(engine) as cursor:
        rows = cursor.execute(_COLUMNS, {"dataset_id": place.dataset_id}).fetchall()
    names = {row["name"] for row in rows if row["name"]}
    known = names | {parts(name)[0] for name in names}
    if any(row["complete"] for row in rows) and known.isdisjoint({place.column, *parts(place.column)[:1]}):
        raise UnknownColumn.among(place.key, place.column, {row["name"] for row in rows if row["complete"]})


def version_columns(
    engine: Engine, key: str, tag: str | None = None, partition: str | None = None
) -> VersionColumns:
    """Return the column lineage of a version: of this tag, or the published one.

    Sources in datasets that the caller may not see are omitted. Raises UnknownDataset, UnknownVersion.
    """
    of = version(engine, key, tag, partition).version.version_id
    with transaction(engine) as cursor:
        row = (
            statement("lineage/version_columns")
            .execute(cursor, {"organisation": current_context().organisation_id, "version_id": of})
            .fetchone()
        )
    assert row is not None  # noqa: S101 - it was found just before, and versions stay
    lineage = from_json(row["content"]) if row["content"] is not None else None
    if lineage is not None and current_context().principal is not None:
        lineage = _visible(lineage, frozenset(row["seen"]))
    known, columns = lineage.coverage() if lineage is not None else (0, 0)
    return VersionColumns(
        version=VersionRef(row["version_id"], row["dataset"], row["partition"], row["tag"]),
        lineage=lineage,
        inputs=tuple(
            VersionRef(**{**each, "version_id": UUID(each["version_id"])}) for each in row["inputs"]
        ),
        known=known,
        columns=columns,
    )


def compared_columns(
    engine: Engine, key: str, before: str | None, after: str | None, partition: str | None
) -> tuple[VersionColumns, VersionColumns]:
    """Return the column lineage of two versions, by tags.

    Without tags: of the published version, and of the one that was published before `after`. Without a partition, that
    of the first version with the tag. Raises UnknownDataset, UnknownVersion.
    """
    rows = [row for row in versions(engine, key, partition, limit=1000) if row.version.outcome == "PUBLISHED"]
    new = _columns(engine, key, after, partition, [row.version for row in rows if row.published])
    published = [row.version for row in rows]
    places = [place for place, version in enumerate(published) if version.tag == new.version.tag]
    earlier = published[places[-1] + 1 :] if places else []
    return _columns(engine, key, before, partition, earlier), new


def _columns(
    engine: Engine, key: str, tag: str | None, partition: str | None, published: Sequence[Version]
) -> VersionColumns:
    if tag is None:
        if not published:
            raise UnknownVersion(
                f"{key} has no two published versions to compare; `headrace versions {key}` lists the versions"
            )
        tag, partition = published[0].tag, published[0].partition
    elif partition is None:
        partition = tagged(engine, key, tag)[0].partition
    return version_columns(engine, key, tag, partition)


def _visible(lineage: LineageOfOutput, datasets: frozenset[str]) -> LineageOfOutput:
    def kept(sources: tuple[ColumnSource, ...]) -> tuple[ColumnSource, ...]:
        return tuple(source for source in sources if source.input in datasets)

    columns = tuple(replace(column, sources=kept(column.sources)) for column in lineage.columns)
    return replace(lineage, columns=columns, whole=kept(lineage.whole))
