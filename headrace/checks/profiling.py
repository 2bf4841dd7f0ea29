"""The aggregates by which Spark makes the sketches of a frame's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.profiles.measures import is_number
from headrace.profiles.sketches import (
    COUNTED_CHARACTERS,
    COUNTED_VALUES,
    KLL_SIZE,
    LOG_REGISTERS,
    ColumnSketches,
)
from headrace.spark.errors import SparkUnavailable
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

ROWS = "profiled"  # an aggregate: the number of rows

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_TIMES = ("date", "timestamp")
# A code in few digits is a category as a text is; a bigint is an identifier, whose frequencies say nothing.
_CATEGORIES = ("string", "boolean", "tinyint", "smallint", "int")
_PATTERN_CHARACTERS = 20  # more would cost more than all other sketches of a text


def is_profiled(type_: str) -> bool:
    """Return True for types with sketches: all but nested ones, intervals, variants, and texts with a collation."""
    base = type_.partition("(")[0]
    return base in ("string", "boolean", "binary", "timestamp_ntz", "char", "varchar", *_TIMES) or is_number(
        type_
    )


def profile_aggregates(columns: Mapping[str, str]) -> list[Column]:
    """Return the aggregates that `sketches_of` reads. columns: their types by name, all of them `is_profiled`.

    Raises SparkUnavailable if Spark is too old.
    """
    from pyspark import __version__
    from pyspark.sql import functions as F

    if not hasattr(F, "kll_sketch_agg_double"):
        raise SparkUnavailable(
            f"Spark {__version__} has no sketches of quantiles, which `profile: full` and drift checks need. Use "
            "Spark 4.1 or newer, or remove them."
        )
    found = [F.count(F.lit(1)).alias(ROWS)]
    for number, (name, type_) in enumerate(columns.items()):
        value = F.col(quoted(name))
        aggregates: dict[str, Column] = {
            "values": F.count(value),
            "distinct": F.hll_sketch_agg(_hashable(value, type_), LOG_REGISTERS),
        }
        if (measured := _measured(value, type_)) is not None:
            aggregates["quantiles"] = F.kll_sketch_agg_double(measured, KLL_SIZE)
            if is_number(type_):
                aggregates["total"] = F.sum(measured)
        if type_ in _CATEGORIES:
            text = value if type_ == "string" else value.cast("string")
            aggregates["frequent"] = _frequent(F.left(text, F.lit(COUNTED_CHARACTERS)))
        if type_ == "string":
            length = F.length(value)
            aggregates |= {"shortest": F.min(length), "longest": F.max(length), "characters": F.sum(length)}
            start = F.left(value, F.lit(_PATTERN_CHARACTERS))
            aggregates["patterns"] = _frequent(F.mask(start, F.lit("A"), F.lit("a"), F.lit("9")))
        found += [aggregate.alias(f"{part}{number}") for part, aggregate in aggregates.items()]
    return found


def sketches_of(
    answer: Mapping[str, Any], columns: Mapping[str, str], *, sampled: bool = False
) -> dict[str, ColumnSketches]:
    """Return the sketches by column. answer: what the aggregates of the same columns came to."""
    rows = int(answer[ROWS])

    def sketches(number: int, type_: str) -> ColumnSketches:
        def part(name: str) -> Any:  # noqa: ANN401 - a number or bytes
            return answer.get(f"{name}{number}")

        def sketch(name: str) -> bytes | None:
            found = part(name)
            return None if found is None else bytes(found)

        has_texts = type_ == "string"
        return ColumnSketches(
            type=type_,
            row_count=rows,
            null_count=rows - int(part("values")),
            sampled=sampled,
            total=float(part("total") or 0) if is_number(type_) else None,
            shortest=part("shortest"),
            longest=part("longest"),
            characters=int(part("characters") or 0) if has_texts else None,
            distinct=sketch("distinct"),
            quantiles=sketch("quantiles"),
            frequent=sketch("frequent"),
            patterns=sketch("patterns"),
        )

    return {name: sketches(number, type_) for number, (name, type_) in enumerate(columns.items())}


def _frequent(text: Column) -> Column:
    from pyspark.sql import functions as F

    # The struct around the sketch has the type of its items, for Spark.
    return F.call_function("approx_top_k_accumulate", text, F.lit(COUNTED_VALUES)).getField("sketch")


def _hashable(value: Column, type_: str) -> Column:
    """Return the value as the same number or text in every width of its type, so that sketches merge after widening."""
    from pyspark.sql import functions as F

    if type_ in _INTEGERS:
        return value.cast("bigint")
    if type_ == "boolean":
        return value.cast("int")
    if type_ == "date":
        return F.unix_date(value)
    if type_ == "timestamp":
        return F.unix_micros(value)
    if type_ in ("float", "double"):
        return F.when(value.isNotNull(), F.xxhash64(value.cast("double")))
    if type_.startswith("decimal") or type_ == "timestamp_ntz":
        return F.when(value.isNotNull(), F.xxhash64(value))
    return value


def _measured(value: Column, type_: str) -> Column | None:
    """Return the value as a number with an order; NaN has none. None for types without."""
    from pyspark.sql import functions as F

    if type_ in ("float", "double"):
        number = value.cast("double")
        return F.when(~F.isnan(number), number)
    if is_number(type_):
        return value.cast("double")
    if type_ == "date":
        return F.unix_date(value).cast("double")
    if type_ == "timestamp":
        return F.unix_micros(value).cast("double") / F.lit(1e6)
    return None
