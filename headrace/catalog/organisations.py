"""Organisations: the owners of everything in a catalog."""

from typing import Any

from psycopg import Cursor

from headrace.context import current_context

_CREATE = "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING"


def create_organisation(cursor: Cursor[Any]) -> None:
    """Create the caller's organisation, if it is missing, as it is in a new catalog."""
    here = current_context()
    cursor.execute(_CREATE, [here.organisation_id, here.organisation])
