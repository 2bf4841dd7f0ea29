"""Facts from OpenLineage events about datasets, processes and runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, ProcessKey, Public, Sensitive, SensitiveIf, Shown
from headrace.catalog.naming import Name, key_of, own_namespace, place, placer
from headrace.catalog.queries.process_detail import uuid_of
from headrace.catalog.queries.rows import Direction
from headrace.catalog.sql import statement
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id

MAX_COLUMN_EDGES = 5000  # column edges of one answer


_BY_NAME = """
SELECT dataset_id, full_name FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(named)s
UNION ALL
SELECT dataset_id, full_name FROM catalog.dataset WHERE organisation_id = %(organisation)s AND dataset_id = %(id)s
"""


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """A dataset by its id and its current key."""

    id: UUID
    key: str


def _is_alias(name: DatasetName) -> bool:
    return not name.canonical


@dataclass(frozen=True, slots=True)
class DatasetName:
    """A name of a dataset. canonical: the one that it is shown by. kind: what a symlink says it is (TABLE, ...)."""

    namespace: Annotated[str, SensitiveIf(Sensitive.LOCATION, _is_alias)]
    name: Annotated[str, SensitiveIf(Sensitive.LOCATION, _is_alias)]
    canonical: bool
    kind: Public[str | None]


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """A column derived from another; an empty field means the whole dataset.

    process: the key of the process that says so. current: it was still said when that last spoke of the target.
    confidence: 0 to 1. origin: who knows it (PLAN, SQL, DECLARED, REPORTED). unknown: why it cannot be known whether
    the source is in the target, which it then may be. depth: steps from the dataset that was asked for.
    """

    source: UUID
    source_key: Public[str]
    source_field: Public[str]
    target: UUID
    target_key: DatasetKey
    target_field: Public[str]
    process: ProcessKey | None
    type: Public[str]
    subtype: Public[str]
    description: Annotated[str, Sensitive.SOURCE]
    masking: bool
    run_id: UUID | None
    first_at: datetime
    last_at: datetime
    current: bool
    confidence: float
    origin: Public[str]
    unknown: Public[str | None]
    depth: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """The result of a test of a dataset that a run reported; detail: what else the spec has of it."""

    run_id: UUID
    assertion: Public[str]
    column: Annotated[str | None, Shown.COLUMN]
    success: bool
    severity: Public[str | None]
    detail: Annotated[Mapping[str, Any], Sensitive.CHECK]
    at: datetime


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a run measured of a dataset; columns: the measures of each, as reported."""

    run_id: UUID
    row_count: int | None
    byte_size: int | None
    file_count: int | None
    last_updated: datetime | None
    columns: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class Quality:
    """What runs said of the quality of a dataset, the newest first."""

    assertions: tuple[Assertion, ...]
    metrics: tuple[Metrics, ...]


def find_dataset(engine: Engine, named: str) -> DatasetRef | None:
    """The dataset of a key or id that the caller may see; also by an id that it had before a merge."""
    known = uuid_of(named)
    found = _by_name(engine, named, known)
    if found is None and known is not None:
        current = locate_id(engine, organisation_id(), known)
        found = _by_name(engine, named, current) if current is not None else None
    return found


def _by_name(engine: Engine, named: str, known: UUID | None) -> DatasetRef | None:
    parameters = {"organisation": organisation_id(), "named": named, "id": known}
    with transaction(engine) as cursor:
        row = cursor.execute(_BY_NAME, parameters).fetchone()
    return DatasetRef(row["dataset_id"], row["full_name"]) if row else None


def locate(engine: Engine, organisation: UUID, namespace: str, name: str) -> UUID | None:
    """The dataset that has this name: as a key, by a symlink or alias, or as the path of one of its versions."""
    with transaction(engine) as cursor:
        own = _own(cursor, organisation)
        wanted = place(Name(namespace, name), own).name
        row = (
            statement("openlineage_locate")
            .execute(
                cursor,
                {
                    "organisation": organisation,
                    "namespaces": [wanted.namespace],
                    "names": [wanted.name],
                    "keys": [key_of(wanted, own)],
                },
            )
            .fetchone()
        )
    return row["dataset_id"] if row is not None else None


def locate_id(engine: Engine, organisation: UUID, dataset_id: UUID) -> UUID | None:
    """The dataset of this id, or that which the dataset of this id has become part of."""
    with transaction(engine) as cursor:
        row = (
            statement("openlineage_locate_id")
            .execute(cursor, {"organisation": organisation, "dataset_id": dataset_id})
            .fetchone()
        )
    return row["dataset_id"] if row is not None else None


def keys_of(engine: Engine, organisation: UUID, names: Collection[Name]) -> dict[Name, str | None]:
    """The dataset key of each name; None for an unknown name."""
    wanted = list(names)
    with transaction(engine) as cursor:
        own = _own(cursor, organisation)
        placed = [each.name for each in map(placer(own), wanted)]
        rows = statement("openlineage_locate").execute(
            cursor,
            {
                "organisation": organisation,
                "namespaces": [name.namespace for name in placed],
                "names": [name.name for name in placed],
                "keys": [key_of(name, own) for name in placed],
            },
        )
        found = {row["ordinal"]: row["full_name"] for row in rows}
    return {name: found.get(ordinal + 1) for ordinal, name in enumerate(wanted)}


def names(engine: Engine, dataset_id: UUID) -> list[DatasetName]:
    """Every name of the dataset, the one that it is shown by first."""
    with transaction(engine) as cursor:
        rows = statement("openlineage_names_of").execute(cursor, {"dataset_id": dataset_id}).fetchall()
    return [DatasetName(**row) for row in rows]


def column_lineage(
    engine: Engine,
    dataset_id: UUID,
    direction: Direction = Direction.UP,
    depth: int = 1,
    *,
    field: str | None = None,
    as_of: datetime | None = None,
    limit: int = MAX_COLUMN_EDGES,
) -> list[ColumnEdge]:
    """The column edges within `depth` steps of a dataset, or of one of its columns, nearest first, at most `limit`.

    Those that are said now; with `as_of` those that had been said then, and were said again then or later. A dependency
    of a whole dataset (a filter, a join) is followed like one of each of its columns. Cycles end where they meet.
    """
    with transaction(engine) as cursor:
        rows = statement("column_lineage").execute(
            cursor,
            {
                "dataset_id": dataset_id,
                "field": field,
                "up": direction is Direction.UP,
                "depth": depth,
                "as_of": as_of,
                "limit": limit,
            },
        )
        return [ColumnEdge(**row) for row in rows]


def quality(engine: Engine, dataset_id: UUID, limit: int = 100) -> Quality:
    """The results of tests and the measures that runs reported of the dataset, the newest first, `limit` of each."""
    parameters = {"dataset_id": dataset_id, "limit": limit}
    with transaction(engine) as cursor:
        tests = statement("openlineage_assertions_of").execute(cursor, parameters).fetchall()
        measured = statement("openlineage_metrics_of").execute(cursor, parameters).fetchall()
    return Quality(tuple(Assertion(**row) for row in tests), tuple(Metrics(**row) for row in measured))


def _own(cursor: Cursor[Any], organisation: UUID) -> str:
    row = cursor.execute(
        "SELECT name FROM catalog.organisation WHERE organisation_id = %s", [organisation]
    ).fetchone()
    return own_namespace(row["name"] if row is not None else "")
