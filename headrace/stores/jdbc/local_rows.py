"""The first rows of PostgreSQL as JSON values, by ADBC, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headrace.catalog.locators import RelationLocator
from headrace.catalog.records import Version
from headrace.connections.arrow import first_batches
from headrace.connections.connection import connection
from headrace.stores.data_files.first_rows import has_plain_types
from headrace.stores.data_files.local_rows import json_rows
from headrace.stores.jdbc.tables import by_table, rows_query
from headrace.stores.protocol import JsonRow


def local_rows(
    versions: Sequence[Version], names: Sequence[str], hidden: frozenset[str], count: int
) -> list[JsonRow] | None:
    """Return up to `count` rows with the columns `names`, in the form of `display.rows`, with `hidden` ones masked.

    None if Spark is needed: for a JDBC driver, another program's table, a type that Arrow has otherwise, or versions of
    different columns. Raises StoreUnavailable, StatementFailed.
    """
    connections = {_place(version) for version in versions}
    types = {column.name: column.type for column in versions[0].columns}
    if len(connections) != 1 or None in connections or not all(map(has_plain_types, versions)):
        return None
    if any({column.name: column.type for column in each.columns} != types for each in versions):
        return None
    place = connection(str(connections.pop()))
    if place.driver is not None:
        return None
    query = rows_query(place.dialect, list(by_table(place, versions)), names)
    wanted = {column: types[column] for column in names}
    found: list[JsonRow] = []
    try:
        for batch in first_batches(place, query, count):
            found += json_rows(batch.rename_columns(list(wanted)), wanted, hidden)
    except (pa.ArrowException, OverflowError, ValueError):  # a value that Arrow or Python cannot represent
        return None
    return found


def _place(version: Version) -> str | None:
    """Return the connection of a version of this store's own."""
    locator = version.locator
    if version.metadata.get("database") is not None or not isinstance(locator, RelationLocator):
        return None
    return locator.connection
