"""Lineage edges between datasets and external processes, which are declared separately."""

from typing import Any

from psycopg import Cursor

from headrace.catalog.sql import statement
from headrace.database.ids import organisation_id


def link(cursor: Cursor[Any]) -> None:
    """Update the edges to the declared (`produced_by`) and confirmed ones, for the processes known by now.

    The caller must hold the lock of registrations.
    """
    statement("link_datasets").execute(cursor, {"organisation": organisation_id()})
