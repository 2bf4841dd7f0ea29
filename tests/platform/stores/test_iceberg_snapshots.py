"""Commits to an Iceberg table do not copy its metadata more often than they change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.table
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import update_table_metadata
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.catalog.records import Column
from headrace.stores.iceberg import snapshots
from headrace.stores.iceberg.catalog import DATASET
from headrace.stores.iceberg.snapshots import Staged, files_of, forget_old, replace_files, set_main, stage
from tests.platform.projects import failure, load_project, write_project


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with closing(SqlCatalog("test", uri="sqlite://")) as catalog:
        catalog.create_namespace("shop")
        properties = {DATASET: "shop/orders"}
        yield catalog.create_table("shop.orders", Schema(), str(tmp_path / "table"), properties=properties)


def test_a_commit_computes_the_metadata_once_for_each_change(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), file)
    stage(table, "first", [Column("id", "bigint")], [file.as_uri()])
    set_main(table, "first")
    changes: list[int] = []

    def counted(metadata: Any, updates: Any, *rest: Any) -> Any:
        changes.append(len(updates))
        return update_table_metadata(metadata, updates, *rest)

    monkeypatch.setattr(pyiceberg.table, "update_table_metadata", counted)
    stage(table, "second", [Column("id", "bigint")], [file.as_uri()])
    staging = list(changes)
    changes.clear()
    set_main(table, "second")

    assert list(files_of(table, MAIN_BRANCH)) == [file.as_uri()]
    assert table.refs()["second"].snapshot_id == table.refs()[MAIN_BRANCH].snapshot_id
    assert staging == sorted(set(staging))
    assert changes == sorted(set(changes))


def test_the_oldest_snapshots_are_forgotten_and_what_is_read_stays(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_KEPT_SNAPSHOTS", 3)
    monkeypatch.setattr(snapshots, "_MAX_SNAPSHOTS", 6)
    columns, paths, before = [Column("id", "bigint")], [], None
    tags = [f"202601{day:02}T000000Z-0000000{day}" for day in range(1, 10)]
    for number, tag in enumerate(tags):
        file = tmp_path / f"{tag}.parquet"
        pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), file)
        stage(table, tag, columns, [file.as_uri()], before)
        set_main(table, tag)
        if number == 1:
            table.manage_snapshots().create_tag(table.refs()[tag].snapshot_id, "of-an-auditor").commit()
        forget_old(table)
        paths.append(file.as_uri())
        before = Staged(tag, partial(list, tuple(paths)))
        assert sorted(files_of(table, MAIN_BRANCH)) == paths  # appended: all manifests before are still there
    assert len(table.snapshots()) < 6
    assert sorted(files_of(table, "of-an-auditor")) == paths[:2]
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == list(range(9))
    lists = {Path(each.manifest_list.removeprefix("file:")).name for each in table.snapshots()}
    assert {each.name for each in (tmp_path / "table" / "metadata").glob("snap-*.avro")} == lists

    forgotten = tags[3]
    assert forgotten not in table.refs()
    stage(table, forgotten, columns, paths[:4])
    set_main(table, forgotten)
    assert sorted(files_of(table, MAIN_BRANCH)) == paths[:4]

    data_files = list(files_of(table, MAIN_BRANCH).values())
    replace_files(table, columns, {tags[2]}, added=paths[:3], removed=data_files, rest=False)
    assert sorted(files_of(table, MAIN_BRANCH)) == paths[:3]  # without a tag: the version was forgotten


def test_texts_that_are_not_utf8_are_refused_with_what_to_do(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: shop/odd
  sql: SELECT CAST(X'FF41' AS STRING) AS name
  output: {store: iceberg}
"""
    [result] = load_project(write_project(tmp_path, "shop", declaration), engine).materialize("shop/odd")
    assert "has texts that are not UTF-8, which Iceberg requires" in failure(result)
