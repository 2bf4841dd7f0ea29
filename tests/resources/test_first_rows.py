"""The first rows of a version say the same, whether Arrow or Spark reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from catalog.records import Outcome, Version
from resources import first_rows
from resources.store import VersionStore

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

EVERY_PLAIN_TYPE = """
SELECT CAST(id AS int) AS `an int`, id AS big, CAST(2.5 AS decimal(10,3)) AS amount, DATE '-0044-03-15' AS day,
  TIMESTAMP '2024-01-01 12:00:00.5+02' AS at, TIMESTAMP_NTZ '2024-01-01 12:00:00' AS local, 1.5D AS number,
  CAST('NaN' AS float) AS nan, true AS yes, 'a|b' AS text, CAST(null AS string) AS nothing,
  TIMESTAMP '9999-12-31 23:59:59Z' AS last
FROM range({rows})
"""


def written(spark: SparkSession, folder: Path, sql: str, files: int = 1) -> tuple[VersionStore, Version]:
    store = VersionStore(spark, folder.as_uri())
    (made,) = store.write(spark.sql(sql).repartition(files), dataset="shop/rows", tag="t")
    version = Version(
        version_id=uuid4(),
        dataset="shop/rows",
        partition=None,
        tag="t",
        location=made.location,
        format="parquet",
        columns=made.columns,
        row_count=made.row_count,
        byte_size=made.byte_size,
        file_count=made.file_count,
        checksum=made.checksum,
        schema_hash="",
        code_version=None,
        fingerprint=None,
        run_id=None,
        outcome=Outcome.PUBLISHED,
        created_at=datetime.now(UTC),
    )
    return store, version


def test_arrow_and_spark_say_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, version = written(spark, tmp_path, EVERY_PLAIN_TYPE.format(rows=1))
    by_arrow = store.first_rows(version, 5)
    monkeypatch.setattr(first_rows, "_PLAIN", frozenset())
    assert by_arrow == store.first_rows(version, 5)
    assert by_arrow[0]["at"] == "2024-01-01 10:00:00.5Z"


def test_rows_come_from_as_many_files_as_it_takes(spark: SparkSession, tmp_path: Path) -> None:
    store, version = written(spark, tmp_path, "SELECT id FROM range(8)", files=4)
    assert version.file_count > 1
    assert sorted(int(row["id"] or "") for row in store.first_rows(version, 100)) == list(range(8))
    assert len(store.first_rows(version, 3)) == 3


def test_a_date_that_arrow_cannot_say_is_said_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    store, version = written(spark, tmp_path, "SELECT DATE '99999-01-01' AS day")
    assert store.first_rows(version, 1) == [{"day": "+99999-01-01"}]


def test_a_version_without_rows_has_none(spark: SparkSession, tmp_path: Path) -> None:
    store, version = written(spark, tmp_path, "SELECT 1 AS id WHERE false")
    assert store.first_rows(version, 5) == []
