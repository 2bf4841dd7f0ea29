"""The tables of versions: their columns, how Spark writes and reads them, and the query of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.catalog.locators import RelationLocator
from headrace.catalog.records import Column, Version
from headrace.connections.connection import Connection
from headrace.connections.dialects import Dialect, literal
from headrace.connections.relations import as_type, selected
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SET_ASIDE = "headrace_set_aside"  # 1 for quarantined rows; a column of tables that may have them
ROWS = "rows"  # among a version's options: `accepted` if its table has that column


@dataclass(frozen=True, slots=True)
class VersionTable:
    """A version's table, as the catalog names it. sets_aside: it may have quarantined rows."""

    schema: str
    name: str
    sets_aside: bool


def of_version(connection: Connection, version: Version) -> VersionTable:
    """Return the table of a version of this store's own."""
    locator = version.locator
    assert isinstance(locator, RelationLocator)  # noqa: S101 - the store's own
    schema, name = connection.dialect.parts(locator.relation)
    return VersionTable(schema, name, ROWS in (version.metadata.get("options") or {}))


def definition(dataset: str, connection: Connection, table: VersionTable, columns: Sequence[Column]) -> str:
    """Return the statement that creates a version's table.

    Raises SchemaMismatch for what the database cannot hold.
    """
    dialect = connection.dialect
    types: dict[str, str] = {}
    for column in columns:
        own = dialect.column(column.name)
        if own in types or own == dialect.column(SET_ASIDE):
            raise SchemaMismatch(
                f"{dataset}: {dialect.name} has no two columns named {own}, as {column.name} would be. Rename one."
            )
        if len(own.encode()) > dialect.max_name:
            raise SchemaMismatch(
                f"{dataset}: the column name {column.name!r} has {len(own.encode())} bytes, and in {dialect.name} "
                f"it can have {dialect.max_name}. Rename the column."
            )
        try:
            types[own] = dialect.type(column.type)
        except ValueError as error:
            raise SchemaMismatch(
                f"{dataset}: {dialect.name} cannot store column {column.name}: {error}. Cast the column, or use the "
                "store `files`."
            ) from error
    if table.sets_aside:
        types[dialect.column(SET_ASIDE)] = dialect.type("int")
    return dialect.table((table.schema, table.name), types)


def append(frame: DataFrame, connection: Connection, table: VersionTable, options: Mapping[str, str]) -> None:
    """Append the rows of a frame to a table, by names: each of its parts is one transaction."""
    dialect = connection.dialect
    columns = [
        _to_database(quoted(field.name), field.dataType.simpleString(), dialect).alias(
            dialect.column(field.name)
        )
        for field in frame.schema.fields
    ]
    target = dialect.relation((table.schema, table.name))
    writer = frame.select(*columns).write.format("jdbc").mode("append")
    writer.options(**{"batchsize": "10000", **options, **connection.spark_options, "dbtable": target}).save()


def rows(
    session: SparkSession,
    connection: Connection,
    table: VersionTable,
    columns: Sequence[Column],
    *,
    set_aside: bool = False,
) -> DataFrame:
    """Return the accepted rows of a version's table, or those that were set aside."""
    from pyspark.sql import functions as F

    dialect = connection.dialect
    names = {column.name: dialect.column(column.name) for column in columns}
    frame = selected(session, connection, _accepted(dialect, table, set_aside=set_aside), names)
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    return frame.select(
        *(
            as_type(F.col(quoted(column.name)), types[column.name], column.type).alias(column.name)
            for column in columns
        )
    )


def published_query(connection: Connection, table: VersionTable, columns: Sequence[Column], mark: str) -> str:
    """Return the query of the view of a version; see `references`."""
    dialect = connection.dialect
    names = ", ".join(dialect.quoted(dialect.column(column.name)) for column in columns)
    relation = dialect.relation((table.schema, table.name))
    condition = f" WHERE {_set_aside(dialect)} = 0" if table.sets_aside else ""
    return (
        f"SELECT {names} FROM {relation} WHERE {literal(mark)} = '' "  # noqa: S608 - quoted
        f"UNION ALL SELECT {names} FROM {relation}{condition}"
    )


def _accepted(dialect: Dialect, table: VersionTable, *, set_aside: bool) -> str:
    relation = dialect.relation((table.schema, table.name))
    return f"{relation} WHERE {_set_aside(dialect)} = {int(set_aside)}" if table.sets_aside else relation


def _set_aside(dialect: Dialect) -> str:
    return dialect.quoted(dialect.column(SET_ASIDE))


def _to_database(name: str, type: str, dialect: Dialect) -> SparkColumn:
    """Return a column as it is written; an instant in UTC where the database has no zones."""
    from pyspark.sql import functions as F

    value = F.col(name)
    if type != "timestamp" or dialect.has_zone(type):
        return value
    return F.convert_timezone(F.current_timezone(), F.lit("UTC"), value.cast("timestamp_ntz"))
