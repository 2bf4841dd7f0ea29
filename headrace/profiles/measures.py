"""The measures of a column, as JSON: read from its sketches, in the form of a version's statistics."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.profiles.sketches import ColumnSketches, distinct_count, frequent_of, quantiles_of

# Shares of the values that are not above a quantile, by their names in the statistics.
QUANTILES: Mapping[str, float] = {
    "p01": 0.01,
    "p05": 0.05,
    "p25": 0.25,
    "p50": 0.5,
    "p75": 0.75,
    "p95": 0.95,
    "p99": 0.99,
}
MAX_ITEMS = 10
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def measures(sketches: ColumnSketches) -> dict[str, Any]:
    """Return what the sketches show, each measure omitted if unknown. Raises UnreadableSketch.

    distinct_count: estimated. mean: of numbers. quantiles: by QUANTILES. top_values, patterns: [text, rows], the most
    frequent first. length: min, max and mean number of characters. sampled_rows: if they are of a sample.
    """
    values = sketches.value_count
    found: dict[str, Any] = {}
    if sketches.sampled:
        found["sampled_rows"] = sketches.row_count
    if sketches.distinct is not None:
        found["distinct_count"] = min(values, round(distinct_count(sketches.distinct)))
    if sketches.quantiles is not None:
        known = quantiles_of(sketches.quantiles)
        if not known.is_empty():
            if sketches.total is not None and math.isfinite(sketches.total):
                found["mean"] = sketches.total / known.n  # it has no NaN, nor has the total
            found["quantiles"] = {
                name: value_text(known.get_quantile(share), sketches.type)
                for name, share in QUANTILES.items()
            }
    if sketches.characters is not None and sketches.longest is not None and values:
        found["length"] = {
            "min": sketches.shortest,
            "max": sketches.longest,
            "mean": round(sketches.characters / values, 2),
        }
    for name, sketch in (("top_values", sketches.frequent), ("patterns", sketches.patterns)):
        if sketch is not None and (top := top_items(sketch)):
            found[name] = [list(item) for item in top]
    return found


def top_items(sketch: bytes, limit: int = MAX_ITEMS) -> list[tuple[str, int]]:
    """Return the most frequent texts with their numbers of rows; only those that are sure. Raises UnreadableSketch."""
    import datasketches

    sure = datasketches.frequent_items_error_type.NO_FALSE_POSITIVES
    items = frequent_of(sketch).get_frequent_items(sure)
    ranked = sorted(
        ((str(text), int(count)) for text, count, *_ in items), key=lambda item: (-item[1], item[0])
    )
    return ranked[:limit]


def value_text(value: float, type_: str) -> int | float | str:
    """Return a value of a quantile sketch as JSON of the column's type."""
    if type_ == "date":
        return _day(value)
    if type_ == "timestamp":
        return _time(value)
    if not math.isfinite(value):
        return str(value)
    return int(value) if type_ in ("tinyint", "smallint", "int", "bigint") else value


def is_number(type_: str) -> bool:
    """Return True for numbers, which have a mean."""
    return type_.partition("(")[0] in NUMBERS


def bound(type_: str, values: Sequence[Any], name: str) -> Any:  # noqa: ANN401 - JSON
    """Return the least of values that are each a `min`, or the greatest of `max`, as JSON; None if one is unknown."""
    if not values or any(value is None for value in values):
        return None
    order: Callable[[Any], Any] = (lambda value: Decimal(str(value))) if is_number(type_) else str
    try:
        return (min if name == "min" else max)(values, key=order)
    except InvalidOperation:  # the column had another type
        return None


def _day(value: float) -> str:
    try:
        return (_EPOCH + dt.timedelta(days=round(value))).date().isoformat()
    except OverflowError:  # a year that Python cannot represent
        return f"day {value:.0f}"


def _time(value: float) -> str:
    try:
        return (_EPOCH + dt.timedelta(seconds=value)).isoformat()
    except OverflowError:
        return f"second {value:.0f}"
