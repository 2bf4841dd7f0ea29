"""Columns that the plan does not show are reported unknown, with the reason and possible sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from headrace.catalog.column_lineage import ColumnLineage, LineageOfOutput
from headrace.spark.column_lineage import extraction as lineage
from headrace.spark.column_lineage import lineage_of

Inputs = list[tuple[str, DataFrame]]


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    """Two datasets."""
    return [
        ("shop/orders", spark.sql("SELECT 1 AS id, 'a' AS name, named_struct('x', 1, 'y', 'b') AS r")),
        ("shop/prices", spark.sql("SELECT 1 AS id, 2.5 AS price")),
    ]


def _column(found: LineageOfOutput, name: str) -> ColumnLineage:
    return next(each for each in found.columns if each.column == name)


def _named(column: ColumnLineage) -> set[str]:
    return {f"{source.input}.{source.column} {source.subtype}" for source in column.sources}


def test_python_udf(inputs: Inputs) -> None:
    """A column that a Python function makes; the others, and what it was given, are known."""

    @F.udf(StringType())
    def cleaned(name: str) -> str:
        return name.strip()

    found = lineage_of(inputs[0][1].select("id", cleaned("name").alias("n")), inputs)
    assert _column(found, "id").unknown is None
    assert "cleaned" in (_column(found, "n").unknown or "")
    assert _named(_column(found, "n")) == {"shop/orders.name TRANSFORMATION"}
    assert 0 < _column(found, "n").confidence < 1


def test_filter_by_udf_is_noted(inputs: Inputs) -> None:
    """Columns stay known, and the note says what the rows depend on."""
    keep = F.udf(lambda name: True, "boolean")
    found = lineage_of(inputs[0][1].where(keep("name")).select("id"), inputs)
    assert _column(found, "id").unknown is None
    assert {source.column for source in found.whole} == {"name"}
    assert "depends on the Python function" in (found.note or "")


def test_map_in_pandas(inputs: Inputs) -> None:
    """Its output is unknown; any of its own inputs is a possible source, and no other."""

    def changed(batches: Iterator[object]) -> Iterator[object]:
        yield from batches

    joined = inputs[0][1].mapInPandas(changed, "id int, m string").join(inputs[1][1], "id")
    found = lineage_of(joined, inputs)
    assert "changed" in (_column(found, "m").unknown or "")
    assert _named(_column(found, "m")) == {"shop/orders. TRANSFORMATION"}
    assert _column(found, "price").unknown is None


def test_apply_in_pandas(inputs: Inputs) -> None:
    """The same of a function of groups."""

    def grouped(rows: object) -> object:
        return rows

    found = lineage_of(inputs[0][1].groupBy("id").applyInPandas(grouped, "id int, t string"), inputs)
    assert [bool(each.unknown) for each in found.columns] == [True, True]
    assert "grouped" in (found.columns[0].unknown or "")


def test_rdd(spark: SparkSession, inputs: Inputs) -> None:
    """An RDD ends the plan: any input may be in it."""
    made = spark.createDataFrame(inputs[0][1].rdd.map(lambda row: Row(id=row.id)), "id int")
    found = lineage_of(made, inputs)
    assert "RDD" in (found.columns[0].unknown or "")
    assert {source.input for source in found.columns[0].sources} == {"shop/orders", "shop/prices"}


def test_cached_and_self_joined(inputs: Inputs) -> None:
    """A cached frame is the frame, and a frame that is joined with itself is twice the same input."""
    orders = inputs[0][1].cache()
    other = orders.withColumnRenamed("name", "other")
    found = lineage_of(orders.join(other, "id").select("id", "name", "other"), inputs)
    orders.unpersist()
    assert _named(_column(found, "other")) == {"shop/orders.name IDENTITY"}
    assert _named(_column(found, "name")) == {"shop/orders.name IDENTITY"}


def test_fields_apart(inputs: Inputs) -> None:
    """A field that is read, and fields of a struct that is made."""
    frame = inputs[0][1].select(
        F.col("r.y").alias("y"),
        F.struct(F.upper("name").alias("up"), F.col("r").withField("z", F.col("id")).alias("in")).alias("s"),
    )
    found = lineage_of(frame, inputs)
    assert [each.column for each in found.columns] == ["y", "s", "s.up", "s.in", "s.in.x", "s.in.y", "s.in.z"]
    assert _named(_column(found, "y")) == {"shop/orders.r.y IDENTITY"}
    assert _named(_column(found, "s.in.x")) == {"shop/orders.r.x IDENTITY"}
    assert _named(_column(found, "s.in.z")) == {"shop/orders.id IDENTITY"}
    assert found.coverage() == (2, 2)


def test_variable_of_the_session(spark: SparkSession, inputs: Inputs) -> None:
    """It may have been set to any value, which may be secret and is not shown."""
    spark.sql("DECLARE OR REPLACE VARIABLE least INT DEFAULT 4711")
    inputs[0][1].createOrReplaceTempView("orders")
    found = lineage_of(spark.sql("SELECT name, id + least AS n FROM orders WHERE id > least"), inputs)
    spark.sql("DROP TEMPORARY VARIABLE least")
    assert _column(found, "name").unknown is None
    assert "variable least" in (_column(found, "n").unknown or "")
    assert {source.input for source in _column(found, "n").sources} == {"shop/orders", "shop/prices"}
    assert "variable least" in (found.note or "")
    assert "4711" not in str(found)


def test_read_past_the_inputs(spark: SparkSession, tmp_path: Path, inputs: Inputs) -> None:
    """An undeclared path is shown by its name, and several by their common directory."""
    for name in ("day=1", "day=2"):
        spark.range(1).write.parquet(str(tmp_path / "past" / name))
    one = spark.read.parquet(str(tmp_path / "past"))
    found = lineage_of(one.join(inputs[0][1], "id").select("day", "name"), inputs)
    assert _named(_column(found, "day")) == {f"file:{tmp_path}/past.day IDENTITY"}
    both = spark.read.parquet(str(tmp_path / "past" / "day=1"), str(tmp_path / "past" / "day=2"))
    assert _named(lineage_of(both, inputs).columns[0]) == {f"file:{tmp_path}/past.id IDENTITY"}


def test_temporary_view_of_a_step(spark: SparkSession, inputs: Inputs) -> None:
    """A step's frame under a view is looked through, as PySpark's own parameters of sql() make them."""
    step = spark.sql(
        "SELECT o.id, p.price * 2 AS twice FROM {o} o JOIN {p} p ON o.id = p.id",
        o=inputs[0][1],
        p=inputs[1][1],
    )
    found = lineage_of(spark.sql("SELECT twice FROM {s}", s=step), inputs)
    assert _named(found.columns[0]) == {"shop/prices.price TRANSFORMATION"}
    assert {(source.input, source.column) for source in found.whole} == {
        ("shop/orders", "id"),
        ("shop/prices", "id"),
    }


@pytest.mark.parametrize("limit", ["MAX_EXPRESSIONS", "MAX_STEPS"])
def test_budget(monkeypatch: pytest.MonkeyPatch, inputs: Inputs, limit: str) -> None:
    """Beyond the budget all is unknown, with that reason; within it nothing is."""
    frame = inputs[0][1].select(F.col("id") + 1)
    monkeypatch.setattr(lineage, limit, 100)
    assert lineage_of(frame, inputs).columns[0].unknown is None
    for _ in range(50):
        frame = frame.select(*(F.col(each) + 1 for each in frame.columns))
    found = lineage_of(frame, inputs)
    assert "the plan is too large" in (found.columns[0].unknown or "")
    assert found.note


def test_long_chains(inputs: Inputs) -> None:
    """Depth of plans and of expressions costs no recursion."""
    frame = inputs[0][1].select("id")
    total = F.col("id")
    for number in range(300):
        total = total + F.lit(number)
    frame = frame.select(total.alias("t"))
    assert _named(lineage_of(frame, inputs).columns[0]) == {"shop/orders.id TRANSFORMATION"}
