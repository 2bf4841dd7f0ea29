"""Exported files: exact values in each format, complete or not there, nothing overwritten."""

import csv
import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.stores.export import ExportRefused, FileFormat, export

QUERY = """
SELECT id, CAST(id / 2 AS decimal(10, 2)) AS price, timestamp'2013-01-01 05:00:00.5Z' AS at,
       timestamp_ntz'2013-07-01 05:00:00' AS clock, date'2013-01-01' AS day, array(1, 2) AS list,
       named_struct('x', CAST(null AS int), 'y', 'q"') AS thing, 'a,"b\n' AS text, CAST(null AS string) AS nothing,
       true AS flag, X'00ff' AS raw
FROM range(0, 3, 1, 2)
"""


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.sql(QUERY)


@pytest.fixture(autouse=True)
def _far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's own zone must not leak into a file."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_csv(frame: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert export(frame, path, FileFormat.csv) == 3
    rows = list(csv.DictReader(path.open(newline="")))
    assert [row["id"] for row in rows] == ["0", "1", "2"]
    assert rows[1] == {
        "id": "1",
        "price": "0.50",
        "at": "2013-01-01 05:00:00.500000Z",
        "clock": "2013-07-01 05:00:00.000000",
        "day": "2013-01-01",
        "list": "[1,2]",
        "thing": '{"y":"q\\""}',
        "text": 'a,"b\n',
        "nothing": "",
        "flag": "true",
        "raw": "00FF",
    }


def test_json_lines(frame: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert export(frame, path, FileFormat.json) == 3
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[2] == {
        "id": 2,
        "price": 1.0,
        "at": "2013-01-01T05:00:00.500000Z",
        "clock": "2013-07-01T05:00:00.000000",
        "day": "2013-01-01",
        "list": [1, 2],
        "thing": {"x": None, "y": 'q"'},
        "text": 'a,"b\n',
        "nothing": None,
        "flag": True,
        "raw": "AP8=",
    }


def test_parquet(frame: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    assert export(frame, path, FileFormat.parquet) == 3
    assert pq.read_table(path).to_pylist()[1] == {
        "id": 1,
        "price": Decimal("0.50"),
        "at": datetime(2013, 1, 1, 5, 0, 0, 500000, tzinfo=UTC),
        "clock": datetime(2013, 7, 1, 5),  # noqa: DTZ001 - a wall clock's time
        "day": date(2013, 1, 1),
        "list": [1, 2],
        "thing": {"x": None, "y": 'q"'},
        "text": 'a,"b\n',
        "nothing": None,
        "flag": True,
        "raw": b"\x00\xff",
    }


@pytest.mark.parametrize("file_format", FileFormat)
def test_no_rows_are_a_file_with_columns(frame: DataFrame, tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / "x"
    assert export(frame.limit(0), path, file_format) == 0
    if file_format is FileFormat.csv:
        assert path.read_text().startswith('"id","price"')
    elif file_format is FileFormat.parquet:
        assert pq.read_schema(path).names == frame.columns
    else:
        assert path.read_text() == ""


def test_an_existing_file_stays(frame: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("mine")
    with pytest.raises(
        ExportRefused, match="already exists; choose another name, or replace it with --force"
    ):
        export(frame, path, FileFormat.csv)
    assert path.read_text() == "mine"
    assert export(frame, path, FileFormat.csv, overwrite=True) == 3
    assert path.read_text() != "mine"


def test_a_failure_half_way_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    broken = spark.sql("SELECT id, IF(id = 1999, raise_error('no'), 1) AS v FROM range(0, 2000, 1, 4)")
    with pytest.raises(Exception, match="no"):
        export(broken, tmp_path / "x.csv", FileFormat.csv)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(frame: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(
        ExportRefused, match="No such file or directory; name a file in a folder that you may write"
    ):
        export(frame, tmp_path / "nowhere" / "x.csv", FileFormat.csv)
    with pytest.raises(ExportRefused, match="is a directory; name a file"):
        export(frame, tmp_path, FileFormat.csv, overwrite=True)


def test_others_may_read_the_file_as_the_umask_says(frame: DataFrame, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        export(frame, tmp_path / "x.csv", FileFormat.csv)
    finally:
        os.umask(before)
    assert (tmp_path / "x.csv").stat().st_mode & 0o777 == 0o640
