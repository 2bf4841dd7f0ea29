"""An erasure is killed, and the same command again ends as if nothing had happened."""

from __future__ import annotations

import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.cli import app
from headrace.database.connection import transaction
from headrace.execution.erasure import Condition, affected_rows
from headrace.execution.erasure import erase as erase_in
from headrace.orchestration.jobs.retention import catalog_retention
from headrace.publishing.erasure import unfinished_erasures
from headrace.queries.versions import published
from headrace.settings import settings
from headrace.stores.store import OpenStores
from tests.platform import children
from tests.platform.projects import Project, load_project, write_project
from tests.platform.system.erasing import ERASE
from tests.platform.system.erasing import erase as erase_rows

pytestmark = pytest.mark.slow

PEOPLE = """
type: headrace.Dataset
attributes:
  key: crm/people
  sql: SELECT * FROM VALUES (1, 'Ada'), (2, 'Ben') AS t (id, name)
---
type: headrace.Dataset
attributes: {key: crm/contacts, sql: "SELECT id AS contact_id, name FROM crm.people"}
"""


@pytest.fixture
def project(engine: Engine, spark: SparkSession, tmp_path: Path) -> Project:
    """Two datasets, each with a published version."""
    project = load_project(write_project(tmp_path / "project", "crm", PEOPLE), engine)
    (tmp_path / "dagster").mkdir()
    project.instance = dg.DagsterInstance.local_temp(str(tmp_path / "dagster"))
    project.materialize()
    return project


@pytest.fixture
def erase(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(project.instance))
    done = CliRunner().invoke(app, ERASE)
    assert done.exit_code == 0, done.output


def state(engine: Engine, project: Project) -> dict[str, Any]:
    """What an erasure leaves in the catalog, in the warehouse and in Dagster."""
    with transaction(engine) as cursor:
        erasures = cursor.execute(
            "SELECT condition, reason, versions, row_count FROM catalog.erasure"
        ).fetchall()
        versions = cursor.execute(
            "SELECT full_name, expired.erasure_id IS NOT NULL AS erased, rows_deleted_at IS NOT NULL AS deleted, "
            "count(*) AS n FROM catalog.dataset_version version JOIN catalog.dataset USING (dataset_id) "
            "LEFT JOIN catalog.expired_version expired USING (dataset_version_id) GROUP BY 1, 2, 3 ORDER BY 1, 2"
        ).fetchall()
    warehouse = Path(settings().warehouse_uri.removeprefix("file://"))
    files = [file.read_bytes() for file in warehouse.rglob("*.parquet")]
    reported = [
        repr(record)
        for key in ("crm/people", "crm/contacts")
        for record in project.instance.fetch_materializations(
            dg.AssetKey.from_user_string(key), limit=50
        ).records
    ]
    return {
        "erasures": [tuple(row.values()) for row in erasures],
        "versions": [tuple(row.values()) for row in versions],
        "in files": sum(b"Ada" in content for content in files),
        "in Dagster": sum("Ada" in each for each in reported),
        "published": sorted(
            (row.dataset, row.version.row_count, any(row.version.tag in each for each in reported))
            for row in published(engine, ["crm/people", "crm/contacts"])
        ),
        "unfinished": len(unfinished_erasures(engine)),
    }


UNDISTURBED = {
    "erasures": [("id = ?", "request 7", 2, 2)],
    "versions": [
        ("crm/contacts", False, False, 1),
        ("crm/contacts", True, True, 1),
        ("crm/people", False, False, 1),
        ("crm/people", True, True, 1),
    ],
    "in files": 0,
    "in Dagster": 0,
    "published": [("crm/contacts", 1, True), ("crm/people", 1, True)],
    "unfinished": 0,
}


@pytest.mark.usefixtures("erase")
def test_an_undisturbed_erasure(engine: Engine, project: Project) -> None:
    assert state(engine, project) == UNDISTURBED


@pytest.mark.parametrize("place", ["after:publish", "after:record_erasure", "after:delete"])
def test_the_same_command_again_finishes_a_killed_erasure(
    place: str, engine: Engine, project: Project, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    child = children.start(tmp_path / "output", erase_rows, str(tmp_path / "dagster"), place)
    assert children.exit_code(child) == -signal.SIGKILL

    request.getfixturevalue("erase")

    assert state(engine, project) == UNDISTURBED


def test_an_erasure_is_finished_at_night_too(engine: Engine, project: Project, spark: SparkSession) -> None:
    stores, condition = OpenStores(spark, settings().warehouse_uri), Condition("id = 1")
    found = affected_rows(engine, stores, "crm/people", condition)
    erase_in(engine, found, stores, "crm/people", condition, reason="request 7", by="steward")
    result = catalog_retention.execute_in_process(instance=project.instance)
    assert result.success
    assert state(engine, project)["in Dagster"] == 0
