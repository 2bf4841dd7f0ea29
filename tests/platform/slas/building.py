"""Datasets with SLAs, versions at chosen times and runs, for tests of the engine."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from headrace.alerts.rows import alert_event_of
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.registration.declarations import register
from headrace.slas.events import AlertEvent


def declare(
    engine: Engine, datasets: Mapping[str, Mapping[str, Any] | None], edges: Sequence[tuple[str, str]] = ()
) -> None:
    """Datasets by key, each made by a process of its key that reads what the edges say."""
    register(
        engine,
        [DatasetRecord(key, "parquet", owners=("team:data",), sla=sla) for key, sla in datasets.items()],
        [
            ProcessRecord(
                key,
                Technology.SPARK,
                inputs=tuple(source for source, target in edges if target == key),
                outputs=(key,),
                owners=("team:data",),
            )
            for key in datasets
        ],
    )


def published(
    engine: Engine,
    key: str,
    at: datetime,
    rows: int | None = 10,
    partition: str = "",
    schema: str = "h",
    outcome: str = "PUBLISHED",
    run: UUID | None = None,
) -> None:
    """A version that was published then, or blocked."""
    version = uuid4()
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.dataset_version (dataset_version_id, organisation_id, dataset_id, partition_key, "
            "version_tag, path, format, row_count, byte_size, file_count, checksum, schema_hash, idempotency_key, "
            "outcome, reason, quarantine_rows, statistics, metadata_json, produced_at, produced_by_run_id) "
            "SELECT %s, organisation_id, dataset_id, %s, %s, '', 'parquet', %s, %s, 1, '', %s, %s, %s, %s, 0, '{}', "
            "'{}', %s, %s FROM catalog.dataset WHERE full_name = %s",
            [
                version, partition, str(version), rows, rows, schema, str(version), outcome,
                "failed check: c" if outcome == "BLOCKED" else None, at, run, key,
            ],
        )  # fmt: skip
        cursor.execute(
            "INSERT INTO catalog.outbox (organisation_id, topic, payload_json) VALUES (%s, %s, %s)",
            [
                current_context().organisation_id,
                f"version.{outcome.lower()}",
                Jsonb({"version_id": str(version)}),
            ],
        )


def ran(engine: Engine, process: str, began: datetime, ended: datetime | None, status: str) -> UUID:
    """A run of a process; its id."""
    run = uuid4()
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.process_run (run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, "
            "partitions) SELECT %s, %s, %s, process_id, %s, %s, 1, '{}' FROM catalog.process WHERE process_key = %s",
            [run, began, current_context().organisation_id, status, ended, process],
        )
    return run


def alert_events(engine: Engine) -> list[AlertEvent]:
    """Return all recorded alert events, in order."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT * FROM catalog.alert_event ORDER BY transaction_id, alert_event_id"
        ).fetchall()
    return [alert_event_of(row) for row in rows]


def columns(engine: Engine, key: str, schemas: Mapping[str, Sequence[str]]) -> None:
    """Schemas of a dataset by their hashes: the names of their columns."""
    with transaction(engine) as cursor:
        for schema, names in schemas.items():
            for order, name in enumerate(names):
                cursor.execute(
                    "INSERT INTO catalog.dataset_schema (dataset_id, schema_hash, column_order, organisation_id, "
                    "column_name, column_type, nullable, column_metadata) "
                    "SELECT dataset_id, %s, %s, organisation_id, %s, 'int', true, '{}' FROM catalog.dataset "
                    "WHERE full_name = %s",
                    [schema, order, name, key],
                )
