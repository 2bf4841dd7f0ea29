"""The environment that a run passes to child processes, and what they can do with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from sqlalchemy import Engine

from headrace.access.authentication import caller_of
from headrace.access.tokens import TASK_GRACE
from headrace.database.connection import transaction
from headrace.execution import run_tokens
from headrace.service.app import create_app
from headrace.settings import settings
from headrace.spark import openlineage as reporting
from headrace.spark.session import SparkResource
from tests.platform.projects import load_project, write_project
from tests.platform.service.serving import served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEOPLE = """
type: headrace.Dataset
attributes: {key: shop/numbers, sql: SELECT id FROM range(3)}
---
type: headrace.Dataset
attributes: {key: shop/reported, python: 'reporting.py:report', inputs: [numbers]}
"""
# A transform that reports by an unmodified OpenLineage client, as its run, and as what it is not.
REPORTING = """
import os
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState


def report(numbers):
    def emit(run, output):
        OpenLineageClient().emit(
            RunEvent(
                eventType=RunState.RUNNING,
                eventTime="2026-11-28T12:00:00Z",
                run=Run(runId=run),
                job=Job(namespace="spark", name="app"),
                outputs=[OutputDataset(namespace="headrace://default", name=output)],
            )
        )

    own = os.environ["HEADRACE_RUN_ID"]
    emit(own, "shop/reported")
    refused = 0
    for run, output in ((own, "shop/numbers"), ("0190b5c0-0000-7000-8000-000000000000", "shop/reported")):
        try:
            emit(run, output)
        except Exception as error:
            refused += "403" in str(error)
    assert refused == 2
    return numbers
"""


@pytest.fixture
def url(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with served(create_app(engine)) as address:
        monkeypatch.setenv("HEADRACE_SERVICE_URL", address)
        for name in [name for name in os.environ if name.startswith("OPENLINEAGE_")]:
            monkeypatch.delenv(name)
        settings.cache_clear()
        yield address


@pytest.mark.usefixtures("spark")
def test_a_transform_reports_as_its_run_and_as_no_other(tmp_path: Path, engine: Engine, url: str) -> None:
    before = dict(os.environ)
    project = load_project(write_project(tmp_path, "shop", PEOPLE, reporting_py=REPORTING), engine)
    (result,) = project.materialize()
    assert result.success
    assert dict(os.environ) == before
    with transaction(engine) as cursor:
        reported = cursor.execute(
            "SELECT run_id, reported_by FROM catalog.run_event WHERE reported_by LIKE 'task:%%'"
        ).fetchall()
        runs = cursor.execute(
            "SELECT run_id, outputs, inputs, expires_at - now() AS left FROM catalog.task_token ORDER BY issued_at"
        ).fetchall()
    assert [(row["outputs"], row["inputs"]) for row in runs] == [
        (["shop/numbers"], []),
        (["shop/reported"], ["shop/numbers"]),
    ]
    assert [(row["run_id"], row["reported_by"]) for row in reported] == [
        (runs[1]["run_id"], f"task:{runs[1]['run_id']}")
    ]
    assert all(row["left"] <= TASK_GRACE for row in runs)


@pytest.mark.usefixtures("spark")
def test_the_token_is_renewed_while_the_run_lives(
    tmp_path: Path, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tokens, "_RENEWED", 0.05)
    renewed: list[bool] = []
    real = run_tokens.renew_task_token  # type: ignore[attr-defined]
    monkeypatch.setattr(
        run_tokens,
        "renew_task_token",
        lambda *given: renewed.append(real(*given)) or renewed[-1],  # type: ignore[func-returns-value]
    )
    project = load_project(write_project(tmp_path, "shop", PEOPLE.partition("---")[0]), engine)
    (result,) = project.materialize()
    assert result.success
    assert renewed
    assert all(renewed)


def test_what_a_run_starts_has_its_token_and_nothing_has_it_later(
    tmp_path: Path, engine: Engine, url: str
) -> None:
    project = load_project(write_project(tmp_path, "shop", PEOPLE.partition("---")[0]), engine)
    run_id = UUID(int=7)
    with run_tokens.run_environment(engine, project.plans[0], run_id):
        token = subprocess.run(
            [sys.executable, "-c", "import os; print(os.environ['HEADRACE_TOKEN'], end='')"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert caller_of(engine, None, token).capability.run_id == run_id
        os.environ["OPENLINEAGE__TRANSPORT__AUTH"] = token  # as OpenLineage's client does for itself
        assert os.environ["OPENLINEAGE_URL"] == url
    assert token not in os.environ.values()
    assert os.environ["HEADRACE_SERVICE_URL"] == url
    assert "HEADRACE_URL" not in os.environ


def test_an_openlineage_that_is_set_up_is_left_alone(
    tmp_path: Path, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "https://other.example.com")
    project = load_project(write_project(tmp_path, "shop", PEOPLE.partition("---")[0]), engine)
    with run_tokens.run_environment(engine, project.plans[0], UUID(int=7)):
        assert os.environ["OPENLINEAGE_URL"] == "https://other.example.com"
        assert "OPENLINEAGE_API_KEY" not in os.environ
    assert os.environ["OPENLINEAGE_URL"] == "https://other.example.com"


LISTENER = {"spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener"}


def test_openlineages_listener_is_set_up_with_the_token_of_the_run(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reporting.listener_conf(LISTENER) == {}
    for name, value in (
        (reporting.TOKEN, "hrt_x"),
        (reporting.RUN_ID, "7"),
        (reporting.PROCESS, "shop/numbers"),
        (reporting.SERVICE_URL, "http://127.0.0.1:3200"),
    ):
        monkeypatch.setenv(name, value)
    assert reporting.listener_conf({}) == {}
    assert reporting.listener_conf({**LISTENER, "spark.openlineage.transport.type": "kafka"}) == {}
    conf = reporting.listener_conf(LISTENER)
    assert conf["spark.openlineage.transport.auth.apiKey"] == "hrt_x"
    assert conf["spark.openlineage.parentRunId"] == "7"
    assert conf["spark.openlineage.parentJobNamespace"] == "headrace://default"


def test_a_session_with_the_token_of_another_run_is_not_used(
    spark: SparkSession, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "spark.openlineage.transport.auth.apiKey"

    class Session:
        _jsparkSession = None

        def __init__(self, token: str | None) -> None:
            self.conf = {key: token} if token else {}

    def _another(token: str | None, conf: dict[str, str] = LISTENER) -> bool:
        return reporting.is_of_another_run(Session(token), conf)  # type: ignore[arg-type]

    monkeypatch.setenv(reporting.TOKEN, "hrt_new")
    assert not _another("hrt_old", {})
    assert not _another(None)
    assert not _another("hrt_new")
    assert not _another("a key of somebody's own")
    assert _another("hrt_old")
    assert SparkResource().session is not None  # this one has no listener, and continues
