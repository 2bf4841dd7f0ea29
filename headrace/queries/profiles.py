"""Profiles of columns: of one version as stored, of several merged from their sketches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, Public, PublicField, Sensitive
from headrace.catalog.lookup import dataset_ids, find, named
from headrace.catalog.versions import by_ids
from headrace.database.connection import transaction
from headrace.errors import CatalogError, UnknownVersion
from headrace.profiles.measures import bound, measures
from headrace.profiles.sketches import ColumnSketches, UnreadableSketch, merged
from headrace.queries.rows import VersionRef
from headrace.queries.sql import statement

# Of one profile: each column of each has about 10 KiB of sketches.
MAX_VERSIONS = 1000


class BrokenProfile(CatalogError):
    """Sketches in the catalog that cannot be read."""


class TooManyVersions(CatalogError):
    """A profile of more versions than are merged at once."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The measures of the columns of a version, or of several together, as of a single one.

    columns: by column the `null_count`, `min`, `max`, `distinct_count`, `mean`, `quantiles`, `length`, `top_values` and
    `patterns`, each omitted if unknown. partial: columns with no more than the first three, as some versions have no
    sketches of them. row_count: null if a version was not counted. version: one of those with the tag that was asked
    for, whose own lineage says which columns are sensitive; null for the published ones.
    """

    dataset: DatasetKey
    version: Annotated[VersionRef | None, PublicField.NESTED]
    versions: tuple[VersionRef, ...]
    row_count: int | None
    columns: Annotated[dict[str, dict[str, Any]], Sensitive.STATISTICS]
    partial: Public[tuple[str, ...]]


def profile(
    engine: Engine,
    key: str,
    tag: str | None = None,
    partitions: tuple[str | None, str | None] = (None, None),
) -> Profile:
    """Return the profile of the versions with a tag, or of the published ones; no rows are read.

    partitions: only those from the first key to the last, both included. Raises UnknownDataset, UnknownVersion,
    BrokenProfile, TooManyVersions.
    """
    first, last = partitions
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {key})[key]
        rows = (
            statement("datasets/profiled_versions")
            .execute(
                cursor,
                {
                    "dataset_id": dataset_id,
                    "tag": tag,
                    "first": first,
                    "last": last,
                    "limit": MAX_VERSIONS + 1,
                },
            )
            .fetchall()
        )
        if not rows:
            if tag is not None:
                find(cursor, dataset_id, key, tag, first)
            raise UnknownVersion(f"{named(key, first)} has no published version in these partitions.")
        if len(rows) > MAX_VERSIONS:
            raise TooManyVersions(
                f"{key} has more than {MAX_VERSIONS:,} published partitions, which are too many for one profile. Name "
                "the first and the last of fewer."
            )
        known = {name for row in rows for name in (*row["statistics"], *row["sketched"])}
        [newest] = by_ids(cursor, [rows[-1]["version_id"]]).values()
        ordered = [column.name for column in newest.columns if column.name in known]
        names = [*ordered, *sorted(known.difference(ordered))]
        columns = {name: _column(cursor, key, name, rows) for name in names}
    references = tuple(
        VersionRef(row["version_id"], key, row["partition_key"] or None, row["tag"]) for row in rows
    )
    counts = [row["row_count"] for row in rows]
    whole = [name for name in names if all(name in row["sketched"] for row in rows)]
    return Profile(
        dataset=key,
        version=None if tag is None else references[0],
        versions=references,
        row_count=None if None in counts else sum(counts),
        columns=columns,
        partial=tuple(name for name in names if name not in whole),
    )


def sketches_of(engine: Engine, versions: Sequence[UUID], column: str) -> dict[UUID, ColumnSketches]:
    """Return the sketches of a column by version; versions without are omitted."""
    with transaction(engine) as cursor:
        return _sketches(cursor, versions, column)


def all_sketches(engine: Engine, version: UUID) -> dict[str, ColumnSketches]:
    """Return the sketches of a version by column."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT column_name FROM catalog.column_sketch WHERE dataset_version_id = %s", [version]
        ).fetchall()
        return {row["column_name"]: _sketches(cursor, [version], row["column_name"])[version] for row in rows}


def profiled(engine: Engine, versions: Sequence[UUID]) -> set[UUID]:
    """Return those of the versions that have sketches."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT dataset_version_id FROM catalog.column_sketch WHERE dataset_version_id = ANY (%s)",
            [list(versions)],
        )
        return {row["dataset_version_id"] for row in rows}


def _column(cursor: Cursor[Any], key: str, name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is known of a column in all the versions together."""
    if len(rows) == 1:
        return dict(rows[0]["statistics"].get(name, {}))
    found = list(_sketches(cursor, [row["version_id"] for row in rows], name).values())
    stored = [row["statistics"].get(name, {}) for row in rows]
    nulls = [each.get("null_count") for each in stored]
    filled = [
        each
        for each, row in zip(stored, rows, strict=True)
        if row["row_count"] is None or each.get("null_count") != row["row_count"]
    ]
    type_ = found[-1].type if found else _type(filled)
    combined = {
        "null_count": None if None in nulls else sum(nulls),
        **{each: bound(type_, [one.get(each) for one in filled], each) for each in ("min", "max")},
    }
    if len(found) == len(rows):
        try:
            combined |= measures(merged(found))
        except UnreadableSketch as error:
            raise BrokenProfile(_unreadable(key, name, error)) from error
    return {each: value for each, value in combined.items() if value is not None}


def _type(statistics: Sequence[Mapping[str, Any]]) -> str:
    """Return a type in whose order the bounds are, where no sketch says the column's."""
    numbers = all(isinstance(each.get("min"), int | float) for each in statistics)
    return "double" if numbers else "string"


def _sketches(cursor: Cursor[Any], versions: Sequence[UUID], column: str) -> dict[UUID, ColumnSketches]:
    rows = statement("datasets/sketches").execute(cursor, {"version_ids": list(versions), "column": column})
    return {row.pop("version_id"): ColumnSketches(**row) for row in rows}


def _unreadable(key: str, column: str, error: UnreadableSketch) -> str:
    return (
        f"{key}: the sketches of the column {column} cannot be read ({error}). Materialize the dataset again to "
        "replace them."
    )
