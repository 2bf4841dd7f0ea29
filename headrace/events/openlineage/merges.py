"""One dataset becoming part of another: all that was known of it is known of the other, and nothing is lost."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.events.openlineage.sql import statement

_STEPS = ("merge_same_edges", "merge_edges", "merge_double", "merge_rest")


def merge(cursor: Cursor[Any], old: UUID, into: UUID) -> None:
    """Make the dataset `old` part of `into`: versions, pointers, schemas, lineage, checks, pins, names.

    The history of both pointers becomes one, in the order of its moves, and the newest one stands. A tag that both have
    is distinguished by the version's id. `old` is no more; it is found by its names and by its id (`asking.locate_id`).
    """
    both = {"old": old, "into": into}
    statement("merge_versions").execute(cursor, both)
    moves = statement("merge_moves").execute(cursor, both).fetchall()
    statement("merge_pointers").execute(cursor, both)
    statement("openlineage_moves").execute(cursor, {"dataset_id": into, "moves": jsonb(moves)})
    for step in _STEPS:
        statement(step).execute(cursor, both)
    cursor.execute("DELETE FROM catalog.dataset WHERE dataset_id = %s", [old])
