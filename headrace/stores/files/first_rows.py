"""A version's first rows as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.catalog.records import Column, Version
from headrace.stores.files.filesystem import Files
from headrace.stores.files.formats import PARQUET
from headrace.stores.files.opening import files_for
from headrace.stores.files.predicates import quoted
from headrace.stores.files.reading import read_versions, require_complete

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

Row = dict[str, str | None]

# Types with the same text in Arrow, which takes milliseconds where a Spark job takes a tenth of a second.
_PLAIN = frozenset(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "date",
        "timestamp",
        "timestamp_ntz",
    ]
)
_UNFORMATTABLE = "<value out of range"  # Arrow's text for a date after the year 9999
_SPOKEN = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def first_rows(session: SparkSession, version: Version, count: int) -> list[Row]:
    """Read up to `count` rows; instants in UTC, marked by a Z; null as None.

    Raises CorruptInput for a version whose files are not those that were published.
    """
    require_complete(session, [version])
    plain = all(column.type in _PLAIN or column.type.startswith("decimal") for column in version.columns)
    if version.format == PARQUET and plain:
        rows = list(_by_arrow(files_for(version.location, session), version, count))
        if not any((text or "").startswith(_UNFORMATTABLE) for row in rows for text in row.values()):
            return rows
    return _by_spark(session, version, count)


def _by_arrow(files: Files, version: Version, count: int) -> Iterator[Row]:
    for entry in files.listing(version.location):
        if count <= 0:
            return
        path = f"{version.location}/{entry.name}"
        with files.open(path) as source:
            file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            batch = next(file.iter_batches(count, columns=[column.name for column in version.columns]), None)
        if batch is not None:
            texts = [_texts(batch.column(column.name), column) for column in version.columns]
            for row in zip(*texts, strict=True):
                count -= 1
                yield dict(zip(batch.schema.names, row, strict=True))


def _texts(values: pa.Array, column: Column) -> list[str | None]:
    if pa.types.is_float64(values.type):  # Arrow omits ".0"
        return [
            None if value is None else _SPOKEN.get(str(value), str(value)) for value in values.to_pylist()
        ]
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us"))
    texts: list[Any] = pc.cast(values, pa.string()).to_pylist()
    if not column.type.startswith("timestamp"):
        return [_SPOKEN.get(text, text) for text in texts] if pa.types.is_floating(values.type) else texts
    zone = "Z" if column.type == "timestamp" else ""
    return [None if text is None else text.rstrip("0").rstrip(".") + zone for text in texts]


def _by_spark(session: SparkSession, version: Version, count: int) -> list[Row]:
    frame = read_versions(session, [version])
    texts = [_text(field.name, field.dataType.typeName()) for field in frame.schema]
    return [row.asDict() for row in frame.limit(count).select(*texts).collect()]


def _text(name: str, type: str) -> SparkColumn:
    """Convert a column to text in Spark: Python cannot represent some of its dates."""
    from pyspark.sql import functions as F

    value = F.col(quoted(name))
    if type == "timestamp":
        utc = F.to_utc_timestamp(value, F.current_timezone()).cast("string")
        return F.concat(utc, F.lit("Z")).alias(name)
    return value.cast("string").alias(name)
