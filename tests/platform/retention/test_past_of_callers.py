"""Visibility of the archive: the caller's organisation, and processes of their domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.context import act_as
from headrace.database.connection import transaction
from headrace.errors import UnknownRun
from headrace.publishing.runs import attempt
from headrace.retention.archiving import archive
from headrace.retention.history import events, runs
from headrace.retention.run_reports import why as explain_run
from headrace.service.app import create_app
from headrace.settings import settings
from tests.platform.access.conftest import principal_of
from tests.platform.conftest import DATASETS, PROCESSES
from tests.platform.retention.archiving import later


@pytest.fixture
def old(catalog: Engine) -> dict[str, UUID]:
    """Runs of mart/delays and mart/report, failed and archived: each its older one, since the newest stays."""
    assert {process.key for process in PROCESSES} >= {"mart/delays", "mart/report"}
    assert {"raw/flights", "mart/delays", "mart/report"} <= {record.key for record in DATASETS}
    found: dict[str, UUID] = {}
    for process in ("mart/delays", "mart/report"):
        for _ in range(2):
            run_id = uuid4()
            with (
                pytest.raises(ValueError, match="ann@"),
                attempt(catalog, run_id=run_id, process_key=process),
            ):
                raise ValueError("ann@example.com")
            found.setdefault(process, run_id)
    archive(catalog, now=later())
    hidden = runs(catalog, archived=True)
    assert {run.run_id for run in hidden if run.location} == set(found.values())
    return found


def test_a_caller_with_one_domain_sees_the_archived_runs_of_its_processes(
    catalog: Engine, old: dict[str, UUID]
) -> None:
    everything = runs(catalog)
    with act_as(principal_of("default")):
        assert runs(catalog) == everything
    with act_as(principal_of("default", domains=frozenset({"raw"}))):
        seen = runs(catalog)  # mart/delays reads raw/flights
        assert {run.process_key for run in seen} == {"mart/delays"}
        assert {run.location is None for run in seen} == {True, False}
        assert runs(catalog, limit=1) == seen[:1]
        assert runs(catalog, process="mart/report") == []
        assert explain_run(catalog, old["mart/delays"])[0].attempts
        with pytest.raises(UnknownRun):
            explain_run(catalog, old["mart/report"])
        assert events(catalog) == []
    with act_as(principal_of("default", domains=frozenset({"crm"}))):
        assert runs(catalog) == []
    with act_as(principal_of("default", domains=frozenset(), datasets=frozenset({"mart/report"}))):
        assert {run.process_key for run in runs(catalog)} == {"mart/report"}


def test_a_caller_of_another_organisation_sees_nothing(catalog: Engine, old: dict[str, UUID]) -> None:
    for narrow in (None, frozenset({"mart"})):
        with act_as(principal_of("acme", domains=narrow)):
            assert runs(catalog) == []
            assert events(catalog) == []
            with pytest.raises(UnknownRun):
                explain_run(catalog, old["mart/delays"])


def test_an_archived_run_is_served_with_a_masked_failure(catalog: Engine, old: dict[str, UUID]) -> None:
    def ask(run: UUID, *permissions: Permission, domain: str) -> tuple[int, str]:
        token = issue_service_token(catalog, uuid4().hex, permissions, domain=domain, by="test")
        with TestClient(create_app(catalog), headers={"Authorization": f"Bearer {token}"}) as client:
            answer = client.get(f"/api/v1/run/{run}")
            return answer.status_code, answer.text

    reads, whole = Permission.READ, (Permission.READ, Permission.READ_SENSITIVE)
    status, text = ask(old["mart/delays"], reads, domain="mart")
    assert (status, "ann@example.com" in text, "***" in text) == (200, False, True)
    status, text = ask(old["mart/delays"], *whole, domain="mart")
    assert (status, "ann@example.com" in text) == (200, True)
    assert ask(old["mart/report"], *whole, domain="raw")[0] == 404
    with transaction(catalog) as cursor:
        [row] = cursor.execute("SELECT object FROM catalog.audit_entry WHERE action = 'READ'").fetchall()
    assert row["object"] == "mart/delays"


def test_the_runs_of_a_process_are_listed_with_those_that_are_archived(
    catalog: Engine, old: dict[str, UUID]
) -> None:
    def ask(**given: Any) -> tuple[list[str], str | None, str]:
        answer = client.get("/api/v1/process/mart/delays/runs", params=given)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        return [row["run_id"] for row in page["items"]], page["next"], answer.text

    token = issue_service_token(catalog, "reader", [Permission.READ], domain="mart", by="test")
    with TestClient(create_app(catalog), headers={"Authorization": f"Bearer {token}"}) as client:
        hot, _, _ = ask()
        every, _, text = ask(archived=True)
        first, cursor, _ = ask(archived=True, limit=1)
        second, last, _ = ask(archived=True, limit=1, cursor=cursor)
        none, _, _ = ask(archived=True, state="SUCCESS")
        other = client.get("/api/v1/process/mart/report/runs", params={"archived": True})
    assert every == [*hot, str(old["mart/delays"])] == [*first, *second]
    assert (last, none) == (None, [])
    assert "ann@example.com" not in text
    assert str(old["mart/delays"]) not in other.text


def test_an_unreadable_archive_is_a_server_error(
    catalog: Engine, old: dict[str, UUID], caplog: pytest.LogCaptureFixture
) -> None:
    place = Path(settings().archive_location)
    place.rename(place.with_name("elsewhere"))
    token = issue_service_token(catalog, "reader", [Permission.READ], by="test")
    with TestClient(create_app(catalog), headers={"Authorization": f"Bearer {token}"}) as client:
        for path in (f"run/{old['mart/delays']}", "process/mart/delays/runs?archived=true"):
            answer = client.get(f"/api/v1/{path}")
            assert answer.status_code == 503, answer.text
            assert "parquet" not in answer.text
    assert "is missing, and the catalog needs it" in caplog.text
