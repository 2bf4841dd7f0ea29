# ruff: noqa: S608
"""Lineage is complete: outputs without an input column among their sources do not change with its values."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headrace.spark.column_lineage import lineage_of
from tests.platform.spark.column_lineage.truth import Tables, claimed, contents, frames

# Small values that meet each other in joins, groups and comparisons, and nulls.
TABLES: Tables = {
    "t": (
        "a int, b int, s string, l array<int>, r struct<x: int, y: string>",
        [
            (1, 2, "p", [1, 2], (1, "u")),
            (2, 2, "q", [3], (2, "v")),
            (3, None, "p", [], (2, "u")),
            (1, 4, "r", None, (None, "w")),
        ],
    ),
    "u": ("a int, c int, d string", [(1, 1, "p"), (2, 3, "q"), (2, 5, None), (4, 2, "p")]),
}
CHANGES: dict[str, dict[str, list[object]]] = {
    "t": {
        "a": [2, 1, 1, 3],
        "b": [1, None, 4, 2],
        "s": ["q", "p", "r", "p"],
        "l": [[2], [], [5, 1], [7]],
        "r": [(2, "v"), (1, "u"), (4, "q"), (1, "w")],
    },
    "u": {"a": [2, 4, 1, 1], "c": [5, 1, 2, 3], "d": ["p", None, "q", "x"]},
}

_NUMBER = st.sampled_from(["t.a", "t.b", "t.r.x", "size(t.l)", "length(t.s)", "coalesce(t.b, t.a)", "7"])
_TEXT = st.sampled_from(["t.s", "t.r.y", "upper(t.s)", "cast(t.a as string)", "sha1(t.s)", "'k'"])


@st.composite
def _scalar(draw: st.DrawFn) -> str:
    one, other, text = draw(_NUMBER), draw(_NUMBER), draw(_TEXT)
    return draw(
        st.sampled_from(
            [
                one,
                text,
                f"{one} + {other}",
                f"CASE WHEN {one} > {other} THEN {text} ELSE 'z' END",
                f"if({one} = 1, {other}, {one})",
                f"nullif({one}, {other})",
                f"concat({text}, '-', {one})",
                f"transform(t.l, e -> e + {one})",
                f"filter(t.l, e -> e > {one})",
                f"aggregate(t.l, 0, (acc, e) -> acc + e + {one})",
                f"exists(t.l, e -> e = {one})",
                f"named_struct('n', {one}, 'm', {text}).m",
                f"named_struct('n', {one}, 'm', {text})",
                f"array({one}, {other})[0]",
                f"map({text}, {one})['p']",
                f"(SELECT max(u.c) FROM u WHERE u.a = {one})",
                "(SELECT count(*) FROM u WHERE u.c > 2)",
                f"{one} IN (SELECT u.c FROM u)",
                f"EXISTS (SELECT 1 FROM u WHERE u.d = {text})",
                f"sum({one}) OVER (PARTITION BY {other})",
                f"rank() OVER (PARTITION BY {text} ORDER BY {one})",
                f"lag({one}) OVER (ORDER BY {other}, {text}, t.a, t.b, t.s)",
                "1",
            ]
        )
    )


@st.composite
def _aggregate(draw: st.DrawFn) -> str:
    one, other, text = draw(_NUMBER), draw(_NUMBER), draw(_TEXT)
    return draw(
        st.sampled_from(
            [
                f"sum({one})",
                "count(*)",
                f"count({text})",
                f"count(DISTINCT {one}, {text})",
                f"max({one}) FILTER (WHERE {other} > 1)",
                f"sort_array(collect_list({text}))",
                f"min(struct({one}, {text}))",
                f"max_by({text}, struct({one}, {text}))",
                f"sum({one} + {other}) * 2",
                f"array_sort(collect_set(named_struct('n', {one}, 'm', {text}))).m",
            ]
        )
    )


@st.composite
def _query(draw: st.DrawFn) -> str:
    source = draw(
        st.sampled_from(
            [
                "t",
                "t",
                "t JOIN u ON t.a = u.a",
                "t LEFT JOIN u ON t.a = u.c AND u.d = t.s",
                "t LEFT SEMI JOIN u ON t.b = u.c",
                "t LEFT ANTI JOIN u ON t.a = u.c",
                "t FULL JOIN u USING (a)",
                "(SELECT * FROM t LATERAL VIEW explode(l) AS e) t",
                "(SELECT *, e.n AS n FROM t LATERAL VIEW explode(transform(l, i -> named_struct('n', i))) AS e) t",
                "(SELECT * FROM t WHERE b > 1) t",
                "(SELECT a, b, s, l, r FROM t UNION ALL"
                " SELECT c, a, d, array(c), named_struct('x', a, 'y', d) FROM u) t",
                "t, LATERAL (SELECT max(c) AS most FROM u WHERE u.a < t.b)",
                "(WITH w AS (SELECT * FROM t) SELECT w.a, v.b, w.s, v.l, w.r FROM w JOIN w v ON w.a = v.a) t",
            ]
        )
    )
    where = draw(
        st.sampled_from(["", "", "WHERE t.a > 1", "WHERE t.s IN (SELECT d FROM u)", "WHERE size(t.l) > 0"])
    )
    if draw(st.booleans()):
        columns = [draw(_scalar()) for _ in range(draw(st.integers(1, 3)))]
        distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
        names = ", ".join(f"{each} AS o{place}" for place, each in enumerate(columns))
        return f"SELECT {distinct}{names} FROM {source} {where}"
    keys = draw(st.lists(st.sampled_from(["t.s", "t.a", "t.r.y"]), max_size=2, unique=True))
    columns = [*keys, *[draw(_aggregate()) for _ in range(draw(st.integers(1, 2)))]]
    names = ", ".join(f"{each} AS o{place}" for place, each in enumerate(columns))
    how = draw(st.sampled_from(["GROUP BY {}", "GROUP BY ROLLUP({})", "GROUP BY CUBE({})"])) if keys else ""
    having = draw(st.sampled_from(["", "HAVING count(*) > 1", "HAVING max(t.b) > 1"]))
    return f"SELECT {names} FROM {source} {where} {how.format(', '.join(keys))} {having}"


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(sql=_query(), data=st.data())
def test_random_queries(spark: SparkSession, sql: str, data: st.DataObject) -> None:
    """A query of the grammar, and two of the columns that it could depend on."""
    inputs = frames(spark, TABLES)
    try:
        frame = spark.sql(sql)
    except AnalysisException:
        reject()  # the grammar knows no types: what Spark refuses says nothing
    lineage = lineage_of(frame, list(inputs.items()))
    assert not any(each.unknown for each in lineage.columns)
    before = contents(frame)
    table = data.draw(st.sampled_from(sorted(CHANGES)))
    column = data.draw(st.sampled_from(sorted(CHANGES[table])))
    _check(spark, sql, before, claimed(lineage, table, column), table, column)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, count(*) OVER (PARTITION BY s) AS n FROM t",
        "SELECT * EXCEPT (l, r) FROM t",
        "SELECT * FROM (SELECT a, s FROM t) PIVOT (count(*) FOR s IN ('p', 'q'))",
        "SELECT * FROM (SELECT s, a, b FROM t) UNPIVOT (v FOR k IN (a, b))",
        "SELECT a FROM t INTERSECT SELECT c FROM u",
        "SELECT a, s FROM t EXCEPT SELECT c, d FROM u",
        "SELECT a FROM t UNION SELECT c FROM u",
        "SELECT s, x FROM t LATERAL VIEW inline(array(r)) AS x, y",
        "SELECT count(*) AS n FROM (SELECT explode(l) FROM t)",
        "SELECT a, e FROM t LATERAL VIEW OUTER posexplode(l) AS p, e",
        "SELECT k, v FROM t LATERAL VIEW stack(2, 'a', a, 'b', b) AS k, v",
        "SELECT s FROM t NATURAL JOIN u",
        "SELECT t.s, u.d FROM t CROSS JOIN u",
        "SELECT s FROM t ORDER BY a, b LIMIT 2",
        "SELECT r.x AS x, named_struct('k', a, 'v', r) AS n FROM t",
        "WITH RECURSIVE c AS (SELECT a, 1 AS n FROM t UNION ALL SELECT c.a, c.n + u.c FROM c JOIN u ON c.a = u.a"
        " WHERE c.n < 6) SELECT a, n FROM c",
        "SELECT json_tuple(concat('{\"k\": ', a, '}'), 'k') AS k, s FROM t",
        "SELECT grouping(s) AS g, s, sum(b) AS n FROM t GROUP BY GROUPING SETS ((s), (a), ())",
        "SELECT first_value(s) OVER (ORDER BY a, b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS f FROM t",
        "SELECT map_filter(map(s, b), (k, v) -> v > a) AS m, map_keys(map(s, a)) AS k FROM t",
        "SELECT zip_with(l, array(a), (p, q) -> p + q) AS z FROM t",
        "SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) AS n FROM t",
        "SELECT a FROM t WHERE b > (SELECT avg(c) FROM u WHERE d = s)",
        "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)",
        "FROM t |> WHERE a > 1 |> AGGREGATE sum(b) AS n GROUP BY s",
        "SELECT variant_get(parse_json(concat('{\"k\": ', a, '}')), '$.k', 'int') AS k, b FROM t",
    ],
)
def test_named_queries(spark: SparkSession, sql: str) -> None:
    """One of each construct, against every column of the inputs."""
    inputs = frames(spark, TABLES)
    frame = spark.sql(sql)
    lineage = lineage_of(frame, list(inputs.items()))
    assert not any(each.unknown for each in lineage.columns), lineage
    assert not lineage.note
    before = contents(frame)
    for table, columns in CHANGES.items():
        for column in columns:
            if not all(claimed(lineage, table, column)):
                _check(spark, sql, before, claimed(lineage, table, column), table, column)


def _check(
    spark: SparkSession, sql: str, before: list[list[str]], owed: list[bool], table: str, column: str
) -> None:
    schema, rows = TABLES[table]
    place = [each.split()[0] for each in schema.replace("x: int, ", "").split(", ")].index(column)
    changed = [
        (*row[:place], value, *row[place + 1 :])
        for row, value in zip(rows, CHANGES[table][column], strict=True)
    ]
    frames(spark, {**TABLES, table: (schema, changed)})
    after = contents(spark.sql(sql))
    for number, (one, other, owes) in enumerate(zip(before, after, owed, strict=True)):
        assert owes or one == other, f"column {number} of {sql} changed with {table}.{column}"
