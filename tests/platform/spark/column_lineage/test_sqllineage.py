"""sqllineage's expected results (sqllineage_cases.json: reata/sqllineage at the commit that the file names, MIT).

The file has for each case the expected tables, or why it is excluded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.spark.column_lineage.extraction import lineage_of_plan

CASES = json.loads(Path(__file__).with_name("sqllineage_cases.json").read_text())["cases"]
Edges = set[tuple[str, str]]


@pytest.mark.parametrize(
    "case", [each for each in CASES if "excluded" not in each], ids=lambda case: str(case["number"])
)
def test_equals_the_expected(
    analysed: Callable[[str], Any],
    tables: Callable[..., None],
    case: dict[str, Any],
) -> None:
    """The sources of each column, the conditions and windows it depends on among them, from end to end."""
    for name, columns in case["tables"].items():
        partition = case.get("partitioned")
        tables(
            {name: [f"`{each}` {case['type']}" for each in columns]},
            partition if partition in columns else None,
        )
    statements = [each for each in case["sql"].split(";\n") if each.strip(" ;\n")]
    edges: Edges = set()
    for statement in statements:
        found = lineage_of_plan(analysed(statement.strip(" ;\n")), [])
        assert not any(each.unknown for each in found.columns)
        edges |= _edges(found, _target(statement))
    # A table that is written keeps the rows that it has, which the reference leaves out.
    edges = {(source, target) for source, target in edges if source != target}
    assert (_joined(edges) if len(statements) > 1 else edges) == _expected(case)


def test_excluded_with_reasons() -> None:
    """As few as there can be."""
    reasons = [each["excluded"] for each in CASES if "excluded" in each]
    assert all(reasons)
    assert len(reasons) == 19


def _edges(found: LineageOfOutput, target: str) -> Edges:
    return {
        (f"{_table(source.input)}.{_plain(source.column) or '*'}", f"{target}.{_plain(column.column)}")
        for column in found.columns
        for source in column.sources
    }


def _target(statement: str) -> str:
    tree = sqlglot.parse_one(statement, dialect="spark")
    table = tree.find(exp.Table) if not isinstance(tree.this, exp.Table) else tree.this
    if isinstance(tree, exp.Insert | exp.Create):
        table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    assert isinstance(table, exp.Table)
    return ".".join(part.name for part in table.parts).lower()


def _table(name: str) -> str:
    return name.removeprefix("spark_catalog.").removeprefix("default.")


def _plain(column: str) -> str:
    return column.strip("`").lower()


def _joined(edges: Edges) -> Edges:
    """From the first tables to the last ones, past those in between."""
    between = {target for _, target in edges} & {source for source, _ in edges}
    while any(source in between for source, _ in edges):
        edges = {
            step
            for source, target in edges
            for step in (
                {(before, target) for before, through in edges if through == source}
                if source in between
                else {(source, target)}
            )
        }
    return {(source, target) for source, target in edges if target not in between}


def _expected(case: dict[str, Any]) -> Edges:
    """The reference's edges; where it has `*` to `*`, not knowing the columns, each column of the table to its like."""
    edges: Edges = set()
    for source, target in case["expected"]:
        if source.endswith(".*") and target.endswith(".*"):
            columns = case["tables"][source[:-2]]
            edges |= {(f"{source[:-2]}.{each}", f"{target[:-2]}.{each}") for each in columns}
        else:
            edges.add((source, target))
    # Cases that the reference omits; the reason is with the case.
    return edges | {(source, target) for source, target in case.get("more", ())}
