"""Lineage edges between datasets and external processes, which are declared separately."""

from typing import Any

from psycopg import Cursor

from headrace.catalog.sql import statement
from headrace.database.ids import organisation_id


def link(cursor: Cursor[Any]) -> None:
    """Bring the edges to what is declared (`produced_by`) and confirmed, for the processes that are known by now.

    To be called by who holds the lock of registrations.
    """
    statement("link_datasets").execute(cursor, {"organisation": organisation_id()})
