"""Fetch versions by id, many at once, with each schema fetched once."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.records import Column, Outcome, Version

_FETCH = """
SELECT dataset_version_id, dataset_id, full_name AS dataset, partition_key, version_tag, path, format, row_count,
       byte_size, file_count, checksum, schema_hash, code_version, fingerprint, produced_by_run_id, outcome,
       produced_at, version.metadata_json, expired.expired_at
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.expired_version expired USING (dataset_version_id)
WHERE dataset_version_id = ANY (%s)
"""
_FETCH_SCHEMAS = """
SELECT dataset_id, schema_hash, column_name, column_type, nullable, column_metadata
FROM unnest(%s::uuid[], %s::text[]) AS wanted (dataset_id, schema_hash)
JOIN catalog.dataset_schema USING (dataset_id, schema_hash)
ORDER BY dataset_id, schema_hash, column_order
"""


def by_ids(cursor: Cursor[dict[str, Any]], ids: Iterable[UUID]) -> dict[UUID, Version]:
    """Return the versions by id; unknown ids are omitted. Two queries, however many ids."""
    rows = cursor.execute(_FETCH, [list(set(ids))]).fetchall()
    schemas = _schemas(cursor, {(row["dataset_id"], row["schema_hash"]) for row in rows})
    return {
        row["dataset_version_id"]: Version(
            version_id=row["dataset_version_id"],
            dataset=row["dataset"],
            partition=row["partition_key"] or None,
            tag=row["version_tag"],
            location=row["path"],
            format=row["format"],
            columns=schemas[row["dataset_id"], row["schema_hash"]],
            row_count=row["row_count"],
            byte_size=row["byte_size"],
            file_count=row["file_count"],
            checksum=row["checksum"],
            schema_hash=row["schema_hash"],
            code_version=row["code_version"],
            fingerprint=row["fingerprint"],
            run_id=row["produced_by_run_id"],
            outcome=Outcome(row["outcome"]),
            created_at=row["produced_at"],
            metadata=row["metadata_json"],
            expired_at=row["expired_at"],
        )
        for row in rows
    }


def columns_of(rows: Sequence[dict[str, Any]]) -> tuple[Column, ...]:
    """Convert ordered rows of `dataset_schema` to columns."""
    return tuple(
        Column(
            name=row["column_name"],
            type=row["column_type"],
            nullable=row["nullable"],
            description=row["column_metadata"].get("description"),
            tags=tuple(row["column_metadata"].get("tags", ())),
        )
        for row in rows
    )


def _schemas(
    cursor: Cursor[dict[str, Any]], wanted: set[tuple[UUID, str]]
) -> dict[tuple[UUID, str], tuple[Column, ...]]:
    """Return the schemas; one without columns has no rows, and is ()."""
    grouped: dict[tuple[UUID, str], list[dict[str, Any]]] = {key: [] for key in wanted}
    datasets, hashes = [key[0] for key in wanted], [key[1] for key in wanted]
    for row in cursor.execute(_FETCH_SCHEMAS, [datasets, hashes]):
        grouped[row["dataset_id"], row["schema_hash"]].append(row)
    return {key: columns_of(rows) for key, rows in grouped.items()}
