"""Commits of Iceberg and Delta tables, compared with those of pyiceberg and deltalake alone over such files.

They take turns in the same run, each replacing the version before. Spark's write of the files is not measured, as it is
that of the store `files`. Run: python -m benchmarks.tables
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Protocol
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from deltalake import DeltaTable
from deltalake._internal import RemoveAction
from deltalake.transaction import AddAction
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue
from pyspark.sql import SparkSession

from headrace.catalog.records import Column, Outcome, Version
from headrace.database import embedded
from headrace.queries.rows import PublishedRow
from headrace.settings import settings
from headrace.stores.iceberg.catalog import dataset_table, opened
from headrace.stores.iceberg.snapshots import stage
from headrace.stores.registry import STORES
from headrace.stores.tags import new_tag

FILES = 4
ROWS = pa.table({f"column_{number}": pa.array(range(10_000), pa.int64()) for number in range(20)})
COLUMNS = tuple(Column(name, "bigint") for name in ROWS.column_names)
DATASET = "shop/orders"


def main(versions: Annotated[int, typer.Option(min=10, help="Versions of each table.")] = 300) -> None:
    """Measure and print medians of the first and the last tenth of the versions, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = folder
        cases: dict[str, Case] = {
            "iceberg": Iceberg(),
            "pyiceberg alone": PyIceberg(home),
            "delta": Delta(),
            "deltalake alone": DeltaLake(home),
        }
        samples: dict[str, list[float]] = {name: [] for name in cases}
        try:
            for _ in range(versions):
                for name, case in cases.items():
                    tag = new_tag()
                    files = _written(case.root / tag)
                    began = time.perf_counter()
                    case.commit(tag, files)
                    samples[name].append((time.perf_counter() - began) * 1000)
        finally:
            embedded.stop(home)
    for name, taken in samples.items():
        first, last = taken[: versions // 10], taken[-(versions // 10) :]
        typer.echo(f"{name:<16} first {statistics.median(first):6.1f}   last {statistics.median(last):6.1f}")


class Case(Protocol):
    """A table, and how a version of it is committed."""

    root: Path

    def commit(self, tag: str, files: list[Path]) -> None: ...


class Iceberg:
    def __init__(self) -> None:
        self.root = Path(settings().warehouse_uri.removeprefix("file://")) / DATASET / "iceberg" / "data"

    def commit(self, tag: str, files: list[Path]) -> None:
        with opened() as catalog:
            table = dataset_table(catalog, DATASET, self.root.parent.as_uri())
            stage(table, tag, COLUMNS, [file.as_uri() for file in files])
        _publish("iceberg", tag, files)


class Delta:
    def __init__(self) -> None:
        self.root = Path(settings().warehouse_uri.removeprefix("file://")) / DATASET / "delta"

    def commit(self, tag: str, files: list[Path]) -> None:
        _publish("delta", tag, files)


class PyIceberg:
    def __init__(self, home: Path) -> None:
        self.root = home / "pyiceberg" / "data"
        self.uri = embedded.start(home).replace("postgresql://", "postgresql+psycopg://")
        with closing(SqlCatalog("alone", uri=self.uri)) as catalog:
            catalog.create_namespace("shop")
            catalog.create_table("shop.orders", ROWS.schema, self.root.parent.as_uri())

    def commit(self, tag: str, files: list[Path]) -> None:
        with (
            closing(SqlCatalog("alone", uri=self.uri)) as catalog,
            catalog.load_table("shop.orders").transaction() as transaction,
        ):
            transaction.delete(AlwaysTrue())
            transaction.add_files([file.as_uri() for file in files], check_duplicate_files=False)


class DeltaLake:
    def __init__(self, home: Path) -> None:
        self.root = home / "deltalake"
        DeltaTable.create(str(self.root), ROWS.schema)

    def commit(self, tag: str, files: list[Path]) -> None:
        actions: list[AddAction | RemoveAction] = [
            AddAction(str(file.relative_to(self.root)), file.stat().st_size, {}, 0, True, "{}")
            for file in files
        ]
        DeltaTable(str(self.root)).create_write_transaction(actions, "overwrite", ROWS.schema)


def _written(folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
    files = [folder / f"part-{number:05}.parquet" for number in range(FILES)]
    for file in files:
        pq.write_table(ROWS, file)
    return files


def _publish(store: str, tag: str, files: list[Path]) -> None:
    version = Version(
        version_id=uuid4(),
        dataset=DATASET,
        partition=None,
        tag=tag,
        location=files[0].parent.as_uri(),
        format="parquet",
        columns=COLUMNS,
        row_count=len(ROWS) * FILES,
        byte_size=sum(file.stat().st_size for file in files),
        file_count=FILES,
        checksum="",
        schema_hash="",
        code_version=None,
        fingerprint=None,
        run_id=uuid4(),
        outcome=Outcome.PUBLISHED,
        created_at=datetime.now(UTC),
        metadata={"store": store},
    )
    row = PublishedRow(DATASET, None, version, 1, datetime.now(UTC))
    [reference] = STORES.get(store).update_references(DATASET, [row], [], settings().warehouse_uri, _no_spark)
    assert reference.changed


def _no_spark() -> SparkSession:
    raise AssertionError("local files need no Spark")


if __name__ == "__main__":
    typer.run(main)
