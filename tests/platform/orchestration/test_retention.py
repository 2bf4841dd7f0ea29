"""Files left by dead runs are found; those of versions, or of runs that may still publish, are not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord
from headrace.openlineage.renames import follow_declarations
from headrace.orchestration.garbage import garbage
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
