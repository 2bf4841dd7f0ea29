"""PostgreSQL rows as Arrow batches, whatever the table's columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection, Cursor
from psycopg.rows import tuple_row
from psycopg.types.string import TextLoader

from headrace.retention.sql import statement

POSTGRES = b"postgres"  # field metadata: the type of its column in PostgreSQL
TIME = pa.timestamp("us", tz="UTC")
_BATCH_SIZE = 5_000
_TYPES = {
    "text": pa.string(),
    "varchar": pa.string(),
    "bool": pa.bool_(),
    "int2": pa.int64(),
    "int4": pa.int64(),
    "int8": pa.int64(),
    "float4": pa.float64(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamptz": TIME,
    "_text": pa.list_(pa.string()),
}


def stream(cursor: Cursor[Any], name: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Run the statement without parameters in `<name>.sql`; returns its columns as Arrow, and its rows in batches.

    UUIDs, JSON and other types that Arrow lacks are text, exactly as PostgreSQL writes them.
    """
    reader = _reader(cursor.connection)
    reader.execute(statement(name).text)
    schema = pa.schema([_field(cursor.connection, column) for column in reader.description or ()])
    return schema, _batches(reader, schema)


def _reader(connection: Connection[Any]) -> psycopg.ServerCursor[Any]:
    reader = psycopg.ServerCursor(connection, "archived", row_factory=tuple_row)
    reader.itersize = _BATCH_SIZE
    for type_ in connection.adapters.types:
        if type_.name not in _TYPES:
            reader.adapters.register_loader(type_.oid, TextLoader)
        if f"_{type_.name}" not in _TYPES:
            reader.adapters.register_loader(type_.array_oid, TextLoader)
    return reader


def _field(connection: Connection[Any], column: psycopg.Column) -> pa.Field:
    known = connection.adapters.types.get(column.type_code)
    name = known.name if known else ""
    if known and column.type_code == known.array_oid:
        name = f"_{name}"
    return pa.field(column.name, _TYPES.get(name, pa.string()), metadata={POSTGRES: name.encode()})


def _batches(reader: psycopg.ServerCursor[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with reader:
        while rows := reader.fetchmany(_BATCH_SIZE):
            columns = zip(*rows, strict=True)
            yield pa.record_batch(
                [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
                schema=schema,
            )


def bounds(batch: pa.RecordBatch, time: str) -> tuple[datetime, datetime]:
    """Return the earliest and the latest time of a non-empty batch."""
    found = pc.min_max(batch.column(time)).as_py()
    return found["min"], found["max"]
