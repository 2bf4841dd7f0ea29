"""Row counts and columns of Parquet and ORC files, with types as Spark names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

_SIMPLE: Mapping[str, str] = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "binary": "binary",
    "large_binary": "binary",
    "date32[day]": "date",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """The number of rows, and Spark's type by column; a type that Spark lacks is named as in the file."""

    row_count: int
    types: Mapping[str, str]


def parquet_contents(file: BinaryIO) -> Contents:
    """Read the footer of a Parquet file. Raises ValueError or OSError for anything else."""
    metadata = pq.read_metadata(file)
    output_directories: dict[str, list[Any]] = {}
    for number in range(metadata.num_columns):
        output_directory = metadata.schema.column(number)
        output_directories.setdefault(_first(output_directory.path), []).append(output_directory)
    fields = metadata.schema.to_arrow_schema()
    return Contents(
        metadata.num_rows,
        {field.name: _parquet_type(field, output_directories[_first(field.name)]) for field in fields},
    )


def orc_contents(file: BinaryIO) -> Contents:
    """Read the footer of an ORC file. Raises ValueError or OSError for anything else."""
    read = orc.ORCFile(file)
    return Contents(read.nrows, {field.name: _orc_type(field) for field in read.schema})


CONTENTS: Mapping[str, Callable[[BinaryIO], Contents]] = {"parquet": parquet_contents, "orc": orc_contents}


def spark_type(found: pa.DataType) -> str:
    """Convert an Arrow type to Spark's name; a type that Spark lacks keeps Arrow's name."""
    if pa.types.is_timestamp(found):
        return "timestamp" if found.tz else "timestamp_ntz"
    if pa.types.is_decimal(found):
        return f"decimal({found.precision},{found.scale})"
    if pa.types.is_fixed_size_binary(found):
        return "binary"
    if pa.types.is_map(found):
        return f"map<{spark_type(found.key_type)},{spark_type(found.item_type)}>"
    if pa.types.is_list(found):
        return f"array<{spark_type(found.value_type)}>"
    if pa.types.is_struct(found):
        return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in found)}>"
    return _SIMPLE.get(str(found), str(found))


def _parquet_type(field: pa.Field, output_directories: Sequence[Any]) -> str:
    """Return the type of a column with details that Arrow lacks: INT96 times, which are instants, and nanoseconds."""
    kinds = [output_directory.physical_type for output_directory in output_directories]
    if any(
        kind == "INT64" and "nanoseconds" in output_directory.logical_type.to_json()
        for kind, output_directory in zip(kinds, output_directories, strict=True)
    ):
        return "timestamp in nanoseconds"
    found = spark_type(field.type)
    return found.replace("timestamp_ntz", "timestamp") if "INT96" in kinds else found


def _orc_type(field: pa.Field) -> str:
    """Return the type of a column as stored by Spark, if it wrote the file; it reads times without a zone as
    instants."""
    noted = (field.metadata or {}).get(b"spark.sql.catalyst.type")
    return noted.decode() if noted else spark_type(field.type).replace("timestamp_ntz", "timestamp")


def _first(path: str) -> str:
    return path.partition(".")[0]
