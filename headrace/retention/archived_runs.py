"""Reports of runs that are in the archive, by id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import pyarrow.compute as pc
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.queries.rows import RunReport
from headrace.queries.runs import assembled, outputs_of
from headrace.retention.files import Archive
from headrace.retention.history import dashed
from headrace.retention.registry import Kind
from headrace.retention.sql import statement
from headrace.retention.visibility import files, visible_runs

_ATTEMPT = (
    ("attempt", "number"),
    ("state", "state"),
    ("reason", "reason"),
    ("failure_kind", "failure_kind"),
    ("log_location", "log_location"),
    ("dagster_run_id", "dagster_run_id"),
    ("host", "host"),
    ("ending", "ending"),
    ("exit_code", "exit_code"),
)


def archived_reports(engine: Engine, prefix: str) -> tuple[RunReport, ...]:
    """Return the archived runs whose id, or Dagster run id, has this prefix; () if there is none.

    Raises ArchiveUnavailable on storage errors.
    """
    archive = Archive(current_context().settings.archive_location)
    digits = prefix.replace("-", "")
    begins = pc.starts_with(pc.field("run_id"), dashed(digits)) | pc.starts_with(
        pc.field("root_dagster_run_id"), prefix
    )
    rows = [
        row
        for file in files(engine, Kind.RUN)
        for row in visible_runs(engine, archive.read(file.location, where=begins)).to_pylist()
    ]
    if not rows:
        return ()
    with transaction(engine) as cursor:
        return _explained(cursor, rows)


def _explained(cursor: Cursor[Any], rows: Sequence[dict[str, Any]]) -> tuple[RunReport, ...]:
    run_ids = [UUID(row["run_id"]) for row in rows]
    read = [
        {"run_id": row["run_id"], "version_id": each["dataset_version_id"], "reason": each["reason"]}
        for row in rows
        for each in json.loads(row["inputs"] or "[]")
    ]
    inputs = statement("archived_run_inputs").execute(cursor, {"read": jsonb(read), "run_ids": run_ids})
    return assembled(
        [_run(row) for row in sorted(rows, key=lambda row: (row["start_ts"], row["run_id"]))],
        [attempt for row in rows for attempt in _attempts(row)],
        inputs.fetchall(),
        outputs_of(cursor, run_ids),
    )


def _run(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "run_id": UUID(row["run_id"]),
        "parent_run_id": row["parent_run_id"] and UUID(row["parent_run_id"]),
        "state": row["status"],
        "external_run": json.loads(row["facets_json"]).get("external_run"),
    }


def _attempts(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in json.loads(row["attempts"] or "[]"):
        yield {
            "run_id": UUID(row["run_id"]),
            "started_at": datetime.fromisoformat(each["start_ts"]),
            "ended_at": each["end_ts"] and datetime.fromisoformat(each["end_ts"]),
            **{name: each[stored] for stored, name in _ATTEMPT},
        }
