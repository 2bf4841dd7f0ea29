"""Merge one dataset into another without losing information."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.openlineage.naming.sql import statement

_STEPS = ("merge_same_edges", "merge_edges", "merge_double", "merge_rest")


def merge(cursor: Cursor[Any], old: UUID, into: UUID) -> None:
    """Merge the dataset `old` into `into`: versions, pointers, schemas, lineage, checks, SLA history, pins, names.

    The histories of both pointers are combined, in the order of their moves, and the newest move counts. A tag that
    both have is distinguished by the version's id. `old` is deleted; its names and its id resolve to `into`.
    """
    both = {"old": old, "into": into}
    statement("merge_versions").execute(cursor, both)
    moves = statement("merge_moves").execute(cursor, both).fetchall()
    statement("merge_pointers").execute(cursor, both)
    statement("merge_history").execute(cursor, {"dataset_id": into, "moves": jsonb(moves)})
    for step in _STEPS:
        statement(step).execute(cursor, both)
    cursor.execute("DELETE FROM catalog.dataset WHERE dataset_id = %s", [old])
