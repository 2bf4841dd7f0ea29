"""Filter process keys to those visible to the caller under row-level security."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction

_PROCESSES = "SELECT process_key FROM catalog.process WHERE organisation_id = %s AND process_key = ANY (%s)"


def visible_processes(engine: Engine, keys: Collection[str]) -> set[str]:
    """Return those of these process keys that the caller may see."""
    with transaction(engine) as cursor:
        return {
            row["process_key"]
            for row in cursor.execute(_PROCESSES, [current_context().organisation_id, list(keys)])
        }
