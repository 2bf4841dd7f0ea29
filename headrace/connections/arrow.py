"""Rows of PostgreSQL in Spark without a JDBC driver: the tasks of a job copy them as Arrow, by ADBC.

Spark's tasks run `_fetched` and `_ingested` in Python; each is a connection, a COPY and a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

from headrace.connections.connection import Connection
from headrace.connections.failures import explained
from headrace.spark.errors import StoreUnavailable

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_DRIVER = "adbc_driver_postgresql"
# Spark's types by PostgreSQL's, as Spark's JDBC dialect has them; all others are texts.
_TYPES = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "float4": "float",
    "float8": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "bytea": "binary",
}
# PostgreSQL's types that have infinite values, which as numbers would be other times; Spark's JDBC dialect has these.
_ENDLESS = {"date": "date", "timestamp_ntz": "timestamp", "timestamp": "timestamptz"}
_ENDS = (
    ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
    ("0001-01-01", "9999-12-31"),
)  # of times, and of dates
_ANY_DECIMAL = "decimal(38,18)"  # of numbers without a declared precision, as in Spark's JDBC dialect
_MAX_PRECISION = 38


def fetched(
    session: SparkSession, place: Connection, relation: str, conditions: Sequence[str] = ()
) -> DataFrame:
    """Return the rows of a relation. conditions: each is read by a task of its own; all rows meet one of them.

    Columns have the relation's names. Raises StoreUnavailable without ADBC, StatementFailed.
    """
    from pyspark.sql import functions as F

    from headrace.spark.quoting import quoted

    _require_driver(place)
    types = _types(place, relation)
    columns = ", ".join(_selected(place, name, type) for name, type in types.items())
    query = f"SELECT {columns} FROM {relation}"  # noqa: S608 - quoted
    queries = [f"{query} WHERE {each}" for each in conditions] or [query]
    conninfo = place.conninfo
    # ADBC returns decimals as text.
    shape = ", ".join(
        f"{quoted(name)} {'string' if type.startswith('decimal') else type}" for name, type in types.items()
    )
    tasks = session.range(0, len(queries), 1, len(queries))
    rows = tasks.mapInArrow(lambda numbers: _fetched(conninfo, queries, numbers), shape)
    return rows.select(
        *(
            F.col(quoted(name)).cast(type).alias(name) if type.startswith("decimal") else F.col(quoted(name))
            for name, type in types.items()
        )
    )


def ingest(frame: DataFrame, place: Connection, schema: str, table: str) -> None:
    """Append the rows of a frame to a table with columns of the same names and types.

    Each part of the frame is one transaction. Raises StoreUnavailable without ADBC.
    """
    from pyspark.sql import functions as F

    _require_driver(place)
    conninfo, names = place.conninfo, frame.columns
    numbered = frame.toDF(*map(str, range(len(names))))  # mapInArrow does not quote names
    written = numbered.mapInArrow(
        lambda batches: _ingested(conninfo, schema, table, names, batches), "rows bigint"
    )
    written.agg(F.sum("rows")).collect()


def first_batches(place: Connection, query: str, count: int) -> Iterator[pa.RecordBatch]:
    """Yield the first rows of a query in this process, decimals as text. Raises StoreUnavailable, StatementFailed."""
    _require_driver(place)
    with explained(place):
        yield from _copied(place.conninfo, f"{query} LIMIT {count:d}")


def _require_driver(place: Connection) -> None:
    if find_spec(_DRIVER) is None:
        raise StoreUnavailable(
            f"The connection {place.name} needs the extra `postgresql`: pip install 'headrace[postgresql]'."
        )


def _types(place: Connection, relation: str) -> dict[str, str]:
    """Return the columns of a relation with Spark's types."""
    import psycopg

    with explained(place), psycopg.connect(place.conninfo) as opened:
        cursor = opened.execute(f"SELECT * FROM {relation} LIMIT 0".encode())  # noqa: S608 - quoted
        names = {opened.adapters.types[name].oid: type for name, type in _TYPES.items()}
        numeric = opened.adapters.types["numeric"].oid
        return {
            column.name: _decimal(column)
            if column.type_code == numeric
            else names.get(column.type_code, "string")
            for column in cursor.description or ()
        }


def _decimal(column: psycopg.Column) -> str:
    precision, scale = column.precision, column.scale
    if precision is None or scale is None or precision > _MAX_PRECISION or not 0 <= scale <= precision:
        return _ANY_DECIMAL
    return f"decimal({precision},{scale})"


def _selected(place: Connection, name: str, type: str) -> str:
    column = place.dialect.quoted(name)
    if type in _ENDLESS:
        first, last = (f"CAST('{end}' AS {_ENDLESS[type]})" for end in _ENDS[type == "date"])
        return (
            f"CASE {column} WHEN '-infinity' THEN {first} WHEN 'infinity' THEN {last} "
            f"ELSE {column} END AS {column}"
        )
    return f"{column}::text AS {column}" if type == "string" else column


def _fetched(
    conninfo: str, queries: Sequence[str], numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from _copied(conninfo, queries[number])


def _copied(conninfo: str, query: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(conninfo) as opened, opened.cursor() as cursor:
        cursor.execute(query)
        for found in cursor.fetch_record_batch():
            columns = [
                each.storage if isinstance(each, pa.ExtensionArray) else each for each in found.columns
            ]
            yield pa.RecordBatch.from_arrays(columns, names=found.schema.names)


def _ingested(
    conninfo: str, schema: str, table: str, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from adbc_driver_postgresql import dbapi

    first = next(batches, None)
    if first is None:
        return
    rows = 0

    def named() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in chain([first], batches):
            rows += batch.num_rows
            yield batch.rename_columns(names)

    with dbapi.connect(conninfo) as opened, opened.cursor() as cursor:
        reader = pa.RecordBatchReader.from_batches(first.rename_columns(names).schema, named())
        cursor.adbc_ingest(table, reader, mode="append", db_schema_name=schema)
        opened.commit()
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})
