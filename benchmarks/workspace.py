"""A catalog, a warehouse, a database and a Spark session in a temporary folder, and versions published there."""

from __future__ import annotations

import json
import logging
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import typer
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine

from benchmarks.materialization import cpu_seconds
from headrace.catalog.locators import locator_metadata
from headrace.catalog.records import Check, DatasetRecord, Outcome, Version, VersionDraft
from headrace.database import connection as database
from headrace.database import embedded
from headrace.local.environment import environment
from headrace.publishing.publication import generations, publish
from headrace.settings import settings
from headrace.spark.session import SparkResource
from headrace.stores.references import update_references
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat, PartitionWrite
from tests.paths import POSTGRESQL_DRIVER
from tests.platform.connections.databases import Postgres, postgres_over_tcp

CONNECTION = "bench"
Spent = tuple[float, float]  # wall seconds, CPU seconds of this process and Spark's JVM


@dataclass(frozen=True, slots=True)
class Workspace:
    """A deployment of its own. postgres: the database of the connection `bench`, reached over TCP."""

    home: Path
    engine: Engine
    spark: SparkSession
    stores: OpenStores
    postgres: Postgres

    def publish(
        self,
        record: DatasetRecord,
        frame: DataFrame,
        checks: Sequence[Check] = (),
        partition: str | None = None,
    ) -> Version:
        """Write, audit and publish a version of a registered dataset, as a run does, without Dagster's part."""
        store, place = record.metadata.get("store", "files"), record.metadata.get("warehouse")
        at, tag = (record.key, partition), new_tag()
        expected = generations(self.engine, [at])[at]
        [written] = self.stores.named(store).write(
            frame,
            dataset=record.key,
            tag=tag,
            output=OutputFormat(record.format, location=place),
            checks=checks,
            partition=PartitionWrite(None, (partition,)) if partition is not None else None,
        )
        [done] = publish(
            self.engine,
            None,
            [
                VersionDraft(
                    dataset=record.key,
                    partition=partition,
                    tag=tag,
                    location=written.location,
                    format=record.format,
                    columns=written.columns,
                    row_count=written.row_count,
                    byte_size=written.byte_size,
                    file_count=written.file_count,
                    checksum=written.checksum,
                    idempotency_key=str(uuid4()),
                    expected_generation=expected,
                    checks=written.check_results,
                    statistics=written.statistics,
                    metadata={
                        **record.metadata,
                        "options": dict(written.read_options),
                        **locator_metadata(store, written.locator),
                    },
                )
            ],
        )
        assert done.outcome is Outcome.PUBLISHED, done.reason
        update_references(self.engine, record.key, lambda: self.spark, [partition])
        return done.version


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Start everything; all of it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="headrace-benchmark-") as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = folder
        os.environ["HEADRACE_SPARK__CONF"] = json.dumps({"spark.driver.memory": "4g"})
        try:
            with postgres_over_tcp(embedded.start(home)) as postgres:
                for name, value in postgres.variables(jdbc=True).items():
                    if POSTGRESQL_DRIVER.exists():
                        os.environ[f"HEADRACE_CONNECTIONS__{CONNECTION.upper()}__{name}"] = value
                os.environ.update(environment())
                logging.getLogger("dagster").setLevel(logging.CRITICAL)
                settings.cache_clear()
                engine = database.connect()
                resource = SparkResource()
                spark = resource.session
                try:
                    yield Workspace(
                        home, engine, spark, OpenStores(spark, settings().warehouse_uri), postgres
                    )
                finally:
                    resource.stop()
                    engine.dispose()
        finally:
            embedded.stop(home)


def in_turns(ways: Mapping[str, Callable[[int], None]], rounds: int) -> dict[str, list[Spent]]:
    """Run all ways in each round, in an order that alternates; the first round warms up and does not count.

    A way gets the number of the round, from 0 for the warm-up.
    """
    taken: dict[str, list[Spent]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in list(ways) if number % 2 else list(ways)[::-1]:
            spent = timed(ways[name], number)
            if number:
                taken[name].append(spent)
    return taken


def timed(way: Callable[[int], None], number: int) -> Spent:
    """Run one way once."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    way(number)
    return time.perf_counter() - wall, cpu_seconds() - cpu


def report(title: str, taken: Mapping[str, Sequence[Spent]], unit: str = "s") -> None:
    """Print medians, and how many times each other way the way `headrace` takes: the medians of the rounds' ratios."""
    typer.echo(title)
    for name, spent in taken.items():
        wall, cpu = (statistics.median(part) for part in zip(*spent, strict=True))
        line = f"  {name:<16} {wall:8.2f} {unit} {cpu:8.2f} {unit} CPU"
        if name != "headrace":
            pairs = list(zip(taken["headrace"], spent, strict=True))
            wall, cpu = (statistics.median(own[n] / other[n] for own, other in pairs) for n in (0, 1))
            line += f"   headrace takes {wall:.2f} times it, {cpu:.2f} in CPU time"
        typer.echo(line)


def removed(folder: Path) -> str:
    """Delete a folder, and return its path for Spark to write to."""
    shutil.rmtree(folder, ignore_errors=True)
    return str(folder)
