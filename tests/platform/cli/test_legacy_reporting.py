"""The commands for reports of jobs, and for notifications to jobs."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

import definitions
from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import Ending, RunEvent
from headrace.declarations.loading.project import load, records
from headrace.job_reports.ingestion import ingest
from headrace.registration.declarations import register
from tests.platform.cli.conftest import Invoke, put
from tests.platform.projects import write_project

Ask = Callable[..., Any]
DECLARED = """
type: headrace.Dataset
attributes:
  key: shop/daily
  sql: SELECT 1 AS id
  partitions: {type: daily, start: "2013-01-01"}
  notify:
    - flag_file: FOLDER/{partition}.done
---
type: headrace.Dataset
attributes:
  key: shop/quiet
  sql: SELECT 1 AS id
"""


TRIGGERED = """
type: headrace.Dataset
attributes:
  key: shop/daily
  sql: SELECT 1 AS id
  partitions: {type: daily, start: "2013-01-01"}
  trigger: {process: [LOAD, OTHER, NOBODY], when: all_inputs}
"""


@pytest.fixture
def flags(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that shop/daily, of which two days are published, writes its flags to."""
    folder = tmp_path / "flags"
    folder.mkdir()
    loaded = load(write_project(tmp_path, "shop", DECLARED.replace("FOLDER", str(folder))))
    assert not loaded.problems
    register(engine, *records(loaded.plans))
    monkeypatch.setattr(definitions, "loaded", loaded)
    for day in ("2013-01-01", "2013-01-02"):
        put(engine, "shop/daily", "t1", partition=day, checks=())
    return folder


def test_the_files_of_the_client_are_written_ready_to_run(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "headrace"
    for _ in range(2):
        done = invoke("legacy", "client", str(folder))
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines() == [
            str(folder / name) for name in ("headrace_client.py", "headrace.sh", "headrace-run")
        ]
    assert all(os.access(file, os.X_OK) for file in folder.iterdir())
    assert len(list(folder.iterdir())) == 3
    text = json.loads(invoke("legacy", "client", str(folder), "--json").stdout)
    assert text["files"][0] == str(folder / "headrace_client.py")


def test_an_unwritable_folder_is_reported(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = invoke("legacy", "client", str(tmp_path / "file" / "x"))
    assert done.exit_code == 1
    assert "cannot be written to: Not a directory" in done.stderr


def test_notifications_are_repeated(invoke: Invoke, flags: Path) -> None:
    done = invoke("legacy", "notify", "shop/daily", "--partition", "2013-01-02")
    assert done.stdout == f"notified {flags}/2013-01-02.done\n"
    assert json.loads(invoke("legacy", "notify", "shop/daily", "--json").stdout)["not_notified"] == []
    assert {flag.name for flag in flags.iterdir()} == {"2013-01-01.done", "2013-01-02.done"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shop/quiet"], "shop/quiet has no notifications: assets/shop/defs.yaml:10 has no `notify`"),
        (["shop/missing"], "shop/missing is not declared"),
        (["shop/daily", "-p", "2013-01-03"], "shop/daily has no published version, partition 2013-01-03"),
    ],
)
def test_failed_notifications_are_reported(
    invoke: Invoke, flags: Path, words: list[str], message: str
) -> None:
    done = invoke("legacy", "notify", *words)
    assert done.exit_code == 1
    assert message in done.stderr


def test_a_notice_that_fails_is_a_failure(
    invoke: Invoke, flags: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.execution.notices.sleep", lambda _: None)
    flags.rmdir()
    done = invoke("legacy", "notify", "shop/daily", "-p", "2013-01-01")
    assert done.exit_code == 1
    assert "2013-01-01.done: it cannot be written: No such file or directory" in done.stderr


def test_a_taken_port_is_reported(invoke: Invoke, engine: Engine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = invoke("serve", "--port", str(other.getsockname()[1]))
    assert done.exit_code == 1
    assert "is not available. Choose a free one with --port." in done.stderr


def test_what_waits_for_which_job_is_listed(
    invoke: Invoke, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(write_project(tmp_path, "shop", TRIGGERED))
    monkeypatch.setattr(definitions, "loaded", loaded)
    ingest(
        engine,
        [
            RunEvent(
                Technology.AUTOSYS,
                process,
                RunState.SUCCESS,
                "SU",
                datetime(2013, 2, 1, 4, 15, tzinfo=UTC),
                f"key/{run}",
                run=run,
                ending=Ending.GENUINE,
                partition=day,
            )
            for run, process, day in (("1", "LOAD", "20130131"), ("2", "OTHER", "2099-01-01"))
        ],
    )
    table = " ".join(invoke("legacy", "triggers").stdout.split())
    assert "shop/daily LOAD, and its inputs 1 2013-02-01 04:15:00Z 2013-01-31" in table
    assert "OTHER, and its inputs 2 2013-02-01 04:15:00Z 2099-01-01 is in none of its partitions" in table
    assert "NOBODY, and its inputs unknown process" in table
    [first, *_] = json.loads(invoke("legacy", "triggers", "--json").stdout)["triggers"]
    assert (first["process"], first["partition"], first["known"]) == ("LOAD", "2013-01-31", True)


def test_no_triggers_are_reported_as_such(invoke: Invoke, flags: Path) -> None:
    assert invoke("legacy", "triggers").stdout.startswith("No dataset is triggered by a job")


def test_mean_run_times_predict_when_a_job_finishes(engine: Engine, ask: Ask, tmp_path: Path) -> None:
    estate = tmp_path / "jobs.jil"
    estate.write_text(
        'insert_job: LOAD\ndate_conditions: 1\ndays_of_week: all\nstart_times: "04:00"\n'
        "insert_job: CHECK\ncondition: s(LOAD)\n"
    )
    words = ("legacy", "expected", "LOAD", str(estate), "--after", "2026-12-01T00:00")
    assert ask(*words)["finish"] is None
    now = datetime.now(UTC)
    for run, minutes in (("1", 10), ("2", 20)):
        for state, at in (
            (RunState.QUEUED, now - timedelta(minutes=50)),  # in its box, waiting for others
            (RunState.RUNNING, now - timedelta(minutes=minutes)),
            (RunState.SUCCESS, now),
        ):
            ending = Ending.GENUINE if state is RunState.SUCCESS else None
            ingest(
                engine,
                [
                    RunEvent(
                        Technology.AUTOSYS,
                        "LOAD",
                        state,
                        str(state),
                        at,
                        f"{run}/{state}",
                        run=run,
                        ending=ending,
                    )
                ],
            )
    assert ask(*words, "--runtimes")["finish"] == "2026-12-01T04:15:00Z"
    words = ("legacy", "expected", "CHECK", str(estate), "--after", "2026-12-01T00:00")
    assert ask(*words, "--runtimes")["at"] == "2026-12-01T04:15:00Z"
    assert ask(*words, "--runtimes", "--instance", "PRD")["at"] is None
