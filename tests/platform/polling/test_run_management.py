"""The page docs/run-management.md, word by word: requests of a queue are runs, and what they write is a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from time import sleep

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.connections.connection import connection
from headrace.connections.opening import opened
from headrace.database.connection import transaction
from headrace.declarations.loading.known import known
from headrace.declarations.loading.project import load
from headrace.estates.estates import scan
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.orchestration.completions.intake import take_in
from headrace.orchestration.completions.opening import folder_at
from headrace.orchestration.sensors.polls import poll_once
from headrace.polling.checking import check_legacy
from headrace.polling.polls import load_polls
from headrace.queries.process_detail import process
from headrace.queries.processes import processes
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.slas.queries import incidents, sla_statuses
from headrace.slas.status import SlaStatus
from headrace.slas.tick import evaluate
from tests.paths import REPOSITORY
from tests.platform.connections.databases import configured, derby

PAGE = (REPOSITORY / "docs" / "run-management.md").read_text()
TABLES = (
    "CREATE SCHEMA rm",
    "CREATE TABLE rm.request (request_no INTEGER, service VARCHAR(40), state VARCHAR(20), request_type VARCHAR(20), "
    "params VARCHAR(200), started_at TIMESTAMP, ended_at TIMESTAMP, business_date DATE, message VARCHAR(200), "
    "changed_at TIMESTAMP)",
    "CREATE TABLE rm.revaluation (desk INTEGER, amount DECIMAL(10, 2), revalued_at TIMESTAMP)",
)


def block(text: str) -> str:
    """The block of the page that has a text."""
    blocks = re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)
    return dedent(next(each for each in blocks if text in each))


@pytest.fixture
def project(
    tmp_path: Path, engine: Engine, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A project with the files of the page, and a database with the queue."""
    files = {
        "legacy/processes.yaml": block("legacy/processes.yaml"),
        "legacy/polls.yaml": block("connection: opsdb\n"),
        "assets/risk/revaluation/defs.yaml": block("assets/risk/revaluation/defs.yaml"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with configured(monkeypatch, tmp_path, derby("opsdb")):
        execute(spark, *TABLES)
        yield tmp_path


def execute(spark: SparkSession, *statements: str) -> None:
    with opened(connection("opsdb"), lambda: spark) as database:
        database.execute(*statements)


def external(project: Path) -> list[ExternalPlan]:
    loaded = load(project, known())
    assert [*loaded.problems, *check_legacy(project)] == []
    return [plan for plan in loaded.plans if isinstance(plan, ExternalPlan)]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_requests_are_runs_and_the_table_that_they_write_is_a_dataset(
    project: Path, engine: Engine, spark: SparkSession
) -> None:
    assert scan(engine, [project / "legacy" / "processes.yaml"], by="test").findings == ()
    execute(
        spark,
        "INSERT INTO rm.revaluation VALUES (7, 12.50, TIMESTAMP('2026-11-16 02:30:00'))",
        "INSERT INTO rm.request VALUES (1, 'RM.REVAL', 'COMPLETE', 'NIGHTLY', 'desk=7', "
        "TIMESTAMP('2026-11-16 02:05:00'), TIMESTAMP('2026-11-16 02:40:00'), DATE('2026-11-13'), 'done', "
        "TIMESTAMP('2026-11-16 02:40:00'))",
        "INSERT INTO rm.request VALUES (2, 'RM.REVAL', 'ENTERED', 'ADHOC', '', NULL, NULL, NULL, '', "
        "TIMESTAMP('2026-11-16 02:50:00'))",
    )
    [poll] = load_polls(project).polls
    assert len(poll_once(dg.DagsterInstance.ephemeral(), poll).reports) == 1
    folder = folder_at(settings().completions_location)
    while any(Path(folder.location).glob("poll_*")):  # a file counts as complete after a second
        assert take_in(engine, folder, timedelta(minutes=1), patience=0).problems == []
        sleep(0.1)
    [run] = processes(engine)
    assert (run.key, run.run_state, run.run_ended) == ("RUNMGR/RM.REVAL", "SUCCESS", at("2026-11-16T07:40"))
    assert run.schedule == "at 02:00 America/New_York on business days of XNYS"

    observed = observe(engine, external(project))
    assert observed.problems == ()
    [version] = observed.new
    assert (version.dataset, version.row_count) == ("risk/revaluation", 1)
    assert version.metadata["observed"]["watermark"] == "2026-11-16 02:30:00"
    walk = process_lineage(engine, "RUNMGR/RM.REVAL")
    assert walk == ["risk/revaluation"]

    execute(spark, "INSERT INTO rm.revaluation VALUES (8, 1, TIMESTAMP('2026-11-17 02:30:00'))")
    [version] = observe(engine, external(project)).new
    assert version.row_count == 2


def process_lineage(engine: Engine, key: str) -> list[str]:
    """The datasets that a process writes."""
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT process_id FROM catalog.process WHERE process_key = %s", [key]
        ).fetchone()
    assert row is not None
    return list(process(engine, row["process_id"]).outputs)


def test_a_request_that_is_missing_is_the_cause_of_the_late_dataset(project: Path, engine: Engine) -> None:
    scan(engine, [project / "legacy" / "processes.yaml"], by="test")
    register(engine, [plan.record for plan in external(project)])
    evaluate(engine, at("2026-11-16T06:00"))
    evaluate(engine, at("2026-11-16T07:16"))  # 02:16 in New York
    late = {(each.key, each.kind.value) for each in sla_statuses(engine) if each.state is SlaStatus.LATE}
    assert late == {("RUNMGR/RM.REVAL", "START")}
    evaluate(engine, at("2026-11-16T10:01"))  # 05:01
    late = {(each.key, each.kind.value) for each in sla_statuses(engine) if each.state is SlaStatus.LATE}
    assert ("risk/revaluation", "DELIVERY") in late
    [incident] = incidents(engine)
    assert incident.cause == "RUNMGR/RM.REVAL"
    assert {member.key for member in incident.members} == {"RUNMGR/RM.REVAL", "risk/revaluation"}
