"""Appending and merging 1 % to a large dataset in each store, compared with a rewrite and with the libraries alone.

A feed has a large partition, and one of 1 % more for each round: half of its keys are new, and half are those of
earlier rows, spread over all of them or the most recent ones. In turns, each round:
headrace       a run of Headrace with Dagster: it takes in the new partition and publishes a complete version
refresh        the same with --full-refresh: it reads the whole feed
rewrite alone  the whole feed with Spark's write (files), deltalake, pyiceberg, or ADBC's COPY (jdbc, to PostgreSQL)
alone          append: the library's append of the new rows; merge: Spark's join and write of all rows (files),
               deltalake's MERGE, pyiceberg's upsert, PostgreSQL's MERGE
PostgreSQL's own CPU time is not counted.
Run: python -m benchmarks.growth [--rows N] [--rounds N] [--modes append,merge] [--stores delta] [--recent]
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
import typer
from adbc_driver_postgresql import dbapi
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import DataFrame

from benchmarks.workspace import Spent, Workspace, report, timed, workspace
from headrace.catalog.records import DatasetRecord
from headrace.database import embedded
from headrace.queries.pointers import newest
from tests.platform.projects import Project, failure, load_project, write_project

FEED = DatasetRecord("bench/feed", "parquet")
COLUMNS = ["id", "at", "shop", "amount", "name"]
_FEED = """
type: headrace.ExternalDataset
attributes:
  key: bench/feed
  partitions: {{type: static, keys: [{keys}]}}
"""
_GROWING = """
---
type: headrace.Dataset
attributes:
  key: bench/{name}
  sql: SELECT {columns} FROM feed
  incremental: {{{incremental}}}
  output: {{store: {store}{connection}}}
"""
_INCREMENTAL = {
    "append": "mode: append, partition: part",
    "merge": "mode: merge, keys: [id], order_by: at",
}


def main(
    rows: Annotated[int, typer.Option(help="Rows before the first round.")] = 2_000_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    modes: Annotated[str, typer.Option(help="append, merge or both.")] = "append,merge",
    stores: Annotated[str, typer.Option(help="Stores, separated by commas.")] = "files,iceberg,delta,jdbc",
    recent: Annotated[bool, typer.Option(help="Known keys are recent ones, not spread.")] = False,
) -> None:
    """Measure and print seconds and ratios."""
    keys = ["base", *(f"round_{number}" for number in range(rounds + 1))]
    cases = [(mode, store) for mode in modes.split(",") for store in stores.split(",")]
    with workspace() as work:
        declaration = _FEED.format(keys=", ".join(keys)) + "".join(
            _GROWING.format(
                name=f"{mode}_{store}{suffix}",
                columns=", ".join(["part", *COLUMNS] if mode == "append" else COLUMNS),
                incremental=_INCREMENTAL[mode],
                store=store,
                connection=", connection: catalog" if store == "jdbc" else "",
            )
            for mode, store in cases
            for suffix in ("", "_refreshed")
        )
        project = load_project(write_project(work.home / "project", "bench", declaration), work.engine)
        feed = Feed(work, rows, recent)
        feed.publish("base", 0, rows)
        alone = {case: ALONE[case[1]](work, "_".join(case), feed.rows("base", case[0])) for case in cases}
        taken: dict[tuple[str, str], dict[str, list[Spent]]] = {case: {} for case in cases}
        for number, key in enumerate(keys[1:]):
            feed.publish_one_percent(key, number)
            for case in cases:
                ways = _ways(work, project, case, alone[case], feed, key)
                for way in list(ways) if number % 2 else list(ways)[::-1]:
                    spent = timed(ways[way], number)
                    if number:  # the first round loads the datasets
                        taken[case].setdefault(way, []).append(spent)
        for mode, store in cases:
            stored = newest(work.engine, f"bench/{mode}_{store}")
            added = rows // 200 * (2 if mode == "append" else 1) * (rounds + 1)
            assert stored is not None
            assert stored.row_count == rows + added
        for (mode, store), by_way in taken.items():
            report(f"{mode} of 1 % to {rows:,} rows, {store}", dict(sorted(by_way.items())))


@dataclass(frozen=True, slots=True)
class Feed:
    """The dataset that arrives. recent: the known keys of a partition are the last ones before the first round."""

    work: Workspace
    count: int
    recent: bool

    def publish_one_percent(self, key: str, number: int) -> None:
        """Publish the partition of a round."""
        half = self.count // 200
        known = f"{self.count - half} + id" if self.recent else f"id * 200 + {number}"
        self.publish(
            key, number + 1, 2 * half, f"if(id < {half}, {known}, {self.count + number * half} + id - {half})"
        )

    def publish(self, key: str, at: int, count: int, id: str = "id") -> None:
        """Publish a partition. id: SQL for the key of a row from its number `id`."""
        frame = self.work.spark.range(0, count, numPartitions=4).selectExpr(
            f"'{key}' AS part",
            f"{id} AS id",
            f"CAST({at} AS BIGINT) AS at",
            "pmod(xxhash64(id), 1000) AS shop",
            "xxhash64(id) / 1e9 AS amount",
            "sha1(CAST(id AS STRING)) AS name",
        )
        self.work.publish(FEED, frame, partition=key)

    def rows(self, key: str, mode: str) -> Rows:
        """Return the rows of a partition, or all with the key '*'."""
        files = sorted(
            map(str, (self.work.home / "warehouse/bench/feed").glob(f"*/partition={key}/*.parquet"))
        )
        return Rows(files, ["part", *COLUMNS] if mode == "append" else COLUMNS)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in Parquet files."""

    files: list[str]
    columns: list[str]

    def by_arrow(self) -> pa.Table:
        return ds.dataset(self.files).to_table(self.columns)

    def by_spark(self, work: Workspace) -> DataFrame:
        return work.spark.read.parquet(*self.files).select(*self.columns)


class Alone(Protocol):
    """A library's own table."""

    def append(self, rows: Rows) -> None: ...

    def merge(self, rows: Rows) -> None: ...

    def rewrite(self, rows: Rows) -> None: ...


def _ways(
    work: Workspace, project: Project, case: tuple[str, str], alone: Alone, feed: Feed, key: str
) -> dict[str, Callable[[int], None]]:
    mode, store = case

    def run(dataset: str, *, full_refresh: bool) -> None:
        [result] = project.materialize(dataset, full_refresh=full_refresh)
        assert result.success, failure(result)

    def by_library(_: int) -> None:
        rows = feed.rows(key, mode)
        alone.append(rows) if mode == "append" else alone.merge(rows)

    name = f"bench/{mode}_{store}"
    ways: dict[str, Callable[[int], None]] = {
        "headrace": lambda _: run(name, full_refresh=False),
        "refresh": lambda _: run(f"{name}_refreshed", full_refresh=True),
        "rewrite alone": lambda _: alone.rewrite(feed.rows("*", mode)),
        "alone": by_library,
    }
    return ways


class Delta:
    def __init__(self, work: Workspace, name: str, rows: Rows) -> None:
        self.path, self.copy = (str(work.home / "alone" / f"delta_{name}{end}") for end in ("", "_copy"))
        write_deltalake(self.path, rows.by_arrow())

    def append(self, rows: Rows) -> None:
        write_deltalake(self.path, rows.by_arrow(), mode="append")

    def merge(self, rows: Rows) -> None:
        merger = DeltaTable(self.path).merge(
            rows.by_arrow(), "old.id = new.id", source_alias="new", target_alias="old"
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    def rewrite(self, rows: Rows) -> None:
        write_deltalake(self.copy, rows.by_arrow(), mode="overwrite")


class Iceberg:
    def __init__(self, work: Workspace, name: str, rows: Rows) -> None:
        self.uri = embedded.start(work.home).replace("postgresql://", "postgresql+psycopg://")
        self.name, self.warehouse = f"alone.{name}", (work.home / "alone").as_uri()
        with closing(self._catalog()) as catalog:
            catalog.create_namespace_if_not_exists("alone")
            table = rows.by_arrow()
            catalog.create_table(self.name, table.schema).append(table)
            catalog.create_table(f"{self.name}_copy", table.schema)

    def append(self, rows: Rows) -> None:
        with closing(self._catalog()) as catalog:
            catalog.load_table(self.name).append(rows.by_arrow())

    def merge(self, rows: Rows) -> None:
        with closing(self._catalog()) as catalog:
            catalog.load_table(self.name).upsert(rows.by_arrow(), ["id"])

    def rewrite(self, rows: Rows) -> None:
        with closing(self._catalog()) as catalog:
            catalog.load_table(f"{self.name}_copy").overwrite(rows.by_arrow())

    def _catalog(self) -> SqlCatalog:
        return SqlCatalog("alone", uri=self.uri, warehouse=self.warehouse)


class Files:
    def __init__(self, work: Workspace, name: str, rows: Rows) -> None:
        self.work, self.path = work, work.home / "alone" / f"files_{name}"
        rows.by_spark(self.work).write.parquet(str(self.path))

    def append(self, rows: Rows) -> None:
        rows.by_spark(self.work).write.mode("append").parquet(str(self.path))

    def merge(self, rows: Rows) -> None:
        new = rows.by_spark(self.work)
        old = self.work.spark.read.parquet(str(self.path)).join(new.select("id"), "id", "left_anti")
        next_path = self.path.with_suffix(".next")
        old.unionByName(new).write.parquet(str(next_path))
        shutil.rmtree(self.path)
        next_path.rename(self.path)

    def rewrite(self, rows: Rows) -> None:
        rows.by_spark(self.work).write.mode("overwrite").parquet(str(self.path.with_suffix(".copy")))


class Postgresql:
    def __init__(self, work: Workspace, name: str, rows: Rows) -> None:
        self.uri, self.name = embedded.start(work.home), f"alone_{name}"
        self._copy(rows, self.name, "create")

    def append(self, rows: Rows) -> None:
        self._copy(rows, self.name, "append")

    def merge(self, rows: Rows) -> None:
        changed = f"{self.name}_changed"
        updates = ", ".join(f"{each} = n.{each}" for each in rows.columns)
        names, values = ", ".join(rows.columns), ", ".join(f"n.{each}" for each in rows.columns)
        into = f"MERGE INTO {self.name} o USING {changed} n ON o.id = n.id"
        matched = f"WHEN MATCHED THEN UPDATE SET {updates}"
        self._copy(
            rows,
            changed,
            "replace",
            f"{into} {matched} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})",  # noqa: S608
        )

    def rewrite(self, rows: Rows) -> None:
        self._copy(rows, f"{self.name}_copy", "replace")

    def _copy(
        self, rows: Rows, table: str, mode: Literal["append", "create", "replace"], then: str = ""
    ) -> None:
        with dbapi.connect(self.uri) as opened, opened.cursor() as cursor:
            cursor.adbc_ingest(table, rows.by_arrow(), mode=mode)
            if then:
                cursor.execute(then)
            opened.commit()


ALONE: dict[str, Callable[[Workspace, str, pa.Table], Alone]] = {
    "files": Files,
    "iceberg": Iceberg,
    "delta": Delta,
    "jdbc": Postgresql,
}


if __name__ == "__main__":
    typer.run(main)
