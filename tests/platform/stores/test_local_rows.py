"""Rows of small reads are the same, whether Arrow or Spark reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headrace.catalog.records import Version
from headrace.stores.data_files.local_rows import local_rows
from headrace.stores.display import masked, rows
from headrace.stores.files.store import FilesStore
from headrace.stores.writes import OutputFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN = """
SELECT CAST(1 AS int) AS `an int`, 9223372036854775807 AS big, CAST(2.50 AS decimal(10,3)) AS amount,
  CAST(7 AS decimal(38,0)) AS whole, DATE '0044-03-15' AS day, TIMESTAMP '2024-01-01 12:00:00.5+02' AS at,
  TIMESTAMP_NTZ '2024-01-01 12:00:00' AS local, 1.5D AS number, 1.0E30D AS large, CAST(0.1 AS float) AS short,
  CAST('NaN' AS float) AS nan, CAST('-Infinity' AS double) AS low, true AS yes, 'a|b' AS text,
  CAST(null AS string) AS nothing, TIMESTAMP '9999-12-31 23:59:59Z' AS last
"""


@pytest.fixture
def written(
    spark: SparkSession, store: FilesStore, version: Callable[..., Version]
) -> Callable[..., Version]:
    """Makes the version that a query comes to."""

    def made(sql: str, files: int = 1, format: str = "parquet") -> Version:
        frame = spark.sql(sql).repartition(files)
        (one,) = store.write(frame, dataset="shop/orders", tag="t", output=OutputFormat(format))
        return version(one)

    return made


def test_arrow_and_spark_return_the_same_rows(store: FilesStore, written: Callable[..., Version]) -> None:
    version = written(PLAIN)
    names = [column.name for column in version.columns]
    hidden = frozenset(["text", "nothing"])
    assert local_rows([version], names, hidden, 5) == rows(masked(store.read([version]), hidden))
    assert local_rows([version], ["text", "yes"], hidden, 5) == [{"text": "***", "yes": True}]


def test_rows_come_from_as_many_files_as_it_takes(written: Callable[..., Version]) -> None:
    version = written("SELECT id FROM range(8)", files=4)
    found = local_rows([version], ["id"], frozenset(), 100)
    assert found is not None
    assert sorted(row["id"] for row in found) == list(range(8))
    assert len(local_rows([version], ["id"], frozenset(), 3) or ()) == 3


@pytest.mark.parametrize(
    ("sql", "format"),
    [
        ("SELECT array(1) AS several", "parquet"),
        ("SELECT DATE '99999-01-01' AS day", "parquet"),
        ("SELECT 1 AS id", "json"),
    ],
)
def test_spark_is_needed_for_what_arrow_cannot_show(
    written: Callable[..., Version], sql: str, format: str
) -> None:
    version = written(sql, format=format)
    assert local_rows([version], [version.columns[0].name], frozenset(), 1) is None


def test_spark_is_needed_for_another_filesystem(written: Callable[..., Version]) -> None:
    version = replace(written("SELECT 1 AS id"), location="hdfs://lake/orders/t")
    assert local_rows([version], ["id"], frozenset(), 1) is None
