"""Summaries of rows: their number, and each column's nulls, minimum and maximum."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """Statistics of a column over a set of rows, as Python values of the column's type.

    null_count, minimum and maximum are None if unknown: no values, a type without order, a text too long for a file's
    footer, a NaN among the values.
    """

    row_count: int
    null_count: int | None
    minimum: Any = None
    maximum: Any = None

    @property
    def all_null(self) -> bool:
        """True if the column is known to have no values."""
        return self.null_count == self.row_count


@dataclass(frozen=True, slots=True)
class Summary:
    """The number of some rows, and the bounds of their columns."""

    row_count: int
    columns: Mapping[str, Bounds]


def statistics(summary: Summary, sensitive: frozenset[str]) -> dict[str, dict[str, Any]]:
    """Return the known null_count, min and max per column; for a sensitive one no bounds, which are values."""
    statistics: dict[str, dict[str, Any]] = {}
    for name, bounds in summary.columns.items():
        values: dict[str, Any] = {"null_count": bounds.null_count}
        if name not in sensitive:
            values |= {"min": jsonable(bounds.minimum), "max": jsonable(bounds.maximum)}
        statistics[name] = {key: value for key, value in values.items() if value is not None}
    return statistics


def jsonable(value: Any) -> Any:  # noqa: ANN401 - any value of a Spark row
    """Convert a value of a Spark row to JSON: times as ISO text, decimals as text, NaN as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        return format(value, "f")
    if hasattr(value, "asDict"):
        return {name: jsonable(item) for name, item in value.asDict().items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return str(value)
