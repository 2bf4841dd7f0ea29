"""Snapshots of Iceberg and Delta tables that other programs have written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import LongType
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.catalog.locators import SnapshotLocator, locator_metadata
from headrace.catalog.records import Column, Version
from headrace.spark.errors import CorruptInput
from headrace.stores.protocol import Store
from headrace.stores.registry import STORES
from headrace.stores.writes import WrittenVersion
from tests.platform.stores.conformance.outside import Iceberg

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]})
Foreign = Callable[[str, SnapshotLocator], Version]


@pytest.fixture
def foreign(version: Callable[..., Version]) -> Foreign:
    """The version that a program publishes for a snapshot."""

    def made(store: str, locator: SnapshotLocator) -> Version:
        columns = (Column("id", "bigint"), Column("name", "string"))
        written = WrittenVersion(None, str(locator), 2, columns, {}, ())
        return version(written, byte_size=None, metadata=locator_metadata(store, locator))

    return made


def opened(name: str, spark: SparkSession, folder: Path) -> Store:
    return STORES.get(name).open(spark, folder.as_uri())


def read(store: Store, version: Version) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, store.read([version]).collect()))


@pytest.fixture
def catalog(engine: Engine) -> Iterator[Catalog]:
    with Iceberg().catalog() as catalog:
        catalog.create_namespace("lake")
        yield catalog


@pytest.fixture
def table(catalog: Catalog, tmp_path: Path) -> Table:
    """A table of another program, with two snapshots."""
    table = catalog.create_table("lake.people", ROWS.schema, (tmp_path / "people").as_uri())
    table.append(ROWS.slice(0, 1))
    table.append(ROWS.slice(1))
    return table


def at(table: Table, place: int) -> SnapshotLocator:
    return SnapshotLocator("lake.people", str(table.snapshots()[place].snapshot_id))


def test_a_snapshot_of_an_iceberg_table_is_read(
    table: Table, foreign: Foreign, spark: SparkSession, tmp_path: Path
) -> None:
    store = opened("iceberg", spark, tmp_path)
    assert read(store, foreign("iceberg", at(table, 0))) == [(1, "a")]
    newest = foreign("iceberg", at(table, 1))
    assert read(store, newest) == [(1, "a"), (2, "b")]
    assert store.first_rows(foreign("iceberg", at(table, 0)), 5) == [{"id": "1", "name": "a"}]
    assert STORES.get("iceberg").local_rows([newest], ["id"], frozenset(), 5, tmp_path.as_uri()) is None


def test_a_column_that_was_added_later_is_null(
    table: Table, foreign: Foreign, spark: SparkSession, tmp_path: Path
) -> None:
    with table.update_schema() as update:
        update.delete_column("name")
        update.add_column("size", LongType())
    table.append(pa.table({"id": pa.array([3], pa.int64()), "size": pa.array([9], pa.int64())}))
    columns = (Column("id", "bigint"), Column("size", "bigint"))
    version = dataclasses.replace(foreign("iceberg", at(table, 2)), columns=columns)
    assert read(opened("iceberg", spark, tmp_path), version) == [(1, None), (2, None), (3, 9)]


def test_a_renamed_or_replaced_column_is_refused(
    table: Table, foreign: Foreign, spark: SparkSession, tmp_path: Path
) -> None:
    with table.update_schema() as update:
        update.rename_column("name", "called")
    table.append(ROWS.rename_columns(["id", "called"]))
    store = opened("iceberg", spark, tmp_path)
    with pytest.raises(CorruptInput, match="the column called has been renamed or replaced since"):
        store.read([foreign("iceberg", at(table, 2))])
    assert read(store, foreign("iceberg", at(table, 1))) == [(1, "a"), (2, "b")]


def test_delete_files_are_refused(
    table: Table, foreign: Foreign, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = FileScanTask.__init__

    def with_delete(task: FileScanTask, data_file: Any, *_: Any, **__: Any) -> None:
        planned(task, data_file, delete_files={data_file})

    monkeypatch.setattr(FileScanTask, "__init__", with_delete)
    with pytest.raises(CorruptInput, match="delete files mark some of its rows as deleted"):
        opened("iceberg", spark, tmp_path).read([foreign("iceberg", at(table, 1))])


def test_an_expired_snapshot_and_a_table_that_is_gone_are_named(
    table: Table, foreign: Foreign, catalog: Catalog, spark: SparkSession, tmp_path: Path
) -> None:
    store, first = opened("iceberg", spark, tmp_path), foreign("iceberg", at(table, 0))
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    with pytest.raises(CorruptInput, match=r"shop/orders version .* the snapshot \d+ has expired"):
        store.read([first])
    catalog.drop_table("lake.people")
    with pytest.raises(CorruptInput, match="its Iceberg table does not exist"):
        store.read([first])


def test_a_version_of_a_delta_table_is_read(foreign: Foreign, spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "people é#?")
    write_deltalake(place, ROWS.slice(0, 1))
    write_deltalake(place, ROWS.slice(1), mode="append")
    store = opened("delta", spark, tmp_path)
    assert read(store, foreign("delta", SnapshotLocator(place, "0"))) == [(1, "a")]
    assert read(store, foreign("delta", SnapshotLocator(place, "1"))) == [(1, "a"), (2, "b")]
    with pytest.raises(CorruptInput, match="the table version 7 has expired"):
        store.read([foreign("delta", SnapshotLocator(place, "7"))])
    with pytest.raises(CorruptInput, match="its Delta table does not exist"):
        store.read([foreign("delta", SnapshotLocator(str(tmp_path / "nothing"), "0"))])


def test_delta_rows_that_are_more_than_their_files_are_refused(
    foreign: Foreign, spark: SparkSession, tmp_path: Path
) -> None:
    store = opened("delta", spark, tmp_path)
    parts, vectors = str(tmp_path / "parts"), str(tmp_path / "vectors")
    write_deltalake(parts, ROWS, partition_by=["name"])
    with pytest.raises(CorruptInput, match="its files lack the partition columns name"):
        store.read([foreign("delta", SnapshotLocator(parts, "0"))])
    DeltaTable.create(vectors, ROWS.schema, configuration={"delta.enableDeletionVectors": "true"})
    with pytest.raises(CorruptInput, match="deletion vectors may mark some of its rows as deleted"):
        store.read([foreign("delta", SnapshotLocator(vectors, "0"))])
