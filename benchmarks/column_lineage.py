"""Cost of column lineage: relative to the size of the plan, and to its run.

A plan of fifty joins over tables of twenty columns has 1,000 columns, each computed.
Run: python -m benchmarks.column_lineage
"""

import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.spark.column_lineage import lineage_of

SIZES = ((10, 1), (100, 5), (500, 25), (1000, 50), (2000, 50))  # columns, joins
MILLISECONDS, MEGABYTES = 500, 100  # of a plan of 1,000 columns and 50 joins
REPEATS = 5

Inputs = list[tuple[str, DataFrame]]


def main() -> None:
    """Print what each plan costs. Exits with 1 when the plan of 1,000 columns and 50 joins is over its limits."""
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", folder)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        small = _tables(spark, 4, 1)
        first = _milliseconds(lambda: lineage_of(small[0][1], small), 1)
        print(f"compiling the reader of plans, once for each JVM: {first:,.0f} ms")
        failed = False
        for columns, joins in SIZES:
            inputs = _tables(spark, columns // (joins + 1), joins)
            frame = _joined(inputs)
            taken = _milliseconds(lambda frame=frame, inputs=inputs: lineage_of(frame, inputs), REPEATS)  # type: ignore[misc]
            used = _megabytes(lambda frame=frame, inputs=inputs: lineage_of(frame, inputs))  # type: ignore[misc]
            print(f"{len(frame.columns):>5} columns, {joins:>2} joins: {taken:>6,.0f} ms, {used:>5.1f} MB")
            if (columns, joins) == (1000, 50):
                failed = taken > MILLISECONDS or used > MEGABYTES
        inputs = _tables(spark, 10, 5)
        frame = _joined(inputs)
        run = _milliseconds(lambda: frame.write.mode("overwrite").parquet(f"{folder}/out"), REPEATS)
        taken = _milliseconds(lambda: lineage_of(frame, inputs), REPEATS)
        print(
            f"a write of one row through 5 joins: {run:,.0f} ms, its lineage {taken:,.0f} ms ({taken / run:.1%})"
        )
        spark.stop()
    raise SystemExit(failed)


def _tables(spark: SparkSession, columns: int, joins: int) -> Inputs:
    return [
        (
            f"wide/t{number}",
            spark.range(1).select(
                F.col("id").alias("key"), *(F.col("id").alias(f"c{number}_{each}") for each in range(columns))
            ),
        )
        for number in range(joins + 1)
    ]


def _joined(inputs: Inputs) -> DataFrame:
    frame = inputs[0][1]
    for _, other in inputs[1:]:
        frame = frame.join(other, "key")
    return frame.select(*((F.col(each) + 1).alias(each) for each in frame.columns))


def _milliseconds(work: Callable[[], Any], repeats: int) -> float:
    """The median."""
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken)


def _megabytes(work: Callable[[], Any]) -> float:
    """The most that Python held at once."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1_000_000


if __name__ == "__main__":
    main()
