"""Transformations of columns, construct by construct: each source with its kind, and no others."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.catalog.column_lineage import ColumnSource, LineageOfOutput
from headrace.spark.column_lineage import lineage_of

Inputs = list[tuple[str, DataFrame]]


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    """Two datasets as views, t with structs, arrays and maps."""
    found = [
        (
            "t",
            spark.sql(
                "SELECT 1 AS a, 2 AS b, 'p' AS s, array(1) AS l, map('k', 1) AS m, named_struct('x', 1, 'y', 'u') AS r,"
                " array(named_struct('x', 1, 'y', 'u')) AS ar, map('k', named_struct('x', 1, 'y', 'u')) AS mr"
            ),
        ),
        ("u", spark.sql("SELECT 1 AS a, 2 AS c, 'q' AS d")),
    ]
    for name, frame in found:
        frame.createOrReplaceTempView(name)
    return found


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # Sources of a struct's values are separate from what selects the struct.
        ("if(a > 1, r, r).x", "t.r.x TRANSFORMATION, t.a CONDITIONAL"),
        ("CASE WHEN b > 1 THEN r END.y", "t.r.y TRANSFORMATION, t.b CONDITIONAL"),
        ("filter(ar, e -> e.x > b)[0].y", "t.ar.y TRANSFORMATION, t.ar.x CONDITIONAL, t.b CONDITIONAL"),
        ("element_at(mr, s).x", "t.mr.x TRANSFORMATION, t.s CONDITIONAL"),
        ("(first(r) OVER (PARTITION BY s ORDER BY b)).x", "t.r.x AGGREGATION, t.s WINDOW, t.b WINDOW"),
        (
            "(SELECT max(struct(c, d)) FROM u WHERE u.a = t.a).d",
            "u.d AGGREGATION, u.a FILTER, t.a FILTER",
        ),
        ("transform(l, i -> named_struct('n', a))[0].n", "t.a TRANSFORMATION, t.l TRANSFORMATION"),
        # mask() keeps the characters of a class whose replacement is NULL, as Spark's documentation of it says.
        ("mask(s)", "t.s TRANSFORMATION masked"),
        ("mask(s, 'A', 'b', '0', NULL)", "t.s TRANSFORMATION masked"),
        ("mask(s, NULL, NULL, NULL, NULL)", "t.s TRANSFORMATION"),
        ("mask(s, NULL)", "t.s TRANSFORMATION"),
        ("mask(s, 'X', 'x', NULL)", "t.s TRANSFORMATION"),
        ("mask(s, 'X', CAST(NULL AS STRING))", "t.s TRANSFORMATION"),
        # Without a column in it, an aggregate shows nothing but the number of rows.
        ("sum(1) OVER ()", "t. AGGREGATION masked"),
        # A selecting column is not a direct source.
        ("m[s]", "t.m TRANSFORMATION, t.s CONDITIONAL"),
        ("ar[b].y", "t.ar.y TRANSFORMATION, t.b CONDITIONAL"),
        ("array_sort(ar, (p, q) -> p.x - q.x)", "t.ar TRANSFORMATION, t.ar.x SORT"),
        # An expression that is computed once and used twice.
        ("nullif(a, b)", "t.a TRANSFORMATION, t.a CONDITIONAL, t.b CONDITIONAL"),
        ("a BETWEEN b AND 10", "t.a TRANSFORMATION, t.b TRANSFORMATION"),
        # The keys of a map, and its values, come out whatever is made of the others.
        ("transform_values(m, (k, v) -> md5(cast(v AS string)))", "t.m TRANSFORMATION"),
        ("transform_keys(m, (k, v) -> md5(k))", "t.m TRANSFORMATION"),
        ("transform(l, e -> md5(cast(e AS string)))", "t.l TRANSFORMATION masked"),
        ("map_values(mr)[0].y", "t.mr.y TRANSFORMATION"),
        ("map_entries(mr)[0].value.x", "t.mr.x TRANSFORMATION"),
        ("array_compact(ar)[0].y", "t.ar.y TRANSFORMATION, t.ar CONDITIONAL"),
        ("arrays_zip(l, ar)[0].ar.y", "t.ar.y TRANSFORMATION"),
        ("CAST(r AS STRUCT<p: BIGINT, q: STRING>).p", "t.r.x TRANSFORMATION"),
        # Whether there are rows.
        ("EXISTS (SELECT 1 FROM u)", "u. FILTER masked"),
    ],
)
def test_expression(spark: SparkSession, inputs: Inputs, sql: str, expected: str) -> None:
    """A column of t."""
    found = lineage_of(spark.sql(f"SELECT {sql} AS o FROM t"), inputs)  # noqa: S608
    assert _ways(found.columns[0].sources) == set(expected.split(", "))
    assert not found.whole
    assert found.columns[0].unknown is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("max_by(r, a).y", "t.r.y AGGREGATION, t.a CONDITIONAL"),
        ("min_by(s, b)", "t.s AGGREGATION, t.b CONDITIONAL"),
        ("(max(r) FILTER (WHERE b > 1)).x", "t.r.x AGGREGATION, t.b FILTER"),
        ("approx_count_distinct(s)", "t.s AGGREGATION masked"),
        ("sum(1)", "t. AGGREGATION masked"),
        ("max('v1')", "t. AGGREGATION masked"),
        ("count(1)", "t. AGGREGATION masked"),
        ("sum(1 + a)", "t.a AGGREGATION"),
    ],
)
def test_aggregate(spark: SparkSession, inputs: Inputs, sql: str, expected: str) -> None:
    """An aggregate of all rows of t."""
    found = lineage_of(spark.sql(f"SELECT {sql} AS o FROM t"), inputs)  # noqa: S608
    assert _ways(found.columns[0].sources) == set(expected.split(", "))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("WITH w AS (SELECT a, * FROM t) SELECT b FROM w", {"t.b IDENTITY"}),
        ("WITH w AS (SELECT x.*, x.b FROM t x JOIN u y ON x.a = y.a) SELECT s FROM w", {"t.s IDENTITY"}),
        ("WITH w AS (SELECT a, a AS x, a FROM t) SELECT x FROM w", {"t.a IDENTITY"}),
    ],
)
def test_a_definition_that_has_a_column_twice(
    spark: SparkSession, inputs: Inputs, sql: str, expected: set[str]
) -> None:
    """Columns of a CTE go by position."""
    assert _known(lineage_of(spark.sql(sql), inputs)) == [expected]


def test_pivot(spark: SparkSession, inputs: Inputs) -> None:
    """Values of the column that is pivoted by decide, and come out nowhere."""
    found = lineage_of(
        spark.sql("SELECT * FROM (SELECT s, a, b FROM t) PIVOT (sum(a) AS n, count(b) AS c FOR s IN ('p'))"),
        inputs,
    )
    assert [_ways(each.sources) for each in found.columns] == [
        {"t.a AGGREGATION", "t.s CONDITIONAL"},
        {"t.b AGGREGATION masked", "t.s CONDITIONAL"},
    ]


def test_rows_of_as_many_elements_as_are_written(spark: SparkSession, inputs: Inputs) -> None:
    """A literal array gives a constant number of rows."""
    sql = "SELECT s, pos, e FROM t LATERAL VIEW posexplode(array(a, b)) x AS pos, e"
    found = lineage_of(spark.sql(sql), inputs)
    assert [_ways(each.sources) for each in found.columns] == [
        {"t.s IDENTITY"},
        set(),
        {"t.a TRANSFORMATION", "t.b TRANSFORMATION"},
    ]


def test_keys_and_values_of_a_map_that_is_written(spark: SparkSession, inputs: Inputs) -> None:
    """They are apart, as when columns are turned into rows by it."""
    sql = "SELECT k, v FROM t LATERAL VIEW explode(map('x', a, s, b)) x AS k, v"
    assert _known(lineage_of(spark.sql(sql), inputs)) == [
        {"t.s TRANSFORMATION"},
        {"t.a TRANSFORMATION", "t.b TRANSFORMATION"},
    ]


def test_fields_that_stay_when_one_is_set(inputs: Inputs) -> None:
    """The graph represents a struct by its fields: all of them are reported, whether they were set or kept."""
    of = F.col("r")
    frame = inputs[0][1].select(
        of.withField("X", F.col("a") + 1).withField("z", F.col("b")).alias("set"),
        of.withField("z", F.col("b")).dropFields("z", "x").alias("less"),
        of.cast("struct<p: bigint, q: string>").alias("cast"),
    )
    found = {each.column: _ways(each.sources) for each in lineage_of(frame, inputs).columns}
    assert found == {
        "set": {"t.a TRANSFORMATION", "t.r.y TRANSFORMATION", "t.b TRANSFORMATION"},
        "set.X": {"t.a TRANSFORMATION"},
        "set.y": {"t.r.y IDENTITY"},
        "set.z": {"t.b IDENTITY"},
        "less": {"t.r.y TRANSFORMATION"},
        "less.y": {"t.r.y IDENTITY"},
        "cast": {"t.r.x TRANSFORMATION", "t.r.y TRANSFORMATION"},
        "cast.p": {"t.r.x TRANSFORMATION"},
        "cast.q": {"t.r.y IDENTITY"},
    }


def test_fields_apart_depend_on_what_the_struct_depends_on(spark: SparkSession, inputs: Inputs) -> None:
    """The graph represents a struct by its fields: dependencies of the whole struct apply to each."""
    sql = "SELECT (SELECT struct(max(c) AS c, max(d) AS d) FROM u WHERE u.a = t.a) AS o FROM t"
    found = {each.column: _ways(each.sources) for each in lineage_of(spark.sql(sql), inputs).columns}
    assert found["o.c"] == {"u.c AGGREGATION", "u.a FILTER", "t.a FILTER"}
    exploded = "SELECT struct(a AS a) AS o FROM t LATERAL VIEW explode(l) AS e"
    found = {each.column: _ways(each.sources) for each in lineage_of(spark.sql(exploded), inputs).columns}
    assert found["o.a"] == {"t.a IDENTITY", "t.l JOIN"}


def test_deduplicated_within_a_watermark(spark: SparkSession, inputs: Inputs) -> None:
    """As what drops duplicates otherwise."""
    frame = spark.sql("SELECT a, timestamp'2026-01-01' AS at FROM t").withWatermark("at", "1 hour")
    found = lineage_of(frame.dropDuplicatesWithinWatermark(["a"]), inputs)
    assert _known(found) == [{"t.a IDENTITY"}, set()]
    assert _ways(found.whole) == {"t.a GROUP_BY"}


@pytest.mark.skipif(not hasattr(DataFrame, "zipWithIndex"), reason="Spark before 4.2 has no zipWithIndex")
def test_numbered_rows(inputs: Inputs) -> None:
    """The number of a row, as pandas on Spark gives it, is made of no column."""
    found = lineage_of(inputs[0][1].select("a").zipWithIndex(), inputs)
    assert _known(found) == [{"t.a IDENTITY"}, set()]
    assert found.note is None


@pytest.mark.parametrize(
    ("sql", "expression"),
    [
        ("2 * sum(a)", "(2L * sum(t.a)) AS o"),
        ("transform(l, e -> e + b)", "transform(t.l, e -> (e + t.b)) AS o"),
        ("nullif(a, 3)", "(IF((t.a = 3), CAST(NULL AS INT), t.a)) AS o"),
        ("(sum(a) OVER (PARTITION BY s)) + 1", "(sum(t.a) OVER (PARTITION BY t.s "),
    ],
)
def test_expressions_are_as_they_were_written(
    spark: SparkSession, inputs: Inputs, sql: str, expression: str
) -> None:
    """Without what the analyser has put in for its own ends."""
    (column,) = lineage_of(spark.sql(f"SELECT {sql} AS o FROM t"), inputs).columns  # noqa: S608
    assert column.sources[0].expression.startswith(expression)


def test_a_table_over_jdbc_has_the_name_of_the_table(spark: SparkSession) -> None:
    """Whatever the number of partitions that it is read in; of a query the tables are known."""
    url = "jdbc:derby:memory:lineage;create=true"
    rows = spark.sql("SELECT 1 AS ID, 'a' AS NAME")
    rows.write.jdbc(url, "ORDERS", mode="overwrite")
    in_parts = spark.read.jdbc(url, "ORDERS", column="ID", lowerBound=0, upperBound=9, numPartitions=3)
    for frame in (spark.read.jdbc(url, "ORDERS"), in_parts):
        assert _known(lineage_of(frame, [])) == [{"ORDERS.ID IDENTITY"}, {"ORDERS.NAME IDENTITY"}]
    for option in ("query", "dbtable"):
        query = "SELECT NAME AS N FROM ORDERS WHERE ID > 0"
        text = query if option == "query" else f"({query}) o"
        frame = spark.read.format("jdbc").options(url=url, **{option: text}).load()
        (column,) = lineage_of(frame, []).columns
        assert _ways(column.sources) == {"ORDERS. TRANSFORMATION"}
        assert "a query that the database runs" in (column.unknown or "")


def _known(found: LineageOfOutput) -> list[set[str]]:
    assert not any(each.unknown for each in found.columns)
    return [_ways(each.sources) for each in found.columns]


def _ways(sources: tuple[ColumnSource, ...]) -> set[str]:
    return {
        f"{each.input}.{each.column} {each.subtype}{' masked' if each.masking else ''}" for each in sources
    }
