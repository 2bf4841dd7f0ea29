"""Information from OpenLineage events about datasets, processes and runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, ProcessKey, Public, PublicField, Sensitive, SensitiveIf
from headrace.catalog.naming import Name, key_of, own_namespace, place, placer
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.process_detail import uuid_of
from headrace.queries.rows import Direction
from headrace.queries.sql import statement

MAX_COLUMN_EDGES = 5000  # column edges per response


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
    """A name of a dataset. canonical: its display name. kind: its type according to a symlink (TABLE, ...)."""

    namespace: Annotated[str, SensitiveIf(Sensitive.LOCATION, _is_alias)]
    name: Annotated[str, SensitiveIf(Sensitive.LOCATION, _is_alias)]
    canonical: bool
    kind: Public[str | None]


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """A column derived from another; an empty field means the whole dataset.

    process: the key of the reporting process. current: still included in that process's last report about the target.
    confidence: 0 to 1. origin: the source of the lineage (PLAN, SQL, DECLARED, REPORTED). unknown: why it is unknown
    whether the target depends on the source, which it may. depth: steps from the requested dataset.
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
    """A reported test result of a dataset; detail: its other fields in the spec."""

    run_id: UUID
    assertion: Public[str]
    column: Annotated[str | None, PublicField.COLUMN]
    success: bool
    severity: Public[str | None]
    detail: Annotated[Mapping[str, Any], Sensitive.CHECK]
    at: datetime


@dataclass(frozen=True, slots=True)
class Metrics:
    """Reported metrics of a dataset; columns: the metrics of each, as reported."""

    run_id: UUID
    row_count: int | None
    byte_size: int | None
    file_count: int | None
    last_updated: datetime | None
    columns: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class Quality:
    """Reported data quality of a dataset, newest first."""

    assertions: tuple[Assertion, ...]
    metrics: tuple[Metrics, ...]


def find_dataset(engine: Engine, named: str) -> DatasetRef | None:
    """Return the dataset with this key or id, if the caller may see it; former keys and ids are found too."""
    known = uuid_of(named)
    found = _by_name(engine, named, known)
    if found is None:
        current = (
            locate_id(engine, current_context().organisation_id, known)
            if known is not None
            else locate(
                engine,
                current_context().organisation_id,
                own_namespace(current_context().organisation),
                named,
            )
        )
        found = _by_name(engine, named, current) if current is not None else None
    return found


def _by_name(engine: Engine, named: str, known: UUID | None) -> DatasetRef | None:
    parameters = {"organisation": current_context().organisation_id, "named": named, "id": known}
    with transaction(engine) as cursor:
        row = cursor.execute(_BY_NAME, parameters).fetchone()
    return DatasetRef(row["dataset_id"], row["full_name"]) if row else None


def locate(engine: Engine, organisation: UUID, namespace: str, name: str) -> UUID | None:
    """Return the dataset with this name: a key, a symlink, an alias, or the path of one of its versions."""
    with transaction(engine) as cursor:
        own = _own(cursor, organisation)
        wanted = place(Name(namespace, name), own).name
        row = (
            statement("names/locate")
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
    """Return the dataset with this id, or the one it was merged into."""
    with transaction(engine) as cursor:
        row = (
            statement("names/locate_id")
            .execute(cursor, {"organisation": organisation, "dataset_id": dataset_id})
            .fetchone()
        )
    return row["dataset_id"] if row is not None else None


def keys_of(engine: Engine, organisation: UUID, names: Collection[Name]) -> dict[Name, str | None]:
    """Return the dataset key of each name; None for an unknown name."""
    wanted = list(names)
    with transaction(engine) as cursor:
        own = _own(cursor, organisation)
        placed = [each.name for each in map(placer(own), wanted)]
        rows = statement("names/locate").execute(
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
    """Return every name of the dataset, the display name first."""
    with transaction(engine) as cursor:
        rows = statement("names/names").execute(cursor, {"dataset_id": dataset_id}).fetchall()
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
    """Return the column edges within `depth` steps of a dataset, or of one of its columns, nearest first, at most
    `limit`.

    The currently reported edges; with `as_of` those that had been reported then, and were reported again then or later.
    A dependency of a whole dataset (a filter, a join) is followed like a dependency of each of its columns. Cycles are
    followed once.
    """
    with transaction(engine) as cursor:
        rows = statement("lineage/column_lineage").execute(
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
    """Return reported test results and metrics of the dataset, newest first, `limit` of each."""
    parameters = {"dataset_id": dataset_id, "limit": limit}
    with transaction(engine) as cursor:
        tests = statement("names/assertions").execute(cursor, parameters).fetchall()
        measured = statement("names/metrics").execute(cursor, parameters).fetchall()
    return Quality(tuple(Assertion(**row) for row in tests), tuple(Metrics(**row) for row in measured))


def _own(cursor: Cursor[Any], organisation: UUID) -> str:
    row = cursor.execute(
        "SELECT name FROM catalog.organisation WHERE organisation_id = %s", [organisation]
    ).fetchone()
    return own_namespace(row["name"] if row is not None else "")
