"""Stage many rows for one statement in a temporary table, several times faster than JSON parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from psycopg import Cursor


def stage(
    cursor: Cursor[Any], table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """Create the table `pg_temp.<table>` with these columns and types; it is dropped at the end of the transaction."""
    made = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    cursor.execute(f"CREATE TEMPORARY TABLE {table} ({made}) ON COMMIT DROP")
    with cursor.copy(f"COPY pg_temp.{table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
