"""Versions whose run ended before it had reported them to Dagster and to the systems to notify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import RunState, Version, VersionDraft
from headrace.dagster_internals import DATA_VERSION_TAG
from headrace.database.connection import transaction
from headrace.orchestration.sensors.reports import reports_sensor
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.publishing.unreported import UnreportedPage, unreported_versions
from tests.platform.projects import Project, load_project, write_project

Draft = Callable[..., VersionDraft]
KEY = dg.AssetKey(["shop", "orders"])


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    """A dataset that writes two flag files, of which the folder of the second does not exist yet."""
    (tmp_path / "flags").mkdir()
    declared = f"""
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT 1 AS id
  notify:
    - flag_file: {tmp_path}/flags/{{name}}.{{version}}
    - flag_file: {tmp_path}/late/{{name}}.{{version}}
"""
    return load_project(write_project(tmp_path / "project", "shop", declared), engine)


def publish_only(engine: Engine, project: Project, draft: Draft) -> Version:
    """Publish a version in a run that ends before it reports."""
    [plan] = project.plans
    with attempt(engine, run_id=uuid4(), process_key=plan.record.key) as current:
        [publication] = publish(engine, current.run_id, [draft("shop/orders")])
        current.end(RunState.FAILED, "killed")
    return publication.version


def tick(project: Project) -> None:
    context = dg.build_sensor_context(instance=project.instance)
    reports_sensor(project.plans)(context)


def materializations(project: Project) -> list[dg.AssetMaterialization]:
    found = project.instance.fetch_materializations(KEY, limit=10).records
    return [record.asset_materialization for record in found if record.asset_materialization]


def test_the_sensor_reports_what_a_run_left_and_repeats_failed_notifications_only(
    project: Project, engine: Engine, tmp_path: Path, draft: Draft
) -> None:
    version = publish_only(engine, project, draft)
    assert [each.version.tag for each in unreported_versions(engine).versions] == [version.tag]
    tick(project)
    [event] = materializations(project)
    assert (event.tags or {})[DATA_VERSION_TAG] == version.tag
    flag = tmp_path / "flags" / f"orders.{version.tag}"
    assert flag.exists()
    [waiting] = unreported_versions(engine).versions
    assert "late/orders" in (waiting.failure or "")
    assert unreported_versions(engine, due=True) == UnreportedPage()

    flag.unlink()
    (tmp_path / "late").mkdir()
    tick(project)  # not due yet
    assert unreported_versions(engine).total == 1
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.unreported_version SET next_try_at = now()")
    tick(project)
    assert unreported_versions(engine) == UnreportedPage()
    assert (tmp_path / "late" / f"orders.{version.tag}").exists()
    assert not flag.exists()
    assert len(materializations(project)) == 1


def test_a_version_that_was_replaced_needs_no_report(
    project: Project, engine: Engine, tmp_path: Path, draft: Draft
) -> None:
    (tmp_path / "late").mkdir()
    publish_only(engine, project, draft)
    newer = publish_only(engine, project, lambda key: draft(key, generation=1))
    tick(project)
    assert [(event.tags or {})[DATA_VERSION_TAG] for event in materializations(project)] == [newer.tag]
    assert [flag.name for flag in (tmp_path / "flags").iterdir()] == [f"orders.{newer.tag}"]
    with transaction(engine) as cursor:
        assert cursor.execute("SELECT FROM catalog.unreported_version").fetchall() == []


def test_the_versions_of_a_live_run_are_left_to_it(project: Project, engine: Engine, draft: Draft) -> None:
    [plan] = project.plans
    with attempt(engine, run_id=uuid4(), process_key=plan.record.key) as current:
        publish(engine, current.run_id, [draft("shop/orders")])
        assert unreported_versions(engine) == UnreportedPage()
    assert unreported_versions(engine).total == 1


def test_failing_notifications_of_many_versions_hold_up_no_other(
    project: Project, engine: Engine, draft: Draft
) -> None:
    """Nor does the report to Dagster wait for notifications."""
    publish_only(engine, project, draft)
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.unreported_version SET tries = 3, next_try_at = now() + interval '1 hour'"
        )
    newer = publish_only(engine, project, lambda key: draft(key, partition="other"))
    [due] = unreported_versions(engine, due=True).versions
    assert due.version.tag == newer.tag
    assert next(each.version.tag for each in unreported_versions(engine).versions) == newer.tag
