"""Manifests reflect the catalog, whichever process publishes, rolls back, dies or is late."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.catalog.records import Column, DatasetRecord, VersionDraft
from headrace.errors import UnknownDataset
from headrace.execution import registration
from headrace.files.filesystem import local_path
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.queries.pointers import in_turn
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from headrace.stores.references import update_references
from tests.paths import WAIT_SECONDS

DAY = "2020-01-01T00:00|NL"
Put = Callable[..., VersionDraft]


def no_session() -> SparkSession:
    raise AssertionError("files of this machine need no Spark")


@pytest.fixture
def put(engine: Engine) -> Put:
    """Publish a version of `shop/orders` with one file, without a notification."""
    register(engine, [DatasetRecord("shop/orders", "parquet")], [])

    def published(tag: str, partition: str | None = None, dataset: str = "shop/orders") -> VersionDraft:
        folder = local_path(f"{settings().warehouse_uri}/{dataset}/{tag}/{partition or ''}")
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text("rows")
        draft = VersionDraft(
            dataset=dataset,
            partition=partition,
            tag=tag,
            location=f"file:{folder}",
            format="parquet",
            columns=(Column("id", "bigint"),),
            row_count=4,
            byte_size=4,
            file_count=1,
            checksum="00",
            idempotency_key=f"{dataset}/{tag}/{partition}",
            expected_generation=generations(engine, [(dataset, partition)])[dataset, partition],
        )
        publish(engine, None, [draft])
        return draft

    return published


def current(name: str = "current") -> dict[str, Any]:
    path = f"{settings().warehouse_uri}/shop/orders/_published/{name}.json"
    return dict(json.loads(local_path(path).read_text()))


def test_a_manifest_leads_to_the_files(engine: Engine, put: Put) -> None:
    put("t1", DAY)

    (found,) = update_references(engine, "shop/orders", no_session)

    assert found.location.endswith("/shop/orders/_published/2020-01-01T00%3A00|NL.json")
    manifest = current("2020-01-01T00%3A00|NL")
    assert (manifest["partition"], manifest["tag"], manifest["generation"]) == (DAY, "t1", 1)
    assert manifest["row_count"] == 4
    assert manifest["columns"] == [
        {"name": "id", "type": "bigint", "nullable": True, "description": None, "tags": []}
    ]
    for file in manifest["files"]:
        assert file["path"].startswith(f"{manifest['location']}/")
        assert local_path(file["path"]).stat().st_size == file["byte_size"]


def test_a_publisher_that_comes_late_writes_what_is_published_now(engine: Engine, put: Put) -> None:
    put("t1")
    put("t2")
    assert [each.changed for each in update_references(engine, "shop/orders", no_session)] == [True]
    late = update_references(engine, "shop/orders", no_session, [None])
    assert [(each.tag, each.changed) for each in late] == [("t2", False)]
    assert current()["tag"] == "t2"


def test_concurrent_writers_wait_and_reread(engine: Engine, put: Put) -> None:
    put("t1")
    other = threading.Thread(target=update_references, args=(engine, "shop/orders", no_session))
    with in_turn(engine, "shop/orders") as published:
        assert [row.version.tag for row in published.rows] == ["t1"]
        other.start()
        other.join(0.5)
        assert other.is_alive()
        put("t2")
    other.join(WAIT_SECONDS)
    assert current()["tag"] == "t2"


def test_a_rollback_is_reported_with_its_generation(engine: Engine, put: Put) -> None:
    put("t1")
    put("t2")
    update_references(engine, "shop/orders", no_session)
    rollback(engine, "shop/orders", None, None, by="ada", reason="wrong")
    update_references(engine, "shop/orders", no_session)
    assert (current()["tag"], current()["generation"]) == ("t1", 3)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tag": "t1", "generation": 7}'])
def test_what_is_no_manifest_of_this_pointer_is_rewritten(engine: Engine, put: Put, text: str) -> None:
    put("t1")
    (found,) = update_references(engine, "shop/orders", no_session)
    local_path(found.location).write_text(text)
    (again,) = update_references(engine, "shop/orders", no_session)
    assert again.changed
    assert current()["generation"] == 1


def test_only_the_partitions_that_are_named(engine: Engine, put: Put) -> None:
    put("t1", "a")
    put("t1", "b")
    assert [each.partition for each in update_references(engine, "shop/orders", no_session, ["b"])] == ["b"]
    assert [each.changed for each in update_references(engine, "shop/orders", no_session)] == [True, False]


def test_one_that_cannot_be_written_keeps_none_of_the_others_back(engine: Engine, put: Put) -> None:
    gone = put("t1", "a")
    put("t1", "b")
    for file in local_path(gone.location).iterdir():
        file.unlink()
    local_path(gone.location).rmdir()
    with pytest.raises(StoreUnavailable, match="Nothing is at"):
        update_references(engine, "shop/orders", no_session)
    assert current("b")["tag"] == "t1"


def test_they_lie_where_the_datasets_versions_do_and_external_datasets_have_none(
    engine: Engine, put: Put, tmp_path: Path
) -> None:
    elsewhere = (tmp_path / "else where").as_uri()
    register(engine, [DatasetRecord("shop/far", "parquet", metadata={"warehouse": elsewhere})], [])
    register(engine, [DatasetRecord("shop/feed", "csv", metadata={"external": True})], [])
    put("t1", dataset="shop/far")
    put("t1", dataset="shop/feed")
    update_references(engine, "shop/far", no_session)
    assert (tmp_path / "else where" / "shop" / "far" / "_published" / "current.json").exists()
    assert update_references(engine, "shop/feed", no_session) == []
    with pytest.raises(UnknownDataset):
        update_references(engine, "shop/nothing", no_session)


def test_on_another_filesystem_through_spark(
    spark: SparkSession, engine: Engine, put: Put, tmp_path: Path
) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.there.link./warehouse", (tmp_path / "there").as_uri())
    (tmp_path / "there").mkdir()
    far = DatasetRecord("shop/far", "parquet", metadata={"warehouse": "viewfs://there/warehouse"})
    register(engine, [far], [])
    put("t1", dataset="shop/far")
    for rewritten in (True, False):
        (found,) = update_references(engine, "shop/far", lambda: spark)
        assert (found.location, found.changed) == (
            "viewfs://there/warehouse/shop/far/_published/current.json",
            rewritten,
        )
    assert json.loads((tmp_path / "there/shop/far/_published/current.json").read_text())["tag"] == "t1"


def test_the_manifest_of_a_withdrawn_partition_is_deleted(engine: Engine, put: Put) -> None:
    def declare(*keys: str) -> None:
        shape = {"type": "static", "keys": list(keys)}
        register(engine, [DatasetRecord("shop/orders", "parquet", partition_definition=shape)])

    declare("a", "b")
    put("t1", "a")
    put("t1", "b")
    update_references(engine, "shop/orders", no_session)
    declare("a")
    assert [each.partition for each in update_references(engine, "shop/orders", no_session, ["a"])] == ["a"]
    folder = local_path(f"{settings().warehouse_uri}/shop/orders/_published")
    assert [file.name for file in folder.iterdir()] == ["a.json"]


def declared(engine: Engine, *keys: str) -> list[str]:
    shape = {"type": "static", "keys": list(keys)} if keys else None
    record = DatasetRecord("shop/orders", "parquet", partition_definition=shape)
    return registration.register(engine, [record], [], no_session)


def test_a_registration_updates_the_manifests_of_withdrawn_and_restored_partitions(
    engine: Engine, put: Put
) -> None:
    folder = local_path(f"{settings().warehouse_uri}/shop/orders/_published")
    declared(engine, "a", "b")
    put("t1", "a")
    put("t1", "b")
    update_references(engine, "shop/orders", no_session)
    assert declared(engine) == []
    assert list(folder.iterdir()) == []
    put("t2")
    update_references(engine, "shop/orders", no_session)
    assert declared(engine, "a", "c") == []
    assert [file.name for file in folder.iterdir()] == ["a.json"]


def test_a_manifest_that_cannot_be_updated_does_not_fail_the_registration(engine: Engine, put: Put) -> None:
    folder = local_path(f"{settings().warehouse_uri}/shop/orders/_published")
    declared(engine, "a", "b")
    put("t1", "a")
    put("t1", "b")
    folder.write_text("a file where the folder should be")
    [warning] = declared(engine, "a")
    assert "`headrace manifests shop/orders`" in warning
    with in_turn(engine, "shop/orders") as published:
        assert [row.partition for row in published.rows] == ["a"]


def test_versions_in_stores_that_are_not_installed_have_no_reference(engine: Engine) -> None:
    register(engine, [DatasetRecord("shop/table", "iceberg")])
    draft = VersionDraft(
        dataset="shop/table",
        partition=None,
        tag="t1",
        location="lake.shop.table",
        format="iceberg",
        columns=(Column("id", "bigint"),),
        row_count=4,
        byte_size=4,
        file_count=1,
        checksum="00",
        idempotency_key="shop/table/t1",
        expected_generation=0,
        metadata={"store": "lake"},
    )
    publish(engine, None, [draft])
    assert update_references(engine, "shop/table", no_session) == []
