"""Commits to an Iceberg table do not copy its metadata more often than they change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
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

from headrace.catalog.records import Column
from headrace.stores.iceberg.catalog import DATASET
from headrace.stores.iceberg.snapshots import files_of, set_main, stage


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
