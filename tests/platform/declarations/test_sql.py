"""A query's tables are found by scope and replaced in place; the rest of its text is unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.execution.problems import SqlError
from headrace.execution.sql import Query, SourceText, parse, spliced


def query(text: str) -> Query:
    return parse(SourceText(text, Path("query.sql")))


def seen(text: str) -> str:
    return spliced(query(text), lambda name: "<" + name + ">")


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM airlines", {"airlines"}),
        ("SELECT * FROM flights.airlines", {"flights/airlines"}),
        ("SELECT * FROM `flights`.`air lines`", {"flights/air lines"}),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", {"b"}),
        ("WITH A AS (SELECT 1) SELECT * FROM a", set()),
        # Within its own definition a CTE is not in sight yet, so that the inner name is the table.
        ("WITH airlines AS (SELECT * FROM airlines) SELECT * FROM airlines", {"airlines"}),
        ("WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b, c", {"c"}),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x JOIN a", {"a"}),
        ("WITH a AS (SELECT 1) SELECT * FROM t WHERE EXISTS (SELECT 1 FROM a WHERE a.x = t.x)", {"t"}),
        ("SELECT * FROM a UNION ALL SELECT * FROM b", {"a", "b"}),
        ("SELECT (SELECT max(x) FROM a) FROM range(10)", {"a"}),
        ("SELECT * FROM a LATERAL VIEW explode(xs) t AS x", {"a"}),
        ("WITH a AS (SELECT 1) SELECT * FROM other.a", {"other/a"}),
    ],
)
def test_tables_are_what_a_query_reads_without_its_ctes(text: str, tables: set[str]) -> None:
    assert set(query(text).tables) == tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT airlines.x FROM airlines", "SELECT airlines.x FROM <airlines> AS airlines"),
        ("SELECT a.x FROM d.airlines a", "SELECT a.x FROM <d/airlines> a"),
        ("SELECT a.x FROM d.airlines AS a -- d.airlines", "SELECT a.x FROM <d/airlines> AS a -- d.airlines"),
        ("SELECT d.airlines.x FROM d.airlines", "SELECT airlines.x FROM <d/airlines> AS airlines"),
        ("SELECT 'd.airlines' FROM d.airlines", "SELECT 'd.airlines' FROM <d/airlines> AS airlines"),
        ("SELECT 1 FROM `a b`", "SELECT 1 FROM <a b> AS `a b`"),
        (
            "SELECT 1 FROM a TABLESAMPLE (10 PERCENT) JOIN b USING (x)",
            "SELECT 1 FROM <a> TABLESAMPLE (10 PERCENT) AS a JOIN <b> AS b USING (x)",
        ),
        ("SELECT 1 FROM a\n  JOIN\tb\n", "SELECT 1 FROM <a> AS a\n  JOIN\t<b> AS b\n"),
    ],
)
def test_names_become_views_and_keep_their_alias(text: str, expected: str) -> None:
    assert seen(text) == expected


names = st.sampled_from(["airlines", "flights", "planes", "weather", "x1"])
domains = st.sampled_from(["", "ops.", "`raw`."])
spaces = st.sampled_from([" ", "\n", "\t ", " -- a comment about flights\n", " /* FROM airlines */ "])


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, set[str]]:
    """A query of CTEs, joins, aliases and subqueries, with the tables that it reads."""
    read: set[str] = set()
    ctes: list[str] = []

    def table() -> str:
        if ctes and draw(st.booleans()):  # type: ignore[arg-type]
            return draw(st.sampled_from(ctes))
        domain, name = draw(domains), draw(names)
        plain = (domain + name).replace("`", "").replace(".", "/")
        if plain in ctes:
            return plain
        read.add(plain)
        return domain + name

    def source(depth: int) -> str:
        if depth and draw(st.integers(0, 3)) == 0:
            return f"({select(depth - 1)}) AS sub{draw(st.integers(0, 99))}"
        found = table()
        return found + draw(st.sampled_from(["", " t", " AS u"])) if draw(st.booleans()) else found

    def select(depth: int) -> str:
        parts = [f"SELECT{draw(spaces)}*{draw(spaces)}FROM{draw(spaces)}{source(depth)}"]
        parts += [f"CROSS JOIN{draw(spaces)}{source(depth)}" for _ in range(draw(st.integers(0, 2)))]
        if depth and draw(st.booleans()):
            parts.append(f"WHERE 'FROM airlines' IN (SELECT name FROM {table()})")  # noqa: S608
        return draw(spaces).join(parts)

    definitions = []
    for index in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([f"cte{index}", draw(names)]))
        if name not in ctes:
            definitions.append(f"{name} AS ({select(1)})")
            ctes.append(name)
    head = f"WITH {', '.join(definitions)} " if definitions else ""
    return head + select(2), read


@given(queries())
def test_any_query_is_spliced_to_views_alone_and_otherwise_left_alone(case: tuple[str, set[str]]) -> None:
    text, read = case
    parsed = query(text)
    assert set(parsed.tables) == read
    marked = spliced(parsed, lambda name: f"<<{name.replace('/', '__')}>>")
    # Taking views and added aliases away again leaves the text between the names as it was.
    references = sorted(parsed.references, key=lambda reference: reference.start)
    rest, position = [], 0
    for reference in references:
        rest.append(text[position : reference.start])
        position = reference.end
    rest.append(text[position:])
    pattern = ".*?".join(re.escape(part) for part in rest)
    assert re.fullmatch(pattern, marked, re.DOTALL)
    again = query(re.sub(r"<<(\w+)>>", r"view__\1", marked))
    assert all(name.startswith("view__") for name in again.tables)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("SELECT a b c FROM t", 1, 12, "cannot parse"),
        ("SELECT *\nFROM t\nWHERE (a = 1", 3, 12, "cannot parse"),
        ("SELECT 'abc\nFROM t", 1, 8, "not closed"),
        ("SELECT 1 /* but\nwhy", 1, 10, "not closed"),
        ("SELECT 1;\nSELECT 2", 2, 1, "a single SELECT"),
        ("CREATE TABLE x AS SELECT 1", 1, 1, "a single SELECT"),
        ("", 1, 1, "a single SELECT"),
        ("SELECT *\nFROM t VERSION AS OF 3", 2, 6, "AS OF"),
    ],
)
def test_what_does_not_parse_is_shown_at_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(SqlError, match=words) as caught:
        query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_digest_ignores_layout_and_comments_but_not_names_and_values() -> None:
    base = query("SELECT a FROM t WHERE x = 'A'").digest
    assert query("select a\n  from t -- all\n where x = 'A'").digest == base
    assert query("SELECT a FROM t WHERE x = 'a'").digest != base
    assert query("SELECT A FROM t WHERE x = 'A'").digest != base


def test_parameters_are_known_with_their_lines() -> None:
    found = query("SELECT *\nFROM t\nWHERE d >= :partition_start\n  AND d < :partition_end").parameters
    assert found == {"partition_start": 3, "partition_end": 4}
