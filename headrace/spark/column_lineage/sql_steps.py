"""Column lineage from the SQL tree alone, when Spark's plan is on a server.

The tree has names and no types, and user-defined functions look like any other; so its lineage has a lower confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

from headrace.catalog.column_lineage import LineageOfOutput, Origin, unknown
from headrace.spark.column_lineage.edges import column_lineage, sources
from headrace.spark.column_lineage.sql_tree import Query, QueryColumns, UnknownColumns, is_generated
from headrace.spark.column_lineage.values import Doubt, Value, column, rows

CONFIDENCE = 0.7


@dataclass(frozen=True, slots=True)
class SqlStep:
    """A step of a transform. text: its SQL, None for Python. tables: the dataset or earlier step of each table in
    the text."""

    name: str
    text: str | None
    tables: Mapping[str, str]


def lineage_of_sql(
    steps: Sequence[SqlStep], inputs: Mapping[str, Sequence[str]], names: Sequence[str]
) -> LineageOfOutput:
    """Return the lineage of the last step's columns. inputs: the columns of each dataset."""
    if not steps or steps[-1].text is None:
        return unknown(
            names, "the plan is on the Spark Connect server, and there is no SQL to analyse", Origin.SQL
        )
    known = {key: _input(key, columns) for key, columns in inputs.items()}
    try:
        for step in steps:
            known[step.name] = _step(step, known)
    except SqlglotError as error:
        return unknown(names, f"the SQL's tree could not be read: {str(error).splitlines()[0]}", Origin.SQL)
    made = known[steps[-1].name]
    if len(made.columns) != len(names):
        return unknown(names, "the SQL's tree does not have the columns that the frame has", Origin.SQL)
    values = (
        _value(own, value, name, made.below)
        for name, (own, value) in zip(names, made.columns.items(), strict=True)
    )
    return LineageOfOutput(
        tuple(
            replace(each, origin=Origin.SQL, confidence=min(each.confidence, CONFIDENCE))
            for each in (column_lineage((name,), value) for name, value in zip(names, values, strict=True))
        ),
        tuple(sources(made.whole, "")),
        "from the SQL's text: the plan is on the Spark Connect server",
    )


def _value(own: str, value: Value, name: str, inputs: Iterable[str]) -> Value:
    """Return the value of the frame's column in the place of the tree's column `own`, if it has its name."""
    if value.doubt or own == name.lower() or is_generated(own):
        return value
    return rows(
        inputs, False, Doubt(f"the SQL tree has column {own} in the place of the frame's {name}", 0.2)
    )


def _input(key: str, columns: Sequence[str]) -> QueryColumns:
    return QueryColumns({name.lower(): column(key, name) for name in columns}, {}, frozenset({key}))


def _renamed(made: QueryColumns, names: Sequence[str]) -> QueryColumns:
    """Return the columns of `table AS alias (names)`."""
    if not names or isinstance(made.columns, UnknownColumns):
        return made
    columns = zip((name.lower() for name in names), made.columns.values(), strict=False)
    return replace(made, columns=dict(columns))


def _step(step: SqlStep, known: Mapping[str, QueryColumns]) -> QueryColumns:
    if step.text is None:
        below = frozenset().union(*(made.below for made in known.values()))
        doubt = Doubt(
            f"the Python step {step.name}: the SQL does not show how its result depends on its inputs", 0.2
        )
        return QueryColumns(UnknownColumns(rows(below, False, doubt)), {}, below)
    tree = parse_one(step.text, dialect="spark")
    tables: dict[str, QueryColumns] = {}
    for table in list(tree.find_all(exp.Table)):
        name = ".".join(part.name for part in table.parts)
        if name in step.tables:
            own = f"_{len(tables)}"
            tables[own] = _renamed(known[step.tables[name]], table.alias_column_names)
            alias = exp.to_identifier(table.alias_or_name.rpartition("/")[2])
            table.set("alias", exp.TableAlias(this=alias))
            table.set("this", exp.to_identifier(own))
            table.set("db", None)
            table.set("catalog", None)
    schema: dict[str, object] = {
        own: dict.fromkeys(made.columns, "string") for own, made in tables.items() if made.columns
    }
    tree = qualify(
        tree, dialect="spark", schema=schema, validate_qualify_columns=False, quote_identifiers=False
    )
    scope = build_scope(tree)
    if scope is None:
        raise SqlglotError("it is not a query")
    return Query(tables).made(scope, {})
