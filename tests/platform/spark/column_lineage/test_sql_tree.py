"""The SQL tree gives the same lineage as the plan, where both are available."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.column_lineage import LineageOfOutput, Origin
from headrace.spark.column_lineage import SqlStep, lineage_of
from headrace.spark.column_lineage.sql_steps import CONFIDENCE, lineage_of_sql

TABLES = {"t": ["a", "b", "s", "r"], "u": ["a", "c", "d"]}
DATASETS = {"t": "shop/t", "u": "shop/u"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b + 1 AS n, upper(s) AS s FROM t",
        "SELECT t.*, u.c FROM t JOIN u ON t.a = u.a",
        "SELECT t.s, sum(u.c) AS n, count(u.d) AS m FROM t LEFT JOIN u ON t.a = u.a WHERE t.b > 1 GROUP BY t.s",
        "WITH w AS (SELECT a, max(b) AS m FROM t GROUP BY a) SELECT w.m, x.m AS other FROM w JOIN w x ON w.a = x.a",
        "SELECT a FROM t UNION ALL SELECT c FROM u",
        "SELECT CASE WHEN a > 1 THEN b ELSE 0 END AS c, coalesce(a, b) AS e FROM t",
        "SELECT rank() OVER (PARTITION BY s ORDER BY b) AS n FROM t",
        "SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a) AS m FROM t",
        "SELECT a FROM t WHERE b IN (SELECT c FROM u)",
        "SELECT count(*) AS n FROM t",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
        "SELECT sha2(s, 256) AS h FROM t",
        "SELECT r.x AS x FROM t",
        "SELECT DISTINCT a FROM t ORDER BY a",
        "SELECT n FROM (SELECT a AS n FROM t) ORDER BY n",
        "SELECT t.a, l.z FROM t, LATERAL (SELECT c + t.b AS z FROM u WHERE u.a = t.a) l",
        "WITH RECURSIVE w AS (SELECT a, 1 AS n FROM t UNION ALL SELECT w.a, w.n + c FROM w JOIN u ON w.n = u.a"
        " WHERE n < 6) SELECT a, n FROM w",
        "SELECT s, e FROM t LATERAL VIEW explode(array(a, b)) x AS e",
        "SELECT to_json(struct(*)) AS js FROM t",
        "SELECT concat_ws(',', *) AS r FROM u",
        "SELECT hash(*) AS h FROM t JOIN u ON t.a = u.a",
        "SELECT to_json(struct(u.*)) AS o, t.b FROM t JOIN u ON t.a = u.a",
        "SELECT to_json(struct(* EXCEPT (s))) AS js FROM t",
        "SELECT hash(*) AS h FROM (SELECT a, b FROM t) x",
        "SELECT max(struct(*)) OVER (PARTITION BY d) AS m FROM u",
        "SELECT sum(b) OVER w AS n, rank() OVER w AS k FROM t WINDOW w AS (PARTITION BY a ORDER BY s)",
        "SELECT a, EXISTS (SELECT 1 FROM u) AS e FROM t",
        "SELECT a, explode(sequence(1, b)) AS e FROM t",
        "SELECT s, explode(array(a, b)) AS e FROM t",
        "SELECT s, sum(a) AS n FROM t GROUP BY ALL",
        "SELECT s, a + 1 AS n, count(*) AS c FROM t GROUP BY ALL",
        "SELECT s, b FROM t ORDER BY ALL",
        "SELECT sum(1) AS n, max('v1') AS v FROM t",
        "SELECT max_by(a, b) AS m, nullif(a, b) AS n FROM t GROUP BY a, b",
        "SELECT decode(a, 1, b, 2, s) AS d, decode(b, a, 'x', s) AS e FROM t",
        "SELECT filter(array(a), e -> e > b) AS l FROM t",
        "SELECT sum(a) FILTER (WHERE b > 1) AS n FROM t",
        "SELECT upper(s), CAST(a AS string), a + 1, r.x, 'y', count(*) OVER () FROM t",
        "SELECT n.p, n.q AS b FROM t AS n (p, q, a, b)",
    ],
)
def test_agrees_with_the_plan(spark: SparkSession, sql: str) -> None:
    """The same columns of the same inputs, in the values and in what they depend on."""
    frames = {
        "t": spark.sql("SELECT 1 AS a, 2 AS b, 'x' AS s, named_struct('x', 1) AS r"),
        "u": spark.sql("SELECT 1 AS a, 2 AS c, 'y' AS d"),
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    made = spark.sql(sql)
    plan = lineage_of(made, [(DATASETS[name], frame) for name, frame in frames.items()])
    tree = lineage_of_sql(
        [SqlStep("out", sql, DATASETS)],
        {DATASETS[name]: columns for name, columns in TABLES.items()},
        made.columns,
    )
    assert not any(each.unknown for each in tree.columns), tree
    assert _facts(tree) == _facts(plan)
    assert {each.origin for each in tree.columns} == {Origin.SQL}
    assert {each.confidence for each in tree.columns} == {CONFIDENCE}


def test_steps() -> None:
    """A step reads the steps before it; what comes after a Python one is unknown."""
    steps = [
        SqlStep("clean", "SELECT a, trim(s) AS s FROM `shop/t`", {"shop/t": "shop/t"}),
        SqlStep("fitted", None, {}),
        SqlStep(
            "out",
            "SELECT c.s, f.score FROM clean c JOIN fitted f ON c.a = f.a",
            {"clean": "clean", "fitted": "fitted"},
        ),
    ]
    found = lineage_of_sql(steps, {"shop/t": TABLES["t"]}, ["s", "score"])
    assert [bool(each.unknown) for each in found.columns] == [False, True]
    assert "fitted" in (found.columns[1].unknown or "")
    assert {(source.input, source.column) for source in found.columns[0].sources} == {("shop/t", "s")}


def test_columns_unknown_to_the_tree_may_come_from_any_input() -> None:
    """As the columns of a PIVOT, which are in no table."""
    sql = "SELECT p FROM (SELECT s, b FROM t) PIVOT (sum(b) FOR s IN ('p')) WHERE p IN (SELECT c FROM u)"
    found = lineage_of_sql(
        [SqlStep("out", sql, DATASETS)], {DATASETS[t]: c for t, c in TABLES.items()}, ["p"]
    )
    assert "does not determine the table of column" in (found.columns[0].unknown or "")
    assert {source.input for source in found.columns[0].sources} == {"shop/t", "shop/u"}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM u UNPIVOT (v FOR k IN (a, c))", ["d", "k", "v"]),
        ("SELECT * FROM u x UNPIVOT (v FOR k IN (c))", ["a", "k", "v"]),
        ("WITH w AS (SELECT * FROM u) SELECT * FROM w UNPIVOT (v FOR k IN (a, c))", ["d", "k", "v"]),
        ("SELECT * FROM u PIVOT (max(d) FOR a IN (1, 2))", ["c", "1", "2"]),
        ("SELECT IDENTIFIER('c') AS e FROM u", ["e"]),
        ("SELECT upper(IDENTIFIER('c')) AS e FROM u", ["e"]),
        ("SELECT d FROM IDENTIFIER('u')", ["d"]),
        ("SELECT * FROM explode(array((SELECT max(d) FROM u)))", ["col"]),
        ("SELECT to_json(struct(*)) AS e FROM explode(array((SELECT max(d) FROM u)))", ["e"]),
        ("SELECT * FROM masked(TABLE(u))", ["x"]),
        ("SELECT (SELECT max(x) FROM masked(TABLE(u))) AS e FROM t", ["e"]),
        ("SELECT e FROM u, LATERAL explode(array(u.d)) AS z(e)", ["e"]),
        ("SELECT a, b FROM t UNION ALL SELECT * FROM masked(TABLE(u))", ["a", "b"]),
        ("SELECT a AS c, c AS d FROM u", ["d", "c"]),
    ],
)
def test_columns_that_the_tree_does_not_show_are_unknown(sql: str, names: list[str]) -> None:
    """Those of table functions, PIVOT, UNPIVOT and IDENTIFIER, and those with another name in the frame."""
    inputs = {DATASETS[table]: columns for table, columns in TABLES.items()}
    found = lineage_of_sql([SqlStep("out", sql, DATASETS)], inputs, names)
    assert [each.column for each in found.columns if each.unknown] == names


def test_the_names_of_a_table_alias_rename_its_columns() -> None:
    inputs = {DATASETS[table]: columns for table, columns in TABLES.items()}
    step = SqlStep("out", "SELECT d, n.a AS z FROM u AS n (d, c, a)", DATASETS)
    found = lineage_of_sql([step], inputs, ["d", "z"])
    assert [each.unknown for each in found.columns] == [None, None]
    assert [[(of.input, of.column) for of in each.sources] for each in found.columns] == [
        [("shop/u", "a")],
        [("shop/u", "d")],
    ]


@pytest.mark.slow
def test_over_spark_connect() -> None:
    """In a separate process, since a process with a session cannot have one over Connect as well."""
    done = subprocess.run(
        [sys.executable, "-c", _CONNECT], check=True, capture_output=True, text=True, timeout=900
    )
    by_sql, by_code = json.loads(done.stdout.splitlines()[-1])
    assert by_sql == [["n", ["shop/t.a TRANSFORMATION"], None, CONFIDENCE, "SQL"]]
    ((name, sources, unknown, confidence, origin),) = by_code
    assert (name, sources, confidence, origin) == ("n", [], 0.0, "SQL")
    assert "Spark Connect" in unknown


_CONNECT = """
import json, os
from pyspark.sql import SparkSession, functions as F
from headrace.spark.column_lineage import SqlStep
from headrace.spark.column_lineage import lineage_of
os.environ["SPARK_TESTING"] = "1"  # an ephemeral port, so that several may run
spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
table = spark.sql("SELECT 1 AS a, 2 AS b")
table.createOrReplaceTempView("t")
steps = [SqlStep("out", "SELECT a + 1 AS n FROM t WHERE b > 1", {"t": "shop/t"})]
made = [(spark.sql(steps[0].text), steps), (table.select((F.col("a") + 1).alias("n")), [SqlStep("out", None, {})])]
found = [
    [
        [c.column, [f"{s.input}.{s.column} {s.subtype}" for s in c.sources], c.unknown, c.confidence, c.origin]
        for c in lineage_of(frame, [("shop/t", table)], steps=steps).columns
    ]
    for frame, steps in made
]
print(json.dumps(found))
"""


def test_without_sql() -> None:
    """Python over Connect: nothing to go by."""
    found = lineage_of_sql([SqlStep("out", None, {})], {}, ["a"])
    assert found.columns[0].unknown


def _facts(found: LineageOfOutput) -> tuple[list[set[tuple[str, ...]]], set[tuple[str, ...]]]:
    """For each column, its sources with transformations; and the columns that all rows depend on."""
    columns: list[set[tuple[str, ...]]] = [
        {(source.input, source.column, str(source.subtype)) for source in each.sources}
        for each in found.columns
    ]
    return columns, {(source.input, source.column, str(source.subtype)) for source in found.whole}
