"""Look up external processes by the names that schedulers and producers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.locks import lock_completions, lock_registrations
from headrace.catalog.scans import ExternalKey
from headrace.catalog.sql import statement
from headrace.database.jsonb import jsonb

ProcessName = tuple[str, str, str]  # technology, instance, external name of the process


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
        lock_completions(cursor)
        lock_registrations(cursor)
        found = statement("find_processes").execute(cursor, {**parameters, "make": True}).fetchall()
    return {(row["technology"], row["instance"], row["external_name"]): row for row in found}
