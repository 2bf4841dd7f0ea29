"""`headrace catalog`: preview, archiving, and searching the archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import Result

from headrace.catalog.records import RunState
from headrace.job_reports.ingestion import ingest
from headrace.retention.archiving import archive
from tests.platform.retention.test_archiving import deliver_all, nights

Invoke = Callable[..., Result]
Ask = Callable[..., Any]


@pytest.fixture
def old(engine: Engine) -> Engine:
    ingest(engine, [*nights("LOAD", 200, 199, 2), *nights("CHECK", 150, 1, state=RunState.FAILED)])
    deliver_all(engine)
    return engine


@pytest.mark.slow
def test_archive_says_first_what_it_does_then(old: Engine, invoke: Invoke, ask: Ask) -> None:
    foretold = invoke("catalog", "archive", "--dry-run")
    assert foretold.exit_code == 0, foretold.output
    assert "2026-05" in foretold.stdout
    assert "`headrace catalog archive` moves these to the archive" in foretold.stdout

    done = invoke("catalog", "archive")
    assert done.exit_code == 0, done.output
    assert "3 runs" in done.stdout
    assert "6 events" in done.stdout
    assert (
        "Nothing to archive: no finished runs or events are older than 90 days"
        in invoke("catalog", "archive", "--dry-run").stdout
    )
    assert ask("catalog", "archive")["archive"]["rows"] == {}


def test_runs_and_events_are_found_in_the_archive(old: Engine, invoke: Invoke, ask: Ask) -> None:
    archive(old)
    assert len(ask("catalog", "runs")["runs"]) == 2
    found = ask("catalog", "runs", "--archived")["runs"]
    assert [run["external_run"] for run in found] == ["1", "2", "150", "199", "200"]
    assert [run["location"] is None for run in found] == [True, True, False, False, False]
    (failed,) = ask("catalog", "runs", "--archived", "--state", "failed", "--until", "2026-08-01")["runs"]
    assert failed["process_key"] == "AUTOSYS/CHECK"
    found = ask("catalog", "events", "--archived", "--run", failed["run_id"], "--type", "fail")["events"]
    assert [event["payload"]["eventType"] for event in found] == ["FAIL"]

    shown = invoke("catalog", "runs", "--archived", "--process", "AUTOSYS/LOAD").stdout
    assert (shown.count("archive"), shown.count("database")) == (2, 1)
    assert "AUTOSYS/CHECK" in invoke("catalog", "events", "--archived").stdout
    assert "FAILED" in invoke("why", failed["run_id"]).stdout


def test_what_is_not_found_says_where_else_to_look(old: Engine, invoke: Invoke) -> None:
    assert "--archived searches the archive too" in invoke("catalog", "runs", "--state", "LOST").stdout
    assert "--archived searches the archive too" in invoke("catalog", "events", "--type", "LOST").stdout
    assert invoke("catalog", "runs", "--state", "LOST", "--archived").stdout == "No matching run.\n"


def test_what_is_no_state_is_refused(old: Engine, invoke: Invoke) -> None:
    result = invoke("catalog", "runs", "--state", "LATE")
    assert result.exit_code == 2
    assert "'LATE' is not a run status; use one of RUNNING, SUCCESS" in result.stderr
