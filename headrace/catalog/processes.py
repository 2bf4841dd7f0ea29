"""Look up external processes by the names that schedulers and producers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.registry import REGISTRATION_LOCK
from headrace.catalog.scans import ExternalKey
from headrace.catalog.sql import statement
from headrace.database.jsonb import jsonb

ProcessName = tuple[str, str, str]  # technology, instance, external name of the process
_INGESTION_LOCK = 0x696E67657374  # "ingest"


def lock(cursor: Cursor[Any]) -> None:
    """Block other writers of completions until the transaction ends: their sequence is the order of visibility."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_INGESTION_LOCK])


def lock_events(cursor: Cursor[Any], organisation: UUID) -> None:
    """Block other projections of the organisation's events until the transaction ends. Taken before `lock`."""
    # Prepared plans are kept, because planning costs more than execution. All of these statements use index lookups; a
    # plan made while a table was small would still scan it when it is large.
    cursor.execute(
        "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), "
        "set_config('enable_mergejoin', 'off', true), pg_advisory_xact_lock(hashtextextended(%s, 0))",
        [f"run events/{organisation}"],
    )


def find_processes(
    cursor: Cursor[Any], organisation: UUID, names: Iterable[ProcessName], *, make: bool
) -> dict[ProcessName, dict[str, Any]]:
    """Return the processes with these external names; unknown ones are created, or omitted."""
    wanted = [
        {
            "technology": name[0],
            "instance": name[1],
            "external_name": name[2],
            "short_key": key.short,
            "whole_key": key.whole,
        }
        for name in sorted(set(names))
        for key in (ExternalKey.of(name[0], name[2], name[1]),)
    ]
    if not wanted:
        return {}
    parameters = {"organisation": organisation, "processes": jsonb(wanted), "make": False}
    found = statement("find_processes").execute(cursor, parameters).fetchall()
    if make and len(found) < len(wanted):
        # A concurrent report, scan or declaration may create the same process; all lock in this order.
        lock(cursor)
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REGISTRATION_LOCK])
        found = statement("find_processes").execute(cursor, {**parameters, "make": True}).fetchall()
    return {(row["technology"], row["instance"], row["external_name"]): row for row in found}
