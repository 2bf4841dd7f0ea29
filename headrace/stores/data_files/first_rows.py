"""A version's first rows as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.catalog.records import Column, Version
from headrace.files.filesystem import Files
from headrace.files.formats import PARQUET
from headrace.files.opening import files_for
from headrace.spark.quoting import quoted
from headrace.stores.data_files.reading import read_versions, require_complete
from headrace.stores.protocol import Row

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

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
SPOKEN = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as Spark writes them


def first_rows(session: SparkSession, version: Version, count: int) -> list[Row]:
    """Read up to `count` rows; instants in UTC, marked by a Z; null as None.

    Raises CorruptInput for a version whose files are not those that were published.
    """
    require_complete(session, [version])
    if is_plain(version):
        rows = list(_by_arrow(files_for(version.location, session), version, count))
        if not any((text or "").startswith(_UNFORMATTABLE) for row in rows for text in row.values()):
            return rows
    return _by_spark(session, version, count)


def is_plain(version: Version) -> bool:
    """Return True for Parquet with types that Arrow reads as Spark does."""
    return version.format == PARQUET and has_plain_types(version)


def has_plain_types(version: Version) -> bool:
    """Return True if Arrow's values of all its columns have the text of Spark's."""
    return all(column.type in _PLAIN or column.type.startswith("decimal") for column in version.columns)


def first_batches(
    files: Files, version: Version, names: Sequence[str], count: int
) -> Iterator[pa.RecordBatch]:
    """Yield the columns `names` of the version's first `count` rows, from as many of its Parquet files as it takes."""
    for path in (
        f"{location}/{entry.name}" for location in version.locations for entry in files.listing(location)
    ):
        if count <= 0:
            return
        with files.open(path) as source:
            file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            batch = next(file.iter_batches(count, columns=list(names)), None)
        if batch is not None:
            count -= batch.num_rows
            yield batch


def _by_arrow(files: Files, version: Version, count: int) -> Iterator[Row]:
    names = [column.name for column in version.columns]
    for batch in first_batches(files, version, names, count):
        texts = [_texts(batch.column(column.name), column) for column in version.columns]
        for row in zip(*texts, strict=True):
            yield dict(zip(names, row, strict=True))


def _texts(values: pa.Array, column: Column) -> list[str | None]:
    if pa.types.is_float64(values.type):  # Arrow omits ".0"
        return [None if value is None else SPOKEN.get(str(value), str(value)) for value in values.to_pylist()]
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us"))
    texts: list[Any] = pc.cast(values, pa.string()).to_pylist()
    if not column.type.startswith("timestamp"):
        return [SPOKEN.get(text, text) for text in texts] if pa.types.is_floating(values.type) else texts
    zone = "Z" if column.type == "timestamp" else ""
    return [None if text is None else text.rstrip("0").rstrip(".") + zone for text in texts]


def _by_spark(session: SparkSession, version: Version, count: int) -> list[Row]:
    return rows_as_text(read_versions(session, [version]), count)


def rows_as_text(frame: DataFrame, count: int) -> list[Row]:
    """Return up to `count` rows of a frame as text, by column."""
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
