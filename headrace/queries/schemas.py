"""The schema history of a dataset, and the compatibility of each change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import Public
from headrace.catalog.records import Column
from headrace.catalog.schema import SchemaChange, classify, schema_hash
from headrace.catalog.versions import columns_of
from headrace.database.connection import transaction
from headrace.queries.sql import statement

_COLUMNS = """
SELECT schema_hash, column_name, column_type, nullable, column_metadata
FROM catalog.dataset_schema
WHERE dataset_id = %s AND schema_hash = ANY (%s)
ORDER BY schema_hash, column_order
"""


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """A schema, with the version that introduced it; change: compared with the previous one, None for the first.

    version_id, tag: None for a schema that was reported without a version, as for inputs.
    """

    schema_hash: Public[str]
    columns: tuple[Column, ...]
    since: datetime
    version_id: UUID | None
    tag: Public[str | None]
    partition: Public[str | None]
    change: SchemaChange | None


def schema_history(
    engine: Engine, dataset_id: UUID, *, before: tuple[datetime, str] | None = None, limit: int = 50
) -> list[SchemaRow]:
    """Return schema changes of a dataset, newest first, before `place_in` of a row."""
    parameters = {
        "dataset_id": dataset_id,
        "before_at": before and before[0],
        "before_place": before and before[1],
        "none": schema_hash(()),
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("datasets/schema_history").execute(cursor, parameters).fetchall()
        hashes = {row[name] for row in rows for name in ("schema_hash", "previous_hash") if row[name]}
        columns = schema_columns(cursor, dataset_id, hashes)
    return [
        SchemaRow(
            schema_hash=row["schema_hash"],
            columns=columns[row["schema_hash"]],
            since=row["since"],
            version_id=row["dataset_version_id"],
            tag=row["tag"],
            partition=row["partition_key"] or None,
            change=classify(columns[row["previous_hash"]], columns[row["schema_hash"]])
            if row["previous_hash"] is not None
            else None,
        )
        for row in rows
    ]


def place_in(row: SchemaRow) -> tuple[datetime, str]:
    """Return the row's position in the history."""
    return row.since, str(row.version_id or row.schema_hash)


def schema_columns(cursor: Cursor[Any], dataset_id: UUID, hashes: set[str]) -> dict[str, tuple[Column, ...]]:
    """Return the columns of some schemas of a dataset, by their hashes."""
    grouped: dict[str, list[dict[str, Any]]] = {each: [] for each in hashes}
    for row in cursor.execute(_COLUMNS, [dataset_id, list(hashes)]):
        grouped[row["schema_hash"]].append(row)
    return {each: columns_of(rows) for each, rows in grouped.items()}
