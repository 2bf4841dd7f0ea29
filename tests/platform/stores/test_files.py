"""Local and remote locations, and the contents of listings."""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.files.filesystem import LocalFiles, is_local, local_path
from headrace.spark.errors import StoreUnavailable
from headrace.stores.files.store import FilesStore


@pytest.mark.parametrize(
    ("location", "local"),
    [
        ("landing/orders.csv", True),
        ("/data/2026-01-01T00:00/orders", True),
        ("file:/data", True),
        ("file:///data", True),
        ("s3a://bucket/orders", False),
        ("hdfs:/orders", False),
        ("viewfs:///orders", False),
    ],
)
def test_what_is_local(location: str, local: bool) -> None:
    assert is_local(location) == local


def test_entries_leave_out_what_is_hidden_and_what_is_gone(tmp_path: Path) -> None:
    for name in ("b", "_SUCCESS", ".b.crc", "c._COPYING_"):
        (tmp_path / name).touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "_day=1").mkdir()
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    files = LocalFiles()
    found = files.entries(f"file://{tmp_path}")
    assert [(entry.name, entry.is_directory) for entry in found] == [
        ("_day=1", True),
        ("a", True),
        ("b", False),
    ]
    assert files.folders(f"file://{tmp_path}") == ["_day=1", "a"]
    assert [entry.name for entry in files.listing(f"file://{tmp_path}/b")] == ["b"]
    assert files.listing(f"file://{tmp_path}/nothing") == files.entries(f"file://{tmp_path}/nothing") == []


def test_what_is_written_is_on_disk_before_it_can_be_published(
    spark: SparkSession, store: FilesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the machine loses what is only in memory, and the catalog would name it all the same."""
    synced: set[str] = set()
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    [written] = store.write(spark.range(3), dataset="shop/orders", tag="t")
    root = local_path(written.location)
    assert {str(path) for path in root.iterdir()} | {str(root), str(root.parent)} <= synced
    LocalFiles().replace_text(f"{written.location}/../current.json", "{}", None)
    assert any("current.json" in path for path in synced)


def test_no_location_is_not_the_working_directory() -> None:
    for ask in (LocalFiles().sizes, LocalFiles().data_files, LocalFiles().listing, LocalFiles().exists):
        with pytest.raises(StoreUnavailable, match="without a location"):
            ask("")
