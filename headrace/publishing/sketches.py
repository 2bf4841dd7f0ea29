"""Store the sketches of versions' columns: with the version, or later, if another system wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.profiles.sketches import ColumnSketches
from headrace.publishing.sql import statement


def store_sketches(cursor: Cursor[Any], versions: Mapping[UUID, Mapping[str, ColumnSketches]]) -> None:
    """Store the sketches of new versions, by column."""
    organisation = current_context().organisation_id
    rows = [
        {
            "version_id": version_id,
            "organisation": organisation,
            "column": column,
            **{name: getattr(sketches, name) for name in ColumnSketches.__dataclass_fields__},
        }
        for version_id, by_column in versions.items()
        for column, sketches in by_column.items()
    ]
    if not rows:
        return
    with cursor.connection.pipeline():
        for row in rows:
            statement("store_sketch").execute(cursor, row)


def record_profile(
    engine: Engine,
    version_id: UUID,
    statistics: Mapping[str, Mapping[str, Any]],
    sketches: Mapping[str, ColumnSketches],
) -> None:
    """Store what has been measured of a version that another system wrote, in place of what was known."""
    with transaction(engine) as cursor:
        statement("store_statistics").execute(
            cursor, {"version_id": version_id, "statistics": jsonb(statistics)}
        )
        store_sketches(cursor, {version_id: sketches})
