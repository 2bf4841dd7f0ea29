"""Measured dependencies of a query: change the values of one input column and compare the output columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.catalog.column_lineage import LineageOfOutput, is_field, parts

_COMMA = re.compile(r", (?![^<]*>)")
Row = tuple[Any, ...]
Tables = Mapping[str, tuple[str, Sequence[Row]]]  # schema and rows


def frames(spark: SparkSession, tables: Tables) -> dict[str, DataFrame]:
    """A frame and a view of each table, of literals: no task has to run to have them."""
    found = {name: spark.sql(_values(schema, rows)) for name, (schema, rows) in tables.items()}
    for name, frame in found.items():
        frame.createOrReplaceTempView(name)
    return found


def contents(frame: DataFrame) -> list[list[str]]:
    """The values of each output column, in no order."""
    rows = frame.collect()
    return [
        sorted(json.dumps(_plain(row[place]), default=str) for row in rows)
        for place in range(len(frame.columns))
    ]


def claimed(lineage: LineageOfOutput, table: str, column: str) -> list[bool]:
    """Return for each output column whether its lineage contains that column, or the whole table."""

    def owes(sources: Sequence[Any]) -> bool:
        return any(
            source.input == table and (source.column == "" or parts(source.column)[0].lower() == column)
            for source in sources
        )

    everywhere = owes(lineage.whole)
    return [everywhere or owes(each.sources) for each in lineage.columns if not is_field(each.column)]


def _values(schema: str, rows: Sequence[Row]) -> str:
    """SELECT ... FROM VALUES of the rows, cast to the schema."""
    columns = [each.split(" ", 1) for each in _COMMA.split(schema)]
    cells = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    names = ", ".join(
        f"CAST(col{place} AS {type}) AS {name}" for place, (name, type) in enumerate(columns, 1)
    )
    return f"SELECT {names} FROM VALUES {cells}"  # noqa: S608


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"array({', '.join(map(_literal, value))})"
    if isinstance(value, tuple):
        return f"struct({', '.join(map(_literal, value))})"
    return repr(value)


def _plain(value: Any) -> Any:
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value
