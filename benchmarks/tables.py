"""Publishing to, and reading, a dataset with many versions: files, Iceberg and Delta tables, and the libraries alone.

They take turns in the same run, each replacing the version before with four files, which are written beforehand:
Spark's write is not measured. A read is that of another program, which finds the published files by the manifest or the
table. Delta writes a checkpoint of its log every hundred commits, so compare hundreds with hundreds.
Run: python -m benchmarks.tables [--versions 1000 --cases files,delta]
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
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
from headrace.stores.iceberg.catalog import dataset_table, identifier, opened
from headrace.stores.iceberg.snapshots import stage
from headrace.stores.registry import STORES
from headrace.stores.tags import new_tag

FILES = 4
ROWS = pa.table({f"column_{number}": pa.array(range(1_000), pa.int64()) for number in range(20)})
COLUMNS = tuple(Column(name, "bigint") for name in ROWS.column_names)
DATASET = "shop/orders"


def main(
    versions: Annotated[int, typer.Option(min=10, help="Versions of each dataset.")] = 100,
    cases: Annotated[str, typer.Option(help="What to measure, separated by commas.")] = (
        "files,iceberg,delta,pyiceberg,deltalake"
    ),
) -> None:
    """Measure and print the medians of the first and the last tenth of the versions, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = folder
        measured: dict[str, Case] = {name: CASES[name](home) for name in cases.split(",")}
        publishes: dict[str, list[float]] = {name: [] for name in measured}
        reads: dict[str, list[float]] = {name: [] for name in measured}
        try:
            for _ in range(versions):
                for name, case in measured.items():
                    tag = new_tag()
                    files = _written(case.root / tag)
                    began = time.perf_counter()
                    case.commit(tag, files)
                    committed = time.perf_counter()
                    found = case.read()
                    reads[name].append((time.perf_counter() - committed) * 1000)
                    publishes[name].append((committed - began) * 1000)
                    assert found == FILES, (name, found)
        finally:
            embedded.stop(home)
    for what, samples in {"publish": publishes, "read": reads}.items():
        for name, taken in samples.items():
            first, last = (
                statistics.median(some) for some in (taken[: versions // 10], taken[-(versions // 10) :])
            )
            typer.echo(f"{what:<8} {name:<16} first {first:7.1f}   last {last:7.1f}")


class Case(Protocol):
    """A dataset: how a version of it is published, and how another program finds the published files."""

    root: Path

    def commit(self, tag: str, files: list[Path]) -> None: ...

    def read(self) -> int: ...


class Files:
    def __init__(self, home: Path) -> None:
        self.root = _warehouse() / DATASET

    def commit(self, tag: str, files: list[Path]) -> None:
        _publish("files", tag, files)

    def read(self) -> int:
        return len(json.loads((self.root / "_published" / "current.json").read_text())["files"])


class Iceberg:
    def __init__(self, home: Path) -> None:
        self.root = _warehouse() / DATASET / "iceberg" / "data"

    def commit(self, tag: str, files: list[Path]) -> None:
        with opened() as catalog:
            table = dataset_table(catalog, DATASET, self.root.parent.as_uri())
            stage(table, tag, COLUMNS, [file.as_uri() for file in files])
        _publish("iceberg", tag, files)

    def read(self) -> int:
        with opened() as catalog:
            return len(list(catalog.load_table(identifier(DATASET)).scan().plan_files()))


class Delta:
    def __init__(self, home: Path) -> None:
        self.root = _warehouse() / DATASET / "delta"

    def commit(self, tag: str, files: list[Path]) -> None:
        _publish("delta", tag, files)

    def read(self) -> int:
        return len(DeltaTable(str(self.root)).file_uris())


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

    def read(self) -> int:
        with closing(SqlCatalog("alone", uri=self.uri)) as catalog:
            return len(list(catalog.load_table("shop.orders").scan().plan_files()))


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

    def read(self) -> int:
        return len(DeltaTable(str(self.root)).file_uris())


def _warehouse() -> Path:
    return Path(settings().warehouse_uri.removeprefix("file://"))


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


CASES: dict[str, Callable[[Path], Case]] = {
    "files": Files,
    "iceberg": Iceberg,
    "delta": Delta,
    "pyiceberg": PyIceberg,
    "deltalake": DeltaLake,
}


def _no_spark() -> SparkSession:
    raise AssertionError("local files need no Spark")


if __name__ == "__main__":
    typer.run(main)
