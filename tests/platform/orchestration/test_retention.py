"""Files left by dead runs are found; those of versions, or of runs that may still publish, are not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.catalog.records import DatasetRecord
from headrace.cli import app
from headrace.database.connection import transaction
from headrace.openlineage.renames import follow_declarations
from headrace.orchestration.garbage import delete, expired_rows, garbage, record_gone
from headrace.publishing.expiry import expire_versions, rows_are_left
from headrace.publishing.runs import attempt
from headrace.queries.pointers import newest
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.stores.files.store import FilesStore
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from tests.platform.projects import load_project, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARATION = "type: headrace.Dataset\nattributes:\n  key: shop/numbers\n  sql: SELECT id FROM range(5)\n"
LATER = datetime.now(UTC) + timedelta(days=2)


@pytest.fixture
def store(tmp_path: Path, engine: Engine, spark: SparkSession) -> FilesStore:
    """A warehouse with one published version and files left by a dead run."""
    load_project(write_project(tmp_path / "project", "shop", DECLARATION), engine).materialize()
    found = FilesStore(spark, settings().warehouse_uri)
    spark.range(3).write.parquet(found.location("shop/numbers", new_tag()))
    return found


@pytest.fixture
def stores(spark: SparkSession) -> OpenStores:
    return OpenStores(spark, settings().warehouse_uri)


def test_a_directory_that_no_version_names_is_garbage(
    store: FilesStore, stores: OpenStores, engine: Engine
) -> None:
    (found,) = garbage(engine, stores, now=LATER)

    assert found.byte_size > 0
    assert found.store == "files"
    stores.named(found.store).delete(found.dataset, found.tag)
    published = newest(engine, "shop/numbers")
    assert published is not None
    assert store.tags("shop/numbers") == [published.tag]
    assert store.read([published]).count() == 5


def test_what_is_recent_is_left_alone(store: FilesStore, stores: OpenStores, engine: Engine) -> None:
    assert garbage(engine, stores, timedelta(hours=1)) == []


def test_nothing_is_garbage_while_an_older_run_lives(
    store: FilesStore, stores: OpenStores, engine: Engine, spark: SparkSession
) -> None:
    with attempt(engine, run_id=uuid4(), process_key="shop/numbers"):
        later = new_tag()
        spark.range(1).write.parquet(store.location("shop/numbers", later))

        found = garbage(engine, stores, now=LATER)

    assert later not in {each.tag for each in found}


def test_only_a_tag_is_ever_deleted(store: FilesStore) -> None:
    with pytest.raises(ValueError, match="not a version tag"):
        store.delete("shop/numbers", "_published")


def test_the_files_of_a_renamed_dataset_are_no_garbage_if_its_former_key_is_declared_again(
    store: FilesStore, stores: OpenStores, engine: Engine
) -> None:
    published = newest(engine, "shop/numbers")
    assert published is not None
    follow_declarations(engine, [DatasetRecord("shop/figures", "parquet", renamed_from="shop/numbers")])
    register(engine, [DatasetRecord("shop/numbers", "parquet")])
    assert published.tag in store.tags("shop/numbers")
    assert published.tag not in {each.tag for each in garbage(engine, stores, now=LATER)}


def rename(engine: Engine) -> None:
    """Declare shop/numbers under another key."""
    keep = {"keep": {"versions": 1}}
    renamed = DatasetRecord("shop/figures", "parquet", renamed_from="shop/numbers", metadata=keep)
    follow_declarations(engine, [renamed])
    register(engine, [renamed])


def test_expired_rows_of_a_renamed_dataset_are_deleted_from_the_place_of_its_former_key(
    two_versions: tuple[str, str], stores: OpenStores, engine: Engine
) -> None:
    first, second = two_versions
    rename(engine)
    assert stores.named("files").tags("shop/numbers") == sorted(two_versions)

    expire_versions(engine)
    found = expired_rows(engine, stores, {"shop/figures"})
    assert [each.tag for each in found] == [first]
    delete(engine, stores, found)

    assert stores.named("files").tags("shop/numbers") == [second]
    assert not rows_are_left(engine)


def test_a_killed_deletion_of_a_renamed_dataset_is_recorded_once_its_rows_are_gone(
    two_versions: tuple[str, str], stores: OpenStores, engine: Engine
) -> None:
    first, _ = two_versions
    rename(engine)
    expire_versions(engine)
    record_gone(engine, stores)
    assert rows_are_left(engine)

    stores.named("files").delete("shop/numbers", first)
    record_gone(engine, stores)

    assert not rows_are_left(engine)


@pytest.fixture
def two_versions(tmp_path: Path, engine: Engine, spark: SparkSession) -> tuple[str, str]:
    """The tags of two published versions of a dataset that keeps one, both of long ago."""
    tags = []
    for count in (5, 6):
        declaration = DECLARATION.replace("range(5)", f"range({count})\n  keep: {{versions: 1}}")
        load_project(write_project(tmp_path / str(count), "shop", declaration), engine).materialize()
        version = newest(engine, "shop/numbers")
        assert version is not None
        tags.append(version.tag)
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset_version SET produced_at = produced_at - interval '3 days'")
        cursor.execute("UPDATE catalog.pointer_move SET moved_at = moved_at - interval '3 days'")
    return tags[0], tags[1]


def test_an_expired_version_is_listed_deleted_and_no_longer_read(
    two_versions: tuple[str, str], stores: OpenStores
) -> None:
    first, second = two_versions
    runner = CliRunner()

    [listed] = json.loads(runner.invoke(app, ["retention", "--json"]).stdout)["versions"]
    assert (listed["tag"], listed["kept"], listed["byte_size"] > 0) == (first, None, True)
    explained = json.loads(runner.invoke(app, ["retention", "shop/numbers", "--json"]).stdout)["versions"]
    assert [(each["tag"], each["kept"]) for each in explained] == [(first, None), (second, "published")]
    assert sorted(stores.named("files").tags("shop/numbers")) == sorted(two_versions)

    deleted = runner.invoke(app, ["retention", "--delete", "--hours", "0"]).stdout
    assert deleted.splitlines()[-1].startswith("Expired 1 version (")

    assert stores.named("files").tags("shop/numbers") == [second]
    refused = runner.invoke(app, ["read", "shop/numbers", "--version", first])
    assert refused.exit_code == 1
    assert f"version {first} of shop/numbers expired at" in refused.output
    assert "Nothing to remove." in runner.invoke(app, ["retention"]).stdout


def test_rows_that_a_killed_job_left_are_deleted_by_the_next(
    two_versions: tuple[str, str], stores: OpenStores, engine: Engine
) -> None:
    expire_versions(engine)
    assert rows_are_left(engine)

    [left] = garbage(engine, stores, now=LATER)
    assert (left.tag, left.expired) == (two_versions[0], True)
    delete(engine, stores, [left])

    assert not rows_are_left(engine)
    assert garbage(engine, stores, now=LATER) == []
