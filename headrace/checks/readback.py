"""Read written, unpublished versions back for checks that the write could not evaluate.

Many partitions are read by one job: frames have the column PARTITION, and every result is per partition.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.checks.audit import RowCheck
from headrace.checks.predicates import counted
from headrace.checks.summary import Bounds, Summary, jsonable
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

PARTITION = "__partition"

_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC)
_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"

# Types that count from an epoch, and the value of such a count.
_COUNTED: Mapping[str, Callable[[int], dt.date]] = {
    "timestamp": lambda micros: _EPOCH + dt.timedelta(microseconds=micros),
    "date": lambda days: _EPOCH.date() + dt.timedelta(days=days),
}

Key = str | None
Failures = tuple[int, list[Any]]  # the number of failing rows, and examples


def failures(frame: DataFrame, rows: Sequence[RowCheck]) -> dict[Key, dict[str, Failures]]:
    """Return failing rows per partition and check, with the smallest and the largest failing value as examples.

    Examples are a second job, for the failed checks only: they make Spark sort all rows instead of hashing them.
    """
    counts = _per_partition(frame, [counted(row.failing).alias(row.check.name) for row in rows])
    failed = [row for row in rows if row.shown and any(answer[row.check.name] for answer in counts.values())]
    examples = _failing_ends(frame, failed) if failed else {}
    return {
        key: {
            row.check.name: (answer[row.check.name], examples.get(key, {}).get(row.check.name, []))
            for row in rows
        }
        for key, answer in counts.items()
    }


def _failing_ends(frame: DataFrame, rows: Sequence[RowCheck]) -> dict[Key, dict[str, list[Any]]]:
    from pyspark.sql import functions as F

    aggregates: list[Column] = []
    for number, row in enumerate(rows):
        value = F.when(row.failing, _shown(frame, row.shown))
        aggregates += [F.min(value).alias(f"low{number}"), F.max(value).alias(f"high{number}")]
    return {
        key: {row.check.name: _examples(answer, number, row.shown) for number, row in enumerate(rows)}
        for key, answer in _per_partition(frame, aggregates).items()
    }


def none_fails(session: SparkSession, values: Mapping[str, set[str]], failing: Sequence[Column]) -> bool:
    """Return True if no value of the text columns meets any of the conditions, each of which uses one of them.

    Spark folds the query into its plan and starts no job.
    """
    if not failing:
        return True
    longest = max(map(len, values.values()))
    table = pa.table(
        {
            name: pa.array([*known, *[None] * (longest - len(known))], pa.string())
            for name, known in values.items()
        }
    )
    return session.createDataFrame(table).where(reduce(or_, failing)).isEmpty()


def may_repeat(
    frame: DataFrame,
    columns: Sequence[str],
    types: Sequence[str],
    hash: Callable[..., Column] | None = None,
) -> bool:
    """Return False if no key occurs twice in a partition, as its 64-bit hashes prove; only these are shuffled.

    hash: Spark's xxhash64 unless given. Equal keys have equal hashes (also NaN, and 0.0 and -0.0), except where Spark
    cannot hash a type or compares texts by a collation: then nothing is proven.
    """
    from pyspark.sql import functions as F

    if any(word in type for type in types for word in ("map<", "variant", "interval", "collate")):
        return True
    key = (hash or F.xxhash64)(F.col(PARTITION), *(F.col(quoted(name)) for name in columns))
    hashes = frame.select(key.alias("hash")).repartition("hash").groupBy("hash").count()
    return not hashes.where("count > 1").isEmpty()


def duplicates(frame: DataFrame, columns: Sequence[str], shown: Sequence[str]) -> dict[Key, Failures]:
    """Return, per partition, rows whose key occurs more than once (nulls are equal, as in pandera), with example
    keys."""
    from pyspark.sql import functions as F

    occurrences = "__occurrences"
    keys = frame.groupBy(PARTITION, *(F.col(quoted(name)) for name in columns)).agg(
        F.count(F.lit(1)).alias(occurrences)
    )
    aggregates = [F.sum(occurrences).alias("count0")]
    if shown:
        key = _shown(frame, shown)
        aggregates += [F.min(key).alias("low0"), F.max(key).alias("high0")]
    repeated = keys.where(F.col(occurrences) > 1)
    return {
        key: (answer["count0"] or 0, _examples(answer, 0, shown))
        for key, answer in _per_partition(repeated, aggregates).items()
    }


def summary_aggregates(columns: Mapping[str, str], scope: Column) -> dict[str, Column]:
    """Return the aggregates over the rows in scope that `summary_of` reads: row count, and each column's nulls and
    bounds."""
    from pyspark.sql import functions as F

    aggregates = {"rows": counted(scope)}
    for number, (name, type) in enumerate(columns.items()):
        value = F.col(quoted(name))
        aggregates[f"nulls{number}"] = counted(scope & value.isNull())
        if _bounded(type):
            # As numbers: PySpark would return timestamps in this process's zone without saying so, and cannot represent
            # dates after the year 9999.
            exact = value
            if type in _COUNTED:
                exact = F.unix_micros(value) if type == "timestamp" else F.unix_date(value)
            aggregates[f"low{number}"] = F.min(F.when(scope, exact))
            aggregates[f"high{number}"] = F.max(F.when(scope, exact))
    return aggregates


def summary_of(answer: Mapping[str, Any], columns: Mapping[str, str]) -> Summary:
    """Create the equivalent of a Parquet footer from the summary aggregates."""
    rows = int(answer["rows"])
    bounds = {}
    for number, (name, type) in enumerate(columns.items()):
        low, high = answer.get(f"low{number}"), answer.get(f"high{number}")
        if isinstance(high, float) and math.isnan(high):  # Spark orders NaN above every number
            low = high = None
        if type in _COUNTED and low is not None and high is not None:
            try:
                low, high = (_COUNTED[type](end) for end in (low, high))
            except OverflowError:  # a year that Python cannot represent
                low = high = None
        bounds[name] = Bounds(rows, int(answer[f"nulls{number}"]), low, high)
    return Summary(rows, bounds)


def summaries(frame: DataFrame, columns: Mapping[str, str]) -> dict[Key, Summary]:
    """Return the equivalent of a Parquet footer per partition; partitions without rows are omitted."""
    from pyspark.sql import functions as F

    aggregates = [column.alias(name) for name, column in summary_aggregates(columns, F.lit(True)).items()]
    return {
        key: summary_of(answer.asDict(), columns) for key, answer in _per_partition(frame, aggregates).items()
    }


def distinct_values(frame: DataFrame, column: str, limit: int) -> set[Any]:
    """Return up to `limit` distinct values of the column, including null."""
    from pyspark.sql import functions as F

    return {row[0] for row in frame.select(F.col(quoted(column))).distinct().limit(limit).collect()}


def _per_partition(frame: DataFrame, aggregates: Sequence[Column]) -> dict[Key, Row]:
    return {row[PARTITION]: row for row in frame.groupBy(PARTITION).agg(*aggregates).collect()}


def _examples(answer: Row, number: int, shown: Sequence[str]) -> list[Any]:
    """Return the distinct examples; for a single column the bare values."""
    if not shown:
        return []
    ends = [answer[f"low{number}"], answer[f"high{number}"]]
    values = [jsonable(end[0] if len(shown) == 1 else end) for end in ends if end is not None]
    return values if len(values) < 2 or values[0] != values[1] else values[:1]


def _bounded(type: str) -> bool:
    base = type.partition("(")[0]
    return not base.startswith(("binary", "array<", "map<", "struct<", "variant", "interval"))


def _shown(frame: DataFrame, columns: Sequence[str]) -> Column:
    """Select the columns to show; timestamps as text in UTC, dates as text, since Python has none after the year
    9999."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DateType, TimestampType

    def shown(name: str) -> Column:
        match frame.schema[name].dataType:
            case TimestampType():
                return F.date_format(quoted(name), _ISO).alias(name)
            case DateType():
                return F.col(quoted(name)).cast("string").alias(name)
            case _:
                return F.col(quoted(name))

    return F.struct(*map(shown, columns))
