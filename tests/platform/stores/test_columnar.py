"""Types in footers are those that Spark reads, and no file with a type that Spark would refuse passes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace.files.columnar import orc_contents, parquet_contents

TYPES = {
    "flag": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "n": "int",
    "big": "bigint",
    "ratio": "float",
    "wide": "double",
    "amount": "decimal(12,2)",
    "text": "string",
    "raw": "binary",
    "day": "date",
    "at": "timestamp",
    "wall": "timestamp_ntz",
    "list": "array<int>",
    "named": "map<string,bigint>",
    "pair": "struct<a:int,b:array<string>>",
}


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_what_spark_wrote(spark: SparkSession, tmp_path: Path, format: str) -> None:
    nulls = [f"CAST(NULL AS {type_}) AS {name}" for name, type_ in TYPES.items()]
    spark.range(3).coalesce(1).selectExpr(*nulls).write.format(format).save(str(tmp_path / "out"))
    (file,) = (tmp_path / "out").glob("part-*")
    with file.open("rb") as source:
        contents = (parquet_contents if format == "parquet" else orc_contents)(source)
    assert contents.row_count == 3
    assert dict(contents.types) == TYPES


def test_int96_is_a_timestamp_and_nanoseconds_are_not(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([1_000_000_000], pa.timestamp("ns"))})
    types = {}
    for name, old in (("old", True), ("new", False)):
        pq.write_table(rows, tmp_path / name, use_deprecated_int96_timestamps=old, version="2.6")
        with (tmp_path / name).open("rb") as source:
            types[name] = parquet_contents(source).types["at"]
    assert types == {"old": "timestamp", "new": "timestamp in nanoseconds"}
    assert len(spark.read.schema("at timestamp").parquet(str(tmp_path / "old")).collect()) == 1
    with pytest.raises(Exception, match="FAILED_READ_FILE"):
        spark.read.schema("at timestamp").parquet(str(tmp_path / "new")).collect()


@pytest.mark.parametrize("contents", [parquet_contents, orc_contents])
@pytest.mark.parametrize("content", [b"", b"id\n1\n", b"PAR1\0\0\0\0PAR1", b"ORC" + b"\0" * 40])
def test_anything_else_is_refused(contents: Any, content: Any) -> None:
    with pytest.raises((ValueError, OSError)):
        contents(BytesIO(content))


def test_large_footers(tmp_path: Path) -> None:
    rows = pa.table({f"column_{n}_{'x' * 100}": [n] for n in range(2000)})
    pq.write_table(rows, tmp_path / "p")
    orc.write_table(rows, tmp_path / "o")
    with (tmp_path / "p").open("rb") as parquet, (tmp_path / "o").open("rb") as other:
        assert len(parquet_contents(parquet).types) == len(orc_contents(other).types) == 2000
