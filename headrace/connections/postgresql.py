"""Statements on PostgreSQL by libpq, which needs neither Java nor a driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from typing_extensions import override

from headrace.connections.connection import Connection
from headrace.connections.database import ANSWER_SECONDS, Database, Value
from headrace.connections.failures import explained

if TYPE_CHECKING:
    import psycopg

# A parameter, and what may contain a `?` that is none: texts, names, comments.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|\?\?|\?""", re.DOTALL
)
_VALUES = (
    "bool",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "date",
    "timestamp",
    "timestamptz",
    "bytea",
)
_KINDS = {  # by pg_class.relkind
    "r": "TABLE",
    "p": "TABLE",
    "f": "FOREIGN TABLE",
    "v": "VIEW",
    "m": "MATERIALIZED VIEW",
}
_RELATIONS = """
    SELECT c.relname, c.relkind::text
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND starts_with(c.relname, $2) AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
"""


class PostgresqlDatabase(Database):
    """An open connection of psycopg."""

    def __init__(self, connection: Connection, opened: psycopg.Connection) -> None:
        super().__init__(connection)
        self._opened = opened

    @override
    def query(
        self, sql: str, values: Sequence[Value] = (), max_rows: int | None = None, seconds: int | None = None
    ) -> list[dict[str, Value]]:
        from psycopg import RawCursor
        from psycopg.rows import dict_row

        with self._transaction():
            cursor = RawCursor(self._opened, row_factory=dict_row)
            if seconds is not None:
                cursor.execute(f"SET LOCAL statement_timeout = '{seconds:d}s'".encode())
            cursor.execute(_numbered(sql), values)
            return cursor.fetchall() if max_rows is None else cursor.fetchmany(max_rows)

    @override
    def execute(self, *statements: str) -> None:
        with self._transaction():
            for each in statements:
                self._opened.execute(each.encode())
            self._opened.commit()

    @override
    def call(self, sql: str, values: Sequence[Value] = ()) -> None:
        from psycopg import RawCursor

        with self._transaction():
            RawCursor(self._opened).execute(_numbered(sql), values)
            self._opened.commit()

    @override
    def relations(self, schema: str, prefix: str) -> dict[str, str]:
        from psycopg import RawCursor

        with self._transaction():
            found = RawCursor(self._opened).execute(_RELATIONS, (schema, prefix)).fetchall()
        return {name: _KINDS[kind] for name, kind in found}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Roll back what the block has not committed, and convert its exceptions."""
        with explained(self.connection):
            try:
                yield
            finally:
                self._opened.rollback()


@contextmanager
def opened_by_libpq(connection: Connection) -> Iterator[PostgresqlDatabase]:
    """Connect to the database. Raises StoreUnavailable if it is not reached, or refuses the user."""
    import psycopg

    with explained(connection):
        opened = psycopg.connect(connection.conninfo, connect_timeout=ANSWER_SECONDS)
    try:
        _load_others_as_text(opened)
        with explained(connection):
            opened.execute("SET TIME ZONE 'UTC'")
            opened.commit()
        yield PostgresqlDatabase(connection, opened)
    finally:
        opened.close()


def _load_others_as_text(opened: psycopg.Connection) -> None:
    """Return values of types that no Value has as PostgreSQL writes them: JSON, UUIDs, intervals, arrays."""
    from psycopg.types.string import TextLoader

    kept = {opened.adapters.types[name].oid for name in _VALUES}
    for type in opened.adapters.types:
        for oid in (type.oid, type.array_oid):
            if oid and oid not in kept:
                opened.adapters.register_loader(oid, TextLoader)


def _numbered(sql: str) -> bytes:
    """Return a statement with `$1`, `$2` for each `?`; `??` is PostgreSQL's operator `?`, as in its JDBC driver."""
    count = 0

    def place(match: re.Match[str]) -> str:
        nonlocal count
        if match[0] == "??":
            return "?"
        if match[0] != "?":
            return match[0]
        count += 1
        return f"${count}"

    return _TOKEN.sub(place, sql).encode()
