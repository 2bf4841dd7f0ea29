"""UPDATE, DELETE and MERGE of tables whose rows change one by one, as Spark's analyser rewrites them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.column_lineage import ColumnSource, LineageOfOutput
from headrace.spark.column_lineage.extraction import lineage_of_plan

Lineage = Callable[[str], LineageOfOutput]
MERGE = """
MERGE INTO rows.{} x USING news ON x.id = news.a
WHEN MATCHED AND b > 3 THEN UPDATE SET n = b, s = upper(t)
WHEN MATCHED AND b < 0 THEN DELETE
WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (a, b, t)
"""


@pytest.fixture
def lineage(spark: SparkSession, analysed: Callable[[str], Any]) -> Iterator[Lineage]:
    """The lineage of a statement about rows.files, which is written in whole files, or rows.delta, or the view news."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(Path(__file__).with_name("RowLevelCatalog.java").read_text())
    made = compiler.getClassLoader().loadClass("headrace.RowLevelCatalog")
    manager = spark._jsparkSession.sessionState().catalogManager()
    field = manager.getClass().getDeclaredField("catalogs")
    field.setAccessible(True)
    catalogs = field.get(manager)
    catalogs.put("rows", made.getConstructors()[0].newInstance(gateway.new_array(jvm.Object, 0)))
    news = spark.sql("SELECT 1 AS a, 2 AS b, 'x' AS t")
    news.createOrReplaceTempView("news")
    inputs = [("shop/news", news._jdf.queryExecution().analyzed())]
    yield lambda sql: lineage_of_plan(analysed(sql), inputs)
    catalogs.remove("rows")


@pytest.mark.parametrize("table", ["files", "delta"])
def test_delete(lineage: Lineage, table: str) -> None:
    """Columns stay what they are, and a condition decides which rows do."""
    found = lineage(f"DELETE FROM rows.{table} WHERE n > (SELECT max(b) FROM news)")  # noqa: S608
    assert _columns(found) == {each: {f"rows.{table}.{each} IDENTITY"} for each in ("id", "n", "s")}
    assert _ways(found.whole) == {f"rows.{table}.n FILTER", "shop/news.b FILTER"}


@pytest.mark.parametrize("table", ["files", "delta"])
def test_update(lineage: Lineage, table: str) -> None:
    """A column is what it was, or what it is set to."""
    found = lineage(f"UPDATE rows.{table} SET n = n + 1, s = 'x' WHERE id IN (SELECT a FROM news)")  # noqa: S608
    assert _columns(found) == {
        "id": {f"rows.{table}.id IDENTITY"},
        "n": {f"rows.{table}.n IDENTITY", f"rows.{table}.n TRANSFORMATION"},
        "s": {f"rows.{table}.s IDENTITY"},
    }
    assert _ways(found.whole) == {f"rows.{table}.id FILTER", "shop/news.a FILTER"}


@pytest.mark.parametrize("table", ["files", "delta"])
def test_merge(lineage: Lineage, table: str) -> None:
    """A column keeps its value, is set, or is inserted; conditions decide which."""
    found = lineage(MERGE.format(table))
    columns = _columns(found)
    assert columns["n"] == {f"rows.{table}.n IDENTITY", "shop/news.b IDENTITY", "shop/news.b CONDITIONAL"}
    assert columns["s"] == {
        f"rows.{table}.s IDENTITY",
        "shop/news.t TRANSFORMATION",
        "shop/news.t IDENTITY",
        "shop/news.b CONDITIONAL",
    }
    assert {f"rows.{table}.id IDENTITY", "shop/news.a IDENTITY"} <= columns["id"]
    assert {f"rows.{table}.id JOIN", "shop/news.a JOIN"} <= _ways(found.whole)
    assert "upper(news.t)" in {source.expression for source in found.columns[2].sources}


def test_merge_that_only_inserts(lineage: Lineage) -> None:
    """It is as an INSERT of rows that are not there yet."""
    found = lineage(
        "MERGE INTO rows.files x USING news ON x.id = a WHEN NOT MATCHED THEN INSERT (id, n) VALUES (a, b)"
    )
    assert _columns(found) == {"id": {"shop/news.a IDENTITY"}, "n": {"shop/news.b IDENTITY"}, "s": set()}


def _columns(found: LineageOfOutput) -> dict[str, set[str]]:
    assert not any(each.unknown for each in found.columns)
    assert found.note is None
    return {each.column: _ways(each.sources) for each in found.columns}


def _ways(sources: tuple[ColumnSource, ...]) -> set[str]:
    return {f"{each.input}.{each.column} {each.subtype}" for each in sources}
