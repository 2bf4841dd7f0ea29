"""The first rows of a version are the same, whether Arrow or Spark reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace.catalog.records import Version
from headrace.stores.data_files import first_rows
from headrace.stores.files.store import FilesStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_PLAIN_TYPE = """
SELECT CAST(id AS int) AS `an int`, id AS big, CAST(2.5 AS decimal(10,3)) AS amount, DATE '-0044-03-15' AS day,
  TIMESTAMP '2024-01-01 12:00:00.5+02' AS at, TIMESTAMP_NTZ '2024-01-01 12:00:00' AS local, 1.5D AS number,
  CAST('NaN' AS float) AS nan, true AS yes, 'a|b' AS text, CAST(null AS string) AS nothing,
  TIMESTAMP '9999-12-31 23:59:59Z' AS last
FROM range({rows})
"""


@pytest.fixture
def written(
    spark: SparkSession, store: FilesStore, version: Callable[..., Version]
) -> Callable[..., Version]:
    """Makes the version that a query comes to."""

    def made(sql: str, files: int = 1) -> Version:
        (one,) = store.write(spark.sql(sql).repartition(files), dataset="shop/orders", tag="t")
        return version(one)

    return made


def test_arrow_and_spark_say_the_same(
    store: FilesStore, written: Callable[..., Version], monkeypatch: pytest.MonkeyPatch
) -> None:
    version = written(EVERY_PLAIN_TYPE.format(rows=1))
    by_arrow = store.first_rows(version, 5)
    monkeypatch.setattr(first_rows, "_PLAIN", frozenset())
    assert by_arrow == store.first_rows(version, 5)
    assert by_arrow[0]["at"] == "2024-01-01 10:00:00.5Z"


def test_rows_come_from_as_many_files_as_it_takes(store: FilesStore, written: Callable[..., Version]) -> None:
    version = written("SELECT id FROM range(8)", files=4)
    assert version.file_count > 1
    assert sorted(int(row["id"] or "") for row in store.first_rows(version, 100)) == list(range(8))
    assert len(store.first_rows(version, 3)) == 3


def test_a_date_that_arrow_cannot_format_is_formatted_by_spark(
    store: FilesStore, written: Callable[..., Version]
) -> None:
    version = written("SELECT DATE '99999-01-01' AS day")
    assert store.first_rows(version, 1) == [{"day": "+99999-01-01"}]


def test_a_version_without_rows_has_none(store: FilesStore, written: Callable[..., Version]) -> None:
    version = written("SELECT 1 AS id WHERE false")
    assert store.first_rows(version, 5) == []
