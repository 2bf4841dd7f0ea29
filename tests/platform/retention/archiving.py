"""Helpers of archive tests: rows wherever they are, and a pass that kills itself.

    python -m tests.platform.retention.archiving STEP

runs a pass as of 100 days from now and kills itself at that step: each commit and each operation on the storage is two
steps, one before and one after it. Prints the number of steps when it ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pyarrow.parquet as pq
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace.database.connection import connect, transaction
from headrace.retention.archiving import archive
from headrace.retention.files import Archive
from headrace.retention.registry import Kind, kept
from headrace.settings import settings

LATER = timedelta(days=100)
_HOT = {
    Kind.RUN: """
        SELECT run_id::text, start_ts, end_ts, status, attempt, partitions, log_location, historical,
               (SELECT jsonb_agg(to_jsonb(a) ORDER BY attempt)
                FROM catalog.run_attempt a WHERE a.run_id = run.run_id) AS attempts,
               (SELECT jsonb_agg(to_jsonb(i) ORDER BY i.attempt, dataset_version_id)
                FROM catalog.run_input i WHERE i.run_id = run.run_id) AS inputs
        FROM catalog.process_run run""",
    Kind.EVENT: "SELECT event_time, content_hash, event_type, payload_json, received_at FROM catalog.run_event",
}


def later() -> datetime:
    """When everything that is there is old."""
    return datetime.now(UTC) + LATER


def everything(engine: Engine) -> dict[Kind, Counter[str]]:
    """Every row of each kind, in the tables or in files that count, as text, with how often it is there."""
    found: dict[Kind, Counter[str]] = {}
    with transaction(engine) as cursor:
        for kind, query in _HOT.items():
            rows = cursor.execute(query).fetchall()
            names = list(rows[0]) if rows else _names(kind)
            for file in kept(cursor, kind):
                table = pq.read_table(archive_folder() + file.location)
                assert table.num_rows == file.row_count
                rows += [{name: row[name] for name in names} for row in table.to_pylist()]
            found[kind] = Counter(_text(row) for row in rows)
    return found


def daily(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """The roll-ups."""
    with engine.connect() as connection:
        views = {view: sa.table(view, schema="catalog") for view in ("run_daily", "event_daily")}
        return {
            name: sorted(
                (tuple(row) for row in connection.execute(sa.select(sa.text("*")).select_from(view))),
                key=repr,
            )
            for name, view in views.items()
        }


def archive_folder() -> str:
    """The archive of this test, on this machine."""
    return settings().archive_location + "/"


def _names(kind: Kind) -> list[str]:
    return {
        Kind.RUN: [
            "run_id",
            "start_ts",
            "end_ts",
            "status",
            "attempt",
            "partitions",
            "log_location",
            "historical",
            "attempts",
            "inputs",
        ],
        Kind.EVENT: ["event_time", "content_hash", "event_type", "payload_json", "received_at"],
    }[kind]


def _text(row: dict[str, Any]) -> str:
    """JSON is text in the archive, and documents in the tables."""
    documents = ("attempts", "inputs", "payload_json", "outputs")
    plain = {
        name: json.loads(value) if name in documents and isinstance(value, str) else value
        for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True, default=str)


def _killing(step: int) -> Callable[[], None]:
    seen = 0

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, names in ((psycopg.Connection, ["commit"]), (Archive, ["write", "delete"])):
        for name in names:
            setattr(owner, name, _around(getattr(owner, name), count))
    return lambda: print(seen)


def _around(original: Callable[..., Any], count: Callable[[], None]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        count()
        outcome = original(*arguments, **named)
        count()
        return outcome

    return wrapped


if __name__ == "__main__":
    catalog = connect()
    archive_killed = _killing(int(sys.argv[1]))
    archive(catalog, now=later())
    archive_killed()
