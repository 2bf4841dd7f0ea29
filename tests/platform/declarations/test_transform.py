"""Transforms run on Spark: frames by name, unstored steps, errors at the file and line of the user's code."""

# ruff: noqa: S608 the declarations below hold SQL
from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from headrace.execution.plan import TransformContext
from headrace.execution.problems import SqlError, TransformError
from tests.platform.declarations.conftest import Project

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCES = """
type: headrace.ExternalDataset
attributes: {key: shop/orders}
---
type: headrace.ExternalDataset
attributes: {key: ref/people}
"""


@pytest.fixture
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    return {
        "orders": spark.sql("SELECT * FROM VALUES (1, 'a', 5), (2, 'b', 7) AS t(id, who, amount)"),
        "people": spark.sql("SELECT * FROM VALUES ('a', 'Ann'), ('b', 'Ben') AS t(who, name)"),
    }


def run(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession, key: str, **parameters: Any
) -> dict[str, DataFrame]:
    context = TransformContext(
        spark, logging.getLogger(), tuple(parameters.get("partition_keys", ())), parameters
    )
    return dict(project.plan(key).transform(context, frames))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_sql_reads_its_inputs_by_dataset_and_alias_and_leaves_no_view(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES + "---\ntype: headrace.Dataset\nattributes:\n  key: shop/named\n  sql: named.sql\n",
    )
    project.write(
        "shop/named.sql",
        """
        WITH people AS (SELECT who, upper(name) AS name FROM ref.people)
        SELECT orders.id, people.name, regexp_extract('{x}', '[{](.)[}]', 1) AS brace -- {braces} stay
        FROM orders JOIN people USING (who)
        """,
    )
    before = spark.catalog.listTables()
    result = run(project, frames, spark, "shop/named")
    assert rows(result["shop/named"]) == [(1, "ANN", "x"), (2, "BEN", "x")]
    assert spark.catalog.listTables() == before


def test_parameters_reach_the_sql_that_uses_them(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES
        + """---
type: headrace.Dataset
attributes:
  key: shop/some
  partitions: {type: static, keys: [a, b], column: who}
  sql: SELECT * FROM orders WHERE array_contains(:partition_keys, who)
""",
    )
    result = run(project, frames, spark, "shop/some", partition_keys=["b"], partition_key="b")
    assert rows(result["shop/some"]) == [(2, "b", 7)]


def test_steps_pass_frames_and_a_process_has_several_outputs(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES
        + """---
type: headrace.Process
attributes:
  steps:
    - {name: large, sql: SELECT * FROM orders WHERE amount > 5}
    - {name: doubled, python: code.py:doubled}
  outputs:
    - {key: shop/large, step: doubled}
    - {key: shop/names, sql: SELECT name FROM large JOIN ref.people USING (who)}
""",
    )
    project.write(
        "shop/code.py", "def doubled(large):\n    return large.selectExpr('id', 'amount * 2 AS amount')\n"
    )
    plan = project.plan("shop/large")
    assert plan.record.outputs == ("shop/large", "shop/names")
    assert plan.record.inputs == ("shop/orders", "ref/people")
    assert plan.record.steps == (
        ("large", ("shop/orders",)),
        ("doubled", ("large",)),
        ("names", ("large", "ref/people")),
    )
    result = run(project, frames, spark, "shop/large")
    assert rows(result["shop/large"]) == [(2, 14)]
    assert rows(result["shop/names"]) == [("Ben",)]


def test_a_function_returns_several_outputs_by_key_or_name(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES
        + """---
type: headrace.Process
attributes:
  python: code.py:split
  outputs: [{key: shop/low}, {key: shop/high}]
""",
    )
    project.write(
        "shop/code.py",
        """
        def split(orders, context):
            context.log.info("splitting")
            return {"low": orders.where("amount < 6"), "shop/high": orders.where("amount >= 6")}
        """,
    )
    result = run(project, frames, spark, "shop/low")
    assert rows(result["shop/low"]) == [(1, "a", 5)]
    assert rows(result["shop/high"]) == [(2, "b", 7)]


def sql_dataset(project: Project, sql: str) -> None:
    project.write(
        "shop/defs.yaml", SOURCES + "---\ntype: headrace.Dataset\nattributes: {key: shop/x, sql: x.sql}\n"
    )
    project.write("shop/x.sql", sql)


@pytest.mark.parametrize(
    ("sql", "line", "words"),
    [
        ("SELECT id,\n  amont\nFROM orders", 2, "amont"),
        ("SELECT\n  o.id\nFROM orders o\nWHERE o.nothing = 1", 4, "nothing"),
        ("SELECT id\nFROM orders\nWHERE no_such_function(id)", 3, "no_such_function"),
        ("SELECT\n  amount\nFROM orders\nGROUP BY id", 2, "amount"),
    ],
)
def test_analysis_errors_have_file_and_line(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession, sql: str, line: int, words: str
) -> None:
    sql_dataset(project, sql)
    with pytest.raises(SqlError, match=words) as caught:
        run(project, frames, spark, "shop/x")
    assert (caught.value.file.name, caught.value.line) == ("x.sql", line)
    assert "_pyspark_" not in str(caught.value)


def test_errors_of_inline_sql_have_the_yaml_line(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES
        + """---
type: headrace.Dataset
attributes:
  key: shop/x
  sql: |
    SELECT id
    FROM orders
    WHERE amont = 1
""",
    )
    with pytest.raises(SqlError) as caught:
        run(project, frames, spark, "shop/x")
    assert (caught.value.file.name, caught.value.line, caught.value.column) == ("defs.yaml", 13, 11)


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("return None", 2, "returned nothing, not a DataFrame"),
        ("return {'x': orders}", 2, "returned a dict"),
        ("\n    return orders.select('amont')", 4, "amont"),
    ],
)
def test_a_wrong_function_is_reported_at_its_line(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession, body: str, line: int, words: str
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES + "---\ntype: headrace.Dataset\nattributes: {key: shop/x, python: code.py:f}\n",
    )
    project.write(
        "shop/code.py", f"\ndef f(orders):\n    {body}\n".replace("\n", "\n", 1).lstrip("\n").join(["\n", ""])
    )
    project.write("shop/code.py", f"# moves it down\ndef f(orders):\n    {body}\n")
    with pytest.raises(TransformError, match=words) as caught:
        run(project, frames, spark, "shop/x")
    assert (caught.value.file.name, caught.value.line) == ("code.py", line if words == "amont" else 2)


def test_another_error_of_a_function_goes_through_with_its_place(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES + "---\ntype: headrace.Dataset\nattributes: {key: shop/x, python: code.py:f}\n",
    )
    project.write("shop/code.py", "def f(orders):\n    return orders[1 / 0]\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run(project, frames, spark, "shop/x")
    assert "code.py:2" in caught.value.__notes__[0]


def test_a_changed_module_is_imported_again(
    project: Project, frames: dict[str, DataFrame], spark: SparkSession
) -> None:
    project.write(
        "shop/defs.yaml",
        SOURCES + "---\ntype: headrace.Dataset\nattributes: {key: shop/x, python: code.py:f}\n",
    )
    project.write("shop/code.py", "def f(orders):\n    return orders.limit(1)\n")
    first = project.plan("shop/x")
    assert run(project, frames, spark, "shop/x")["shop/x"].count() == 1
    project.write("shop/code.py", "def f(orders):\n    return orders.limit(22)\n")
    assert run(project, frames, spark, "shop/x")["shop/x"].count() == 2
    assert project.plan("shop/x").record.code_version != first.record.code_version
