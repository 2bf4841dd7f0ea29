"""Cost of an audited, versioned write compared with the bare one: python benchmarks/materialization.py [--rows
10000000].

Three ways to do the same work, paired in one run, in an order that alternates, after one warm-up of each:
bare     spark.read -> transform -> write.parquet, no check
headrace the same through FilesStore.write with ten checks, statistics and a checksum
pandera  pandera's own validate of the same checks, then the bare write
Prints each way's median seconds and the median of the ratios to the bare write of the same round. CPU seconds
are given beside, since they depend less on who else uses the machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyspark.sql.types as t
from pandera.pyspark import DataFrameModel, Field
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.spark.session import SparkResource
from headrace.stores.files.models import checks_of
from headrace.stores.files.store import FilesStore

STATES = ["new", "paid", "packed", "sent", "returned"]


class Orders(DataFrameModel):
    """Twenty columns, ten checks: nulls, ranges, lists and patterns, as a careful owner would write them."""

    order_id: t.LongType = Field(gt=0)
    customer_id: t.LongType = Field(nullable=True)
    state: t.StringType = Field(isin=STATES, nullable=True)
    country: t.StringType = Field(str_matches="^[A-Z]{2}$", nullable=True)
    sku: t.StringType = Field(str_startswith="SKU-", nullable=True)
    quantity: t.IntegerType = Field(in_range={"min_value": 1, "max_value": 100}, nullable=True)
    price: t.DecimalType(12, 2) = Field(ge=0, nullable=True)  # type: ignore[valid-type]
    discount: t.DoubleType = Field(in_range={"min_value": 0.0, "max_value": 0.9}, nullable=True)
    total: t.DoubleType = Field(nullable=True)
    ordered_at: t.TimestampType = Field(nullable=True)
    ordered_on: t.DateType = Field(nullable=True)
    shipped_on: t.DateType = Field(nullable=True)
    gift: t.BooleanType = Field(nullable=True)
    note: t.StringType = Field(str_length={"max_value": 200}, nullable=True)
    channel: t.StringType = Field(notin=["unknown"], nullable=True)
    weight: t.FloatType = Field(nullable=True)
    warehouse: t.ShortType = Field(nullable=True)
    email: t.StringType = Field(nullable=True)
    margin: t.DoubleType = Field(nullable=True)
    month: t.StringType = Field(nullable=True)


def source(spark: SparkSession, rows: int) -> DataFrame:
    """Raw orders: sixteen columns of numbers, text, dates and nulls, none of them constant."""
    mixed = F.xxhash64("id")
    return spark.range(1, rows + 1, numPartitions=8).select(
        F.col("id").alias("order_id"),
        F.when(mixed % 50 != 0, F.abs(mixed % 500_000)).alias("customer_id"),
        F.element_at(F.array(*map(F.lit, STATES)), (F.abs(mixed % 5) + 1).cast("int")).alias("state"),
        F.element_at(
            F.array(*map(F.lit, ["NL", "DE", "FR", "US"])), (F.abs(mixed % 4) + 1).cast("int")
        ).alias("country"),
        F.concat(F.lit("sku-"), F.abs(mixed % 20_000)).alias("sku"),
        (F.abs(mixed % 100) + 1).cast("int").alias("quantity"),
        (F.abs(mixed % 100_000) / 100).cast("decimal(12,2)").alias("price"),
        (F.abs(mixed % 90) / 100).cast("double").alias("discount"),
        F.timestamp_seconds(1_700_000_000 + F.abs(mixed % 30_000_000)).alias("ordered_at"),
        F.abs(mixed % 14).cast("int").alias("days"),
        (mixed % 3 == 0).alias("gift"),
        F.when(mixed % 4 == 0, F.sha1(F.col("id").cast("string"))).alias("note"),
        F.element_at(F.array(*map(F.lit, ["web", "app", "shop"])), (F.abs(mixed % 3) + 1).cast("int")).alias(
            "channel"
        ),
        (F.abs(mixed % 10_000) / 1000).cast("float").alias("weight"),
        F.abs(mixed % 30).cast("short").alias("warehouse"),
        F.concat(F.lit("User"), F.abs(mixed % 500_000), F.lit("@Example.com")).alias("email"),
    )


def transform(raw: DataFrame) -> DataFrame:
    """Twenty clean columns: what a staging dataset typically does, and no shuffle that would hide the write."""
    gross = F.col("price").cast("double") * F.col("quantity")
    return raw.where("order_id % 97 != 0").select(
        "order_id",
        "customer_id",
        F.lower("state").alias("state"),
        F.upper("country").alias("country"),
        F.upper("sku").alias("sku"),
        "quantity",
        "price",
        "discount",
        (gross * (1 - F.col("discount"))).alias("total"),
        "ordered_at",
        F.to_date("ordered_at").alias("ordered_on"),
        F.date_add(F.to_date("ordered_at"), F.col("days")).alias("shipped_on"),
        "gift",
        F.trim("note").alias("note"),
        "channel",
        "weight",
        "warehouse",
        F.lower("email").alias("email"),
        F.when(gross > 0, (gross * (1 - F.col("discount")) - gross * 0.7) / gross).alias("margin"),
        F.date_format("ordered_at", "yyyy-MM").alias("month"),
    )


def main() -> None:
    """Run the comparison and print it, last of all as one line of JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--ways", default="bare,headrace,pandera")
    given = arguments.parse_args()
    spark = SparkResource(master="local[2]", conf={"spark.driver.memory": "3g"}).session
    folder = Path(tempfile.mkdtemp(prefix="headrace-benchmark-"))
    try:
        _report(_measure(spark, folder, given.rows, given.rounds, given.ways.split(",")), given.rows)
    finally:
        shutil.rmtree(folder)
        spark.stop()


def _measure(
    spark: SparkSession, folder: Path, rows: int, rounds: int, names: list[str]
) -> dict[str, list[tuple[float, float]]]:
    """(wall seconds, CPU seconds of this process and the JVM) of every round, by way."""
    raw = f"{folder}/raw"
    source(spark, rows).write.parquet(raw)
    store = FilesStore(spark, folder.as_uri())
    _, checks = checks_of(Orders)
    assert len(checks) == 10, [check.name for check in checks]

    def bare() -> None:
        transform(spark.read.parquet(raw)).write.parquet(f"{folder}/out/bare")

    def headrace() -> None:
        [written] = store.write(
            transform(spark.read.parquet(raw)), dataset="out/headrace", tag=store.tag(), checks=checks
        )
        assert {result.status.value for result in written.check_results} == {"PASS"}, written.check_results
        assert written.row_count == rows - rows // 97

    def pandera() -> None:
        checked = Orders.validate(transform(spark.read.parquet(raw)))  # type: ignore[arg-type]
        assert not checked.pandera.errors, checked.pandera.errors  # type: ignore[attr-defined]
        checked.write.parquet(f"{folder}/out/pandera")  # type: ignore[attr-defined]

    ways: dict[str, Callable[[], None]] = {"bare": bare, "headrace": headrace, "pandera": pandera}
    ways = {name: ways[name] for name in names}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(-1, rounds):
        for name in list(ways) if number % 2 else list(reversed(ways)):
            shutil.rmtree(folder / "out", ignore_errors=True)
            wall, cpu = time.perf_counter(), _cpu_seconds()
            ways[name]()
            spent = (time.perf_counter() - wall, _cpu_seconds() - cpu)
            if number >= 0:
                times[name].append(spent)
                print(f"round {number + 1} {name:9} {spent[0]:7.2f} s {spent[1]:7.2f} s CPU", flush=True)
    return times


def _report(times: dict[str, list[tuple[float, float]]], rows: int) -> None:
    summary: dict[str, object] = {"rows": rows, "rounds": len(times["bare"])}
    for name, spent in times.items():
        wall = statistics.median(s for s, _ in spent)
        ratio = statistics.median(s / b for (s, _), (b, _) in zip(spent, times["bare"], strict=True))
        cpu = statistics.median(c / b for (_, c), (_, b) in zip(spent, times["bare"], strict=True))
        summary[name] = {"median_s": round(wall, 2), "ratio": round(ratio, 3), "cpu_ratio": round(cpu, 3)}
        print(f"{name:9} median {wall:7.2f} s   {ratio:5.3f} x bare   ({cpu:5.3f} x in CPU time)")
    print(
        f"peak memory of the driver's Python: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )
    print(json.dumps(summary))


def _cpu_seconds() -> float:
    """CPU time of this process and of Spark's JVM until now (Linux)."""
    jvm = SparkContext._gateway.proc.pid
    return time.process_time() + sum(
        int(ticks) / 100 for ticks in Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()[11:13]
    )


if __name__ == "__main__":
    main()
