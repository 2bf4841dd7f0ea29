"""Whatever is killed, and when: the old version is served, a retry completes, and one new version exists."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

import dagster as dg
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.database.connection import transaction
from headrace.publishing.runs import reap
from headrace.publishing.unreported import UnreportedPage, unreported_versions
from headrace.queries.pointers import newest
from headrace.settings import settings
from tests.platform import children
from tests.platform.children import exit_code
from tests.platform.projects import Project, load_project, write_project
from tests.platform.system.crashing import materialize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("spark")]

DATASET = "shop/numbers"
OLD, NEW = 70_000, 90_000
DECLARATION = (
    "type: headrace.Dataset\nattributes:\n  key: shop/numbers\n  sql: SELECT id FROM range({rows})\n"
)

BOUNDARIES = [
    "before:attempt",
    "before:pin",
    "before:compute",
    "before:write",
    "before:publish",
    "after:publish",
    "before:report",
    "after:report",
]
JVM_NEEDED = ["jvm:write"]
JVM_NOT_NEEDED = ["jvm:compute", "jvm:publish", "jvm:report"]  # a transform begins with a JVM that lives
RANDOM = [f"at random, {number}" for number in range(3)]


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    """The dataset's old version published, and the new one's code in place."""
    load_project(
        write_project(tmp_path / "project", "shop", DECLARATION.format(rows=OLD)), engine
    ).materialize()
    return load_project(write_project(tmp_path / "project", "shop", DECLARATION.format(rows=NEW)), engine)


def child(root: Path, run_id: str, place: str) -> BaseProcess:
    """Materialize the dataset in a process of its own; what it prints goes to the project's `output`."""
    return children.start(root / "output", materialize, str(root), DATASET, run_id, place)


@contextmanager
def reading_all_the_while(engine: Engine) -> Iterator[set[int]]:
    """Read whatever is published, over and over, as an outside reader would; yields the row counts that were seen."""
    seen: set[int] = set()
    wrong: list[str] = []
    stopped = threading.Event()

    def read() -> None:
        while not stopped.wait(0.05):
            version = newest(engine, DATASET)
            assert version is not None
            count = pq.read_table(urlsplit(version.location).path).num_rows
            if count != version.row_count:
                wrong.append(f"{version.tag}: {count} rows of {version.row_count}")
            seen.add(count)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield seen
    finally:
        stopped.set()
        reader.join()
    assert not wrong


def retry(project: Project, run_id: str) -> dg.ExecuteInProcessResult:
    """Retry the run in this process, like Dagster's re-execution."""
    key = dg.AssetKey.from_user_string(DATASET)
    job = project.definitions.get_repository_def().get_implicit_job_def_for_assets([key])
    assert job is not None
    return job.execute_in_process(
        instance=project.instance,
        asset_selection=[key],
        tags={"dagster/root_run_id": run_id, "dagster/parent_run_id": run_id},
    )


def assert_one_new_version(engine: Engine) -> None:
    reap(
        engine
    )  # as `headrace status` does: the retry may have begun before the server saw that the killed one is gone
    with transaction(engine) as cursor:
        outcomes = cursor.execute(
            "SELECT outcome, row_count FROM catalog.dataset_version ORDER BY produced_at"
        ).fetchall()
        states = cursor.execute("SELECT state FROM catalog.run_attempt ORDER BY start_ts").fetchall()
    assert [(row["outcome"], row["row_count"]) for row in outcomes] == [
        ("PUBLISHED", OLD),
        ("PUBLISHED", NEW),
    ]
    published = newest(engine, DATASET)
    assert published is not None
    assert published.row_count == NEW
    assert states[-1]["state"] == RunState.SUCCESS
    assert RunState.RUNNING not in {row["state"] for row in states}


def assert_manifest_is_current(engine: Engine) -> None:
    published = newest(engine, DATASET)
    assert published is not None
    manifest = settings().home / "warehouse" / DATASET / "_published" / "current.json"
    assert json.loads(manifest.read_text())["tag"] == published.tag


@pytest.mark.parametrize("place", BOUNDARIES)
def test_a_run_killed_between_two_steps(place: str, project: Project, engine: Engine, tmp_path: Path) -> None:
    run_id = str(uuid4())
    with reading_all_the_while(engine) as seen:
        assert exit_code(child(tmp_path / "project", run_id, place)) == -9

        published = newest(engine, DATASET)
        assert published is not None
        expected = NEW if place in ("after:publish", "before:report", "after:report") else OLD
        assert published.row_count == expected

        # What the publishing transaction left to be reported, until the run has reported it.
        unreported = {each.version.tag for each in unreported_versions(engine).versions}
        assert unreported == ({published.tag} if place in ("after:publish", "before:report") else set())

        assert retry(project, run_id).success
    assert unreported_versions(engine) == UnreportedPage()
    assert seen <= {OLD, NEW}
    assert_one_new_version(engine)
    assert_manifest_is_current(engine)


@pytest.mark.parametrize("place", JVM_NEEDED)
def test_a_run_whose_jvm_is_killed_fails_with_the_reason(
    place: str, project: Project, engine: Engine, tmp_path: Path
) -> None:
    run_id = str(uuid4())
    with reading_all_the_while(engine):
        assert exit_code(child(tmp_path / "project", run_id, place)) == 1
        with transaction(engine) as cursor:
            (attempt,) = cursor.execute(
                "SELECT reason FROM catalog.run_attempt WHERE state = 'FAILED'"
            ).fetchall()
        assert "Spark" in attempt["reason"]
        assert retry(project, run_id).success
    assert_one_new_version(engine)


@pytest.mark.parametrize("place", JVM_NOT_NEEDED)
def test_a_jvm_that_is_killed_while_it_does_nothing_costs_the_preview_only(
    place: str, project: Project, engine: Engine, tmp_path: Path
) -> None:
    assert exit_code(child(tmp_path / "project", str(uuid4()), place)) == 0
    assert_one_new_version(engine)
    assert_manifest_is_current(engine)


@pytest.mark.parametrize("when", RANDOM)
def test_a_run_killed_at_a_random_time(
    when: str, project: Project, engine: Engine, tmp_path: Path, spark: SparkSession
) -> None:
    run_id = str(uuid4())
    with reading_all_the_while(engine) as seen:
        killed = child(tmp_path / "project", run_id, "none")
        while "running\n" not in (tmp_path / "project" / "output").read_text():
            assert killed.is_alive()
            time.sleep(0.05)
        time.sleep(random.uniform(0, 12))  # noqa: S311 - a place in the run, not a secret
        killed.kill()
        if exit_code(killed) != 0:
            assert retry(project, run_id).success
    assert seen <= {OLD, NEW}
    assert_one_new_version(engine)
