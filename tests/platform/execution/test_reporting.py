"""Reports after a publish: to Dagster whatever else fails, to external readers by manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Publication, RunState
from headrace.database.connection import transaction
from headrace.execution import materialization as run
from headrace.files.filesystem import local_path
from headrace.publishing.publication import publish
from headrace.queries.pointers import newest
from headrace.settings import settings
from tests.platform.projects import Project, checks, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = """
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT id FROM VALUES (1), (2) AS t(id)
  schema:
    columns:
      id: {type: int, nullable: false}
"""


def log(project: Project, result: dg.ExecuteInProcessResult) -> str:
    return "\n".join(entry.user_message for entry in project.instance.all_logs(result.run_id))


def assert_succeeded(engine: Engine, result: dg.ExecuteInProcessResult, dataset: str) -> dict[str, object]:
    """Dagster and the catalog agree that the version is published; returns the materialization's metadata."""
    assert result.success
    (event,) = result.get_asset_materialization_events()
    published = newest(engine, dataset)
    assert published is not None
    assert event.materialization.tags["dagster/data_version"] == published.tag
    with transaction(engine) as cursor:
        (attempt,) = cursor.execute("SELECT state, reason FROM catalog.run_attempt").fetchall()
    assert attempt == {"state": RunState.SUCCESS, "reason": None}
    return {name: value.value for name, value in event.materialization.metadata.items()}


def test_a_manifest_that_cannot_be_written_is_a_warning_of_a_run_that_published(
    tmp_path: Path, engine: Engine
) -> None:
    project = load_project(write_project(tmp_path, "shop", ORDERS), engine)
    folder = settings().home / "warehouse" / "shop" / "orders"
    folder.mkdir(parents=True)
    (folder / "_published").touch()

    (result,) = project.materialize()

    assert_succeeded(engine, result, "shop/orders")
    assert all(checks([result]).values())
    assert "shop/orders is published, but not all of its references" in log(project, result)
    assert "run `headrace manifests shop/orders`" in log(project, result)


def test_a_preview_that_cannot_be_made_is_a_warning_of_a_run_that_published(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish_and_lose(*arguments: Any, **options: Any) -> list[Publication]:
        publications = publish(*arguments, **options)
        for file in local_path(publications[0].version.location).glob("part-*"):
            file.unlink()
        return publications

    monkeypatch.setattr(run, "publish", publish_and_lose)
    project = load_project(write_project(tmp_path, "shop", ORDERS), engine)

    (result,) = project.materialize()

    metadata = assert_succeeded(engine, result, "shop/orders")
    assert metadata["dagster/row_count"] == 2
    assert str(metadata["preview"]).startswith("No preview: shop/orders version")
    assert "shop/orders is published, but its preview could not be created" in log(project, result)


def test_values_that_python_does_not_have_are_in_the_preview(tmp_path: Path, engine: Engine) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: shop/odd
  sql: >-
    SELECT DATE '-0044-03-15' AS day, TIMESTAMP '0001-01-01 00:00:00Z' AS at, TIMESTAMP '2024-01-01 12:00:00.5+02' AS t,
    array(1, 2) AS list, CAST(null AS string) AS nothing
"""
    project = load_project(write_project(tmp_path, "shop", declaration), engine)

    (result,) = project.materialize()

    shown = str(assert_succeeded(engine, result, "shop/odd")["preview"]).splitlines()[-1]
    assert shown == "| -0044-03-15 | 0001-01-01 00:00:00Z | 2024-01-01 10:00:00.5Z | [1, 2] |  |"


DAILY = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT date_add(:partition_start, 0) AS day
  partitions: {type: daily, start: "2024-01-01", end: "2024-02-01", column: day, ranges: true}
"""


def test_each_partition_has_a_manifest(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", DAILY), engine)
    project.materialize("shop/sales", partitions=("2024-01-05", "2024-01-07"))

    folder = settings().home / "warehouse" / "shop" / "sales" / "_published"
    published = newest(engine, "shop/sales")
    assert published is not None
    found = {file.stem: json.loads(file.read_text()) for file in folder.iterdir()}
    assert sorted(found) == ["2024-01-05", "2024-01-06", "2024-01-07"]
    assert {(manifest["tag"], manifest["generation"]) for manifest in found.values()} == {(published.tag, 1)}
