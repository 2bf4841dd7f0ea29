"""Write a frame to one local file, atomically: CSV, JSON lines or Parquet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.spark.quoting import quoted
from headrace.stores.display import AS_JSON, TO_THE_MICROSECOND

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


class FileFormat(StrEnum):
    """Export formats; `json` is one object per line."""

    csv = "csv"
    parquet = "parquet"
    json = "json"


class ExportRefused(Exception):
    """The file cannot be written: it already exists, or its folder does not."""


def export(frame: DataFrame, path: Path, file_format: FileFormat, *, overwrite: bool = False) -> int:
    """Write `frame` to `path` and return the number of rows. Times are written in UTC.

    Rows are streamed to this process in batches, so large versions fit in memory and a remote Spark needs no access to
    this machine's disk. The file gets its name only when it is complete. Raises ExportRefused if `path` exists and
    `overwrite` is not set, or if it cannot be written.
    """
    refuse_existing(path, overwrite=overwrite)
    write: Mapping[FileFormat, Callable[[DataFrame, Path], int]] = {
        FileFormat.csv: _write_csv,
        FileFormat.json: _write_json,
        FileFormat.parquet: _write_parquet,
    }
    try:
        with _named_when_whole(path, overwrite=overwrite) as unfinished:
            return write[file_format](frame, unfinished)
    except OSError as error:
        reason = error.strerror or error
        raise ExportRefused(
            f"cannot write {path}: {reason}; name a file in a folder that you may write"
        ) from error


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise ExportRefused if a file or folder already exists there."""
    if path.is_dir():
        raise ExportRefused(f"{path} is a directory; name a file")
    if path.exists() and not overwrite:
        raise ExportRefused(f"{path} already exists; choose another name, or replace it with --force")


@contextmanager
def _named_when_whole(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary file next to `path`, renamed to it when the block succeeds and deleted otherwise."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".unfinished")
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        refuse_existing(path, overwrite=overwrite)
        unfinished.chmod(0o666 & ~_umask())  # mkstemp makes the file readable by its owner only
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_csv(frame: DataFrame, path: Path) -> int:
    from pyarrow import csv

    flat = _flat(frame)
    schema = _schema(flat)
    rows = 0
    with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for batch in _batches(flat, schema):
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_json(frame: DataFrame, path: Path) -> int:
    from pyspark.sql import functions as F

    everything = F.struct(*[F.col(quoted(name)) for name in frame.columns])
    lines = frame.select(F.to_json(everything, AS_JSON).alias("line"))
    rows = 0
    with path.open("w", encoding="utf-8") as file:
        for batch in _batches(lines, _schema(lines)):
            file.writelines(f"{line}\n" for line in batch.column("line").to_pylist())
            rows += batch.num_rows
    return rows


def _write_parquet(frame: DataFrame, path: Path) -> int:
    import pyarrow.parquet as pq

    schema = _schema(frame)
    rows = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in _batches(frame, schema):
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _schema(frame: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas import types

    to_arrow_schema: Any = types.to_arrow_schema
    # Before Spark 4.2, UTC is the default, and the parameter has another name.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    schema: pa.Schema = to_arrow_schema(frame.schema, **zone)
    return schema


def _batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, one batch at a time; nothing for an empty frame."""
    import pyarrow as pa

    # Each batch is transferred as one binary value. DataFrame.__arrow_c_stream__ does the same, but fails on timestamps
    # (PySpark 4.3). A nested function, so that executors receive its code and do not need this module.
    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
        with pa.ipc.open_stream(row.batch) as stream:
            for batch in stream:
                yield batch.cast(schema)


def _flat(frame: DataFrame) -> DataFrame:
    """Convert values to text for CSV: lists and objects become JSON, bytes hexadecimal."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructField, StructType

    def flat(field: StructField) -> Column:
        column = F.col(quoted(field.name))
        if isinstance(field.dataType, ArrayType | MapType | StructType):
            return F.to_json(column, TO_THE_MICROSECOND).alias(field.name)
        return F.hex(column).alias(field.name) if isinstance(field.dataType, BinaryType) else column

    return frame.select(*[flat(field) for field in frame.schema])
