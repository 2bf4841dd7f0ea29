"""Cost of an audited, versioned write compared with the bare one: python benchmarks/materialization.py [--rows
3000000] [--shapes orders,contacts,payments].

Three shapes of data with ten checks each:
orders   twenty columns, mostly numbers and codes; nulls, ranges, lists and patterns
contacts seven columns, six of them text with unique values; patterns, lengths, lists and prefixes
payments six columns; eight checks of rows, and `unique` on a number and on a text

Three ways to do the same work, paired in one run, in an order that alternates, after one warm-up of each:
bare     spark.read -> transform -> write.parquet, no check
headrace the same through FilesStore.write with the checks, statistics and a checksum
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyspark.sql.types as t
from pandera.pyspark import DataFrameModel, Field
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.catalog.records import Check
from headrace.checks.models import checks_of
from headrace.spark.session import SparkResource
from headrace.stores.files.store import FilesStore
from headrace.stores.tags import new_tag

STATES = ["new", "paid", "packed", "sent", "returned"]
CURRENCIES = ["EUR", "USD", "GBP", "CHF"]


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


class Contacts(DataFrameModel):
    """Six texts with unique values, ten checks."""

    contact_id: t.LongType = Field(nullable=True)
    email: t.StringType = Field(
        str_matches=r"^[a-z0-9.]+@[a-z.]+$", str_length={"max_value": 80}, nullable=True
    )
    phone: t.StringType = Field(str_matches=r"^\+\d{6,15}$", str_startswith="+49", nullable=True)
    iban: t.StringType = Field(str_matches=r"^[A-Z]{2}\d{2}[0-9A-Z]{10,30}$", nullable=True)
    token: t.StringType = Field(
        str_matches="^[0-9a-f]{40}$", str_length={"min_value": 40, "max_value": 40}, nullable=True
    )
    name: t.StringType = Field(str_contains=" ", notin=["unknown", "n/a"], nullable=True)
    url: t.StringType = Field(str_startswith="https://", nullable=True)


class Payments(DataFrameModel):
    """Six columns with a unique number, nine checks; the tenth is that of `PaymentReferences`."""

    payment_id: t.LongType = Field(gt=0)
    reference: t.StringType = Field(str_startswith="PAY-", nullable=True)
    amount: t.DecimalType(12, 2) = Field(ge=0, nullable=True)  # type: ignore[valid-type]
    currency: t.StringType = Field(isin=CURRENCIES, nullable=True)
    paid_at: t.TimestampType = Field(nullable=False)
    channel: t.StringType = Field(notin=["unknown"], str_length={"max_value": 20}, nullable=True)

    class Config:
        """A pandera model has one set of unique columns."""

        unique = ["payment_id"]


class PaymentReferences(DataFrameModel):
    """The second unique column of Payments."""

    reference: t.StringType = Field(nullable=True)

    class Config:
        """The second set of unique columns."""

        unique = ["reference"]


def raw_orders(spark: SparkSession, rows: int) -> DataFrame:
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


def clean_orders(raw: DataFrame) -> DataFrame:
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


def raw_contacts(spark: SparkSession, rows: int) -> DataFrame:
    """Raw contacts, of which every text is different."""
    hashed = F.sha1(F.col("id").cast("string"))
    return spark.range(1, rows + 1, numPartitions=8).select(
        F.col("id").alias("contact_id"),
        F.concat(F.lit("User."), "id", F.lit("@Example.com")).alias("email"),
        F.concat(F.lit("+49"), F.lpad(F.col("id").cast("string"), 10, "0")).alias("phone"),
        F.concat(F.lit("DE12"), F.upper(F.substring(hashed, 1, 18))).alias("iban"),
        F.upper(hashed).alias("token"),
        F.concat(F.lit("Person "), F.substring(hashed, 20, 12)).alias("name"),
        F.concat(F.lit("https://example.com/"), F.substring(hashed, 5, 16)).alias("url"),
    )


def clean_contacts(raw: DataFrame) -> DataFrame:
    """Seven columns, without the rows that are known to be wrong."""
    return raw.where("contact_id % 97 != 0").withColumns(
        {"email": F.lower("email"), "token": F.lower("token")}
    )


def raw_payments(spark: SparkSession, rows: int) -> DataFrame:
    """Raw payments in no order, with a unique number and a unique text."""
    mixed = F.xxhash64("id")
    return spark.range(1, rows + 1, numPartitions=8).select(
        # An odd factor modulo a power of two: each number once, in no order.
        ((F.col("id") * 2_654_435_761) % (1 << 40)).alias("payment_id"),
        F.concat(F.lit("pay-"), F.substring(F.sha1(F.col("id").cast("string")), 1, 20)).alias("reference"),
        (F.abs(mixed % 100_000) / 100).cast("decimal(12,2)").alias("amount"),
        F.element_at(F.array(*map(F.lit, CURRENCIES)), (F.abs(mixed % 4) + 1).cast("int")).alias("currency"),
        F.timestamp_seconds(1_700_000_000 + F.abs(mixed % 30_000_000)).alias("paid_at"),
        F.element_at(F.array(*map(F.lit, ["card", "transfer"])), (F.abs(mixed % 2) + 1).cast("int")).alias(
            "channel"
        ),
        "id",
    )


def clean_payments(raw: DataFrame) -> DataFrame:
    """Six columns, without the rows that are known to be wrong."""
    return raw.where("id % 97 != 0").drop("id").withColumn("reference", F.upper("reference"))


@dataclass(frozen=True, slots=True)
class Shape:
    """Raw data, the transform that is measured, and the models with the ten checks."""

    raw: Callable[[SparkSession, int], DataFrame]
    transform: Callable[[DataFrame], DataFrame]
    models: tuple[type[DataFrameModel], ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The models' checks."""
        return tuple(check for model in self.models for check in checks_of(model)[1])


SHAPES: Mapping[str, Shape] = {
    "orders": Shape(raw_orders, clean_orders, (Orders,)),
    "contacts": Shape(raw_contacts, clean_contacts, (Contacts,)),
    "payments": Shape(raw_payments, clean_payments, (Payments, PaymentReferences)),
}


def main() -> None:
    """Run the comparison and print it, each shape's figures last as one line of JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=3_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--ways", default="bare,headrace,pandera")
    arguments.add_argument("--shapes", default=",".join(SHAPES))
    given = arguments.parse_args()
    spark = SparkResource(master="local[2]", conf={"spark.driver.memory": "3g"}).session
    try:
        for name in given.shapes.split(","):
            folder = Path(tempfile.mkdtemp(prefix="headrace-benchmark-"))
            try:
                times = _measure(spark, folder, SHAPES[name], given.rows, given.rounds, given.ways.split(","))
            finally:
                shutil.rmtree(folder)
            _report(name, times, given.rows)
    finally:
        spark.stop()


def _measure(
    spark: SparkSession, folder: Path, shape: Shape, rows: int, rounds: int, names: list[str]
) -> dict[str, list[tuple[float, float]]]:
    """(wall seconds, CPU seconds of this process and the JVM) of every round, by way."""
    raw = f"{folder}/raw"
    shape.raw(spark, rows).write.parquet(raw)
    store = FilesStore(spark, folder.as_uri())
    checks = shape.checks
    assert len(checks) == 10, [check.name for check in checks]

    def bare() -> None:
        shape.transform(spark.read.parquet(raw)).write.parquet(f"{folder}/out/bare")

    def headrace() -> None:
        [written] = store.write(
            shape.transform(spark.read.parquet(raw)), dataset="out/headrace", tag=new_tag(), checks=checks
        )
        assert {result.status.value for result in written.check_results} == {"PASS"}, written.check_results
        assert written.row_count == rows - rows // 97

    def pandera() -> None:
        frame = shape.transform(spark.read.parquet(raw))
        for model in shape.models:
            checked = model.validate(frame)  # type: ignore[arg-type]
            assert not checked.pandera.errors, checked.pandera.errors  # type: ignore[attr-defined]
        frame.write.parquet(f"{folder}/out/pandera")

    ways: dict[str, Callable[[], None]] = {"bare": bare, "headrace": headrace, "pandera": pandera}
    ways = {name: ways[name] for name in names}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(-1, rounds):
        for name in list(ways) if number % 2 else list(reversed(ways)):
            shutil.rmtree(folder / "out", ignore_errors=True)
            wall, cpu = time.perf_counter(), cpu_seconds()
            ways[name]()
            spent = (time.perf_counter() - wall, cpu_seconds() - cpu)
            if number >= 0:
                times[name].append(spent)
                print(f"round {number + 1} {name:9} {spent[0]:7.2f} s {spent[1]:7.2f} s CPU", flush=True)
    return times


def _report(shape: str, times: dict[str, list[tuple[float, float]]], rows: int) -> None:
    summary: dict[str, object] = {"shape": shape, "rows": rows, "rounds": len(times["bare"])}
    for name, spent in times.items():
        wall = statistics.median(s for s, _ in spent)
        ratio = statistics.median(s / b for (s, _), (b, _) in zip(spent, times["bare"], strict=True))
        cpu = statistics.median(c / b for (_, c), (_, b) in zip(spent, times["bare"], strict=True))
        summary[name] = {"median_s": round(wall, 2), "ratio": round(ratio, 3), "cpu_ratio": round(cpu, 3)}
        print(f"{shape:9} {name:9} median {wall:7.2f} s   {ratio:5.3f} x bare   ({cpu:5.3f} x in CPU time)")
    print(
        f"peak memory of the driver's Python: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )
    print(json.dumps(summary), flush=True)


def cpu_seconds() -> float:
    """CPU time of this process and of Spark's JVM until now (Linux)."""
    jvm = SparkContext._gateway.proc.pid
    return time.process_time() + sum(
        int(ticks) / 100 for ticks in Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()[11:13]
    )


if __name__ == "__main__":
    main()
