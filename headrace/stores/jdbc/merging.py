"""Copy the rows of a version that stay when others are merged into it: a statement of the database, past Spark."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.records import Column
from headrace.connections.database import Database
from headrace.connections.dialects import Dialect
from headrace.stores.jdbc.tables import VersionTable, rows_query


def copy_without(
    database: Database,
    earlier: Sequence[VersionTable],
    keys: VersionTable,
    into: VersionTable,
    columns: Sequence[Column],
    key_columns: Sequence[str],
) -> int:
    """Copy the rows of the earlier tables whose keys are not in the table `keys`, and return their number.

    Nulls in keys are equal. Raises StatementFailed.
    """
    dialect = database.dialect
    names = [column.name for column in columns]
    listed = ", ".join(dialect.quoted(dialect.column(name)) for name in names)
    target = dialect.relation((into.schema, into.name))
    same = " AND ".join(_same(database, keys, name) for name in key_columns)
    database.execute(
        f"INSERT INTO {target} ({listed}) SELECT {listed} FROM ({rows_query(dialect, earlier, names)}) was "  # noqa: S608
        f"WHERE NOT EXISTS (SELECT 1 FROM {_relation(dialect, keys)} gone WHERE {same})"
    )
    return row_count(database, [into])


def row_count(database: Database, tables: Sequence[VersionTable]) -> int:
    """Return the number of all rows of tables. Raises StatementFailed."""
    relations = [_relation(database.dialect, table) for table in tables]
    return sum(int(str(database.value(f"SELECT COUNT(*) FROM {each}"))) for each in relations)  # noqa: S608 - quoted


def _same(database: Database, keys: VersionTable, name: str) -> str:
    """Return the condition that a key's column is equal in `was` and `gone`, by which a database can hash.

    It cannot by IS NOT DISTINCT FROM, nor by a condition with OR.
    """
    dialect, column = database.dialect, database.dialect.quoted(database.dialect.column(name))
    was, gone, relation = f"was.{column}", f"gone.{column}", _relation(dialect, keys)
    [counts] = database.query(f"SELECT COUNT(*), COUNT({column}) AS present FROM {relation}")  # noqa: S608 - quoted
    rows, present = counts.values()
    if rows == present:
        return f"{was} = {gone}"
    if not present:
        return f"{was} IS NULL"
    any_value = f"(SELECT {column} FROM {relation} WHERE {column} IS NOT NULL FETCH FIRST 1 ROWS ONLY)"  # noqa: S608
    return (
        f"({was} IS NULL) = ({gone} IS NULL) AND COALESCE({was}, {any_value}) = COALESCE({gone}, {any_value})"
    )


def _relation(dialect: Dialect, table: VersionTable) -> str:
    return dialect.relation((table.schema, table.name))
