"""The outbox for Dagster: genuine completions of external processes, and the versions that they published."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.events.scheduler_versions import NOT_MEASURED
from headrace.events.sql import statement


@dataclass(frozen=True, slots=True)
class CompletedVersion:
    """The version that a completion published; None for unreported fields.

    not_measured: why a requested measurement failed.
    """

    dataset: str
    partition: str | None
    tag: str
    location: str | None
    row_count: int | None
    byte_size: int | None
    checksum: str | None
    not_measured: str | None


@dataclass(frozen=True, slots=True)
class PendingMaterialization:
    """A completion to report to Dagster: of a process or, if `version` is given, of a dataset.

    late: a newer one has been reported already. process: its external name. scanned: a scan contains the process.
    business_date: the partition or business date that the run names.
    """

    completion_id: UUID
    event_key: str
    version_id: UUID | None
    late: bool
    at: datetime
    technology: Technology | None
    instance: str
    process: str | None
    scanned: bool
    process_key: str | None
    run_id: UUID | None
    run: str | None
    attempt: int
    status: str
    started_at: datetime | None
    exit_code: int | None
    machine: str | None
    log_location: str | None
    business_date: str | None
    version: CompletedVersion | None


def queue_materializations(
    cursor: Cursor[Any], organisation: UUID, fresh: Collection[str], versions: Collection[tuple[str, UUID]]
) -> None:
    """Queue for Dagster the runs that have just completed, and the versions that were published, unless all of it is
    history.

    fresh: the keys of the new completions. versions: each with the completion that it is reported by.
    """
    if not fresh and not versions:
        return
    statement("queue_materializations").execute(
        cursor,
        {
            "organisation": organisation,
            "completions": list({*fresh, *(key for key, _ in versions)}),
            "fresh": list(fresh),
            "versions": jsonb([{"event_key": key, "version_id": version} for key, version in versions]),
        },
    )


def pending_materializations(engine: Engine, limit: int) -> list[PendingMaterialization]:
    """Return at most `limit` completions, earliest first; they stay until `delete_delivered`. For one reader at a
    time."""
    with transaction(engine) as cursor:
        rows = statement("pending_materializations").execute(
            cursor, {"organisation": current_context().organisation_id, "limit": limit}
        )
        return [_pending(row) for row in rows]


def delete_delivered(engine: Engine, delivered: Sequence[PendingMaterialization]) -> None:
    """Delete delivered completions from the outbox."""
    with transaction(engine) as cursor:
        statement("delivered_materializations").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "completions": [each.completion_id for each in delivered],
            },
        )


def _pending(row: Mapping[str, Any]) -> PendingMaterialization:
    return PendingMaterialization(
        completion_id=row["completion_id"],
        event_key=row["event_key"],
        version_id=row["version_id"],
        late=row["late"],
        at=row["at"],
        technology=Technology(row["technology"]) if row["technology"] else None,
        instance=row["instance"] or "",
        process=row["external_name"],
        scanned=row["lifecycle"] != "UNSCANNED",
        process_key=row["process_key"],
        run_id=row["run_id"],
        run=row["run"],
        attempt=row["attempt"],
        status=row["status"],
        started_at=row["started_at"],
        exit_code=row["exit_code"],
        machine=row["machine"],
        log_location=row["log_location"],
        business_date=row["business_date"] or None,
        version=_version(row) if row["full_name"] else None,
    )


def _version(row: Mapping[str, Any]) -> CompletedVersion:
    return CompletedVersion(
        dataset=row["full_name"],
        partition=row["partition_key"] or None,
        tag=row["version_tag"],
        location=row["path"] or None,
        row_count=row["row_count"],
        byte_size=row["byte_size"],
        checksum=row["checksum"] or None,
        not_measured=row["metadata_json"].get(NOT_MEASURED),
    )
