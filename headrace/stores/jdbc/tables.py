"""The tables of versions: their columns, how Spark writes and reads them, and the query of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.catalog.records import Column, Version
from headrace.connections.arrow import ingest
from headrace.connections.connection import Connection
from headrace.connections.dialects import Dialect, literal
from headrace.connections.relations import as_type, selected
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SET_ASIDE = "headrace_set_aside"  # 1 for quarantined rows; a column of tables that may have them
NUMBER = "headrace_partition"  # of a row's partition, in the order in which one run wrote them
ROWS = "rows"  # among a version's options: `accepted` if its table has the column SET_ASIDE
NUMBER_OPTION = "partition"  # among them: the number of its partition, if its table has the column NUMBER


@dataclass(frozen=True, slots=True)
class VersionTable:
    """A table of versions, as the catalog names it, and which of its rows are meant.

    sets_aside: it may have quarantined rows. partitions: the numbers of some of its partitions; None: it has none.
    """

    schema: str
    name: str
    sets_aside: bool
    partitions: tuple[int, ...] | None = None


def tables_of(connection: Connection, version: Version) -> list[VersionTable]:
    """Return the tables of a version of this store's own: those that it was appended to, and its own."""
    options = version.metadata.get("options") or {}
    partitions = (int(options[NUMBER_OPTION]),) if NUMBER_OPTION in options else None
    names = [connection.dialect.parts(each.location.partition(":")[2]) for each in version.segments]
    return [VersionTable(schema, name, ROWS in options, partitions) for schema, name in names]


def by_table(connection: Connection, versions: Sequence[Version]) -> dict[VersionTable, list[Version]]:
    """Return the versions by the part of a table that has them: versions of one run with the same columns share one."""
    together: dict[tuple[VersionTable, tuple[object, ...]], list[tuple[VersionTable, Version]]] = {}
    for version in versions:
        shape = tuple((column.name, column.type) for column in version.columns)
        for table in tables_of(connection, version):
            together.setdefault((replace(table, partitions=None), shape), []).append((table, version))
    found = {}
    for (table, _), parts in together.items():
        numbers = sorted(number for part, _ in parts for number in part.partitions or ())
        found[replace(table, partitions=tuple(numbers) or None)] = [version for _, version in parts]
    return found


def definition(dataset: str, connection: Connection, table: VersionTable, columns: Sequence[Column]) -> str:
    """Return the statement that creates a version's table.

    Raises SchemaMismatch for what the database cannot hold.
    """
    dialect = connection.dialect
    types: dict[str, str] = {}
    for column in columns:
        own = dialect.column(column.name)
        if own in types or own in (dialect.column(SET_ASIDE), dialect.column(NUMBER)):
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
    if table.partitions is not None:
        types[dialect.column(NUMBER)] = dialect.type("int")
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
    if connection.driver is None:
        ingest(frame.select(*columns), connection, table.schema, table.name)
        return
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
    """Return the accepted rows of a table, or those that were set aside."""
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


def bounds_query(dialect: Dialect, tables: Sequence[VersionTable], columns: Mapping[str, str]) -> str | None:
    """Return the query of what `readback.summary_aggregates` would find in the tables; None if only Spark knows.

    columns: their types, by name.
    """
    if dialect.bounds is None:
        return None
    aggregates = ["COUNT(*) AS rows"]
    for number, (name, type) in enumerate(columns.items()):
        value = dialect.quoted(dialect.column(name))
        aggregates.append(f"COUNT(*) - COUNT({value}) AS nulls{number}")
        if type != "binary":
            low, high = dialect.bounds.get(type, ("MIN({0})", "MAX({0})"))
            aggregates += [f"{low.format(value)} AS low{number}", f"{high.format(value)} AS high{number}"]
    return f"SELECT {', '.join(aggregates)} FROM ({rows_query(dialect, tables, list(columns))}) written"  # noqa: S608


def rows_query(dialect: Dialect, tables: Sequence[VersionTable], columns: Sequence[str]) -> str:
    """Return the query of the accepted rows of tables that all have the columns."""
    names = ", ".join(dialect.quoted(dialect.column(name)) for name in columns)
    return " UNION ALL ".join(
        f"SELECT {names} FROM {_accepted(dialect, table, set_aside=False)}"  # noqa: S608 - quoted
        for table in tables
    )


def published_query(
    connection: Connection,
    tables: Mapping[VersionTable, Sequence[Version]],
    columns: Sequence[Column],
    marks: Sequence[str],
) -> str:
    """Return the query of the view of versions, by table; see `references`. Columns that a version lacks are null.

    Raises SchemaMismatch for columns that the database cannot have together.
    """
    dialect = connection.dialect
    own_names: dict[str, str] = {}
    for column in columns:
        other = own_names.setdefault(dialect.column(column.name), column.name)
        if other != column.name:
            raise SchemaMismatch(
                f"Partitions have the columns {other} and {column.name}, which are one in {dialect.name}. Materialize "
                "the partitions with the former name again."
            )
    selects = []
    for table, versions in tables.items():
        own = {column.name for column in versions[0].columns}
        names = [
            dialect.quoted(dialect.column(each.name))
            if each.name in own
            else f"CAST(NULL AS {dialect.type(each.type)}) AS {dialect.quoted(dialect.column(each.name))}"
            for each in columns
        ]
        selects.append((", ".join(names), dialect.relation((table.schema, table.name)), table))
    names_of_first, first, _ = selects[0]
    marked = " AND ".join(f"{literal(mark)} = ''" for mark in marks)
    branches = [
        f"SELECT {names_of_first} FROM {first} WHERE {marked}",  # noqa: S608 - quoted
        *(f"SELECT {names} FROM {_accepted(dialect, table, set_aside=False)}" for names, _, table in selects),  # noqa: S608
    ]
    return " UNION ALL ".join(branches)


def _accepted(dialect: Dialect, table: VersionTable, *, set_aside: bool) -> str:
    relation = dialect.relation((table.schema, table.name))
    conditions = []
    if table.sets_aside:
        conditions.append(f"{dialect.quoted(dialect.column(SET_ASIDE))} = {int(set_aside)}")
    if table.partitions is not None:
        numbers = ", ".join(map(str, table.partitions))
        conditions.append(f"{dialect.quoted(dialect.column(NUMBER))} IN ({numbers})")
    return f"{relation} WHERE {' AND '.join(conditions)}" if conditions else relation


def _to_database(name: str, type: str, dialect: Dialect) -> SparkColumn:
    """Return a column as it is written; an instant in UTC where the database has no zones."""
    from pyspark.sql import functions as F

    value = F.col(name)
    if type != "timestamp" or dialect.has_zone(type):
        return value
    return F.convert_timezone(F.current_timezone(), F.lit("UTC"), value.cast("timestamp_ntz"))
