"""Which process a report means that names no technology, or a key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.errors import DecisionRefused
from headrace.estates.adoption import adopt
from headrace.estates.estates import scan
from headrace.job_reports.completions.parsing import read_completions
from headrace.job_reports.ingestion import ingest_each
from headrace.queries.processes import processes

PROCESSES = """
- name: RM.NIGHTLY_REVAL
  technology: run_management
- name: RISK.SP_LOAD
  technology: db2_procedure
- name: TWICE
  technology: db2_procedure
- name: TWICE
  technology: shell
- name: BOTH
  technology: shell
"""
JOBS = "insert_job: NIGHT  job_type: BOX\n\ninsert_job: BOTH  job_type: CMD\nbox_name: NIGHT\ncommand: x\n"


@pytest.fixture
def scanned(engine: Engine, tmp_path: Path) -> Engine:
    (tmp_path / "processes.yaml").write_text(PROCESSES)
    (tmp_path / "jobs.jil").write_text(JOBS)
    scan(engine, [tmp_path / "processes.yaml"])
    scan(engine, [tmp_path / "jobs.jil"], instance="PRD")
    return engine


def report(engine: Engine, **fields: Any) -> list[str]:
    """Report a run; returns why it was refused."""
    body = json.dumps({"status": "SUCCESS", **fields}).encode()
    read = read_completions(body, "feed.json", name="feed.json", at=datetime.now(UTC))
    _, refused = ingest_each(engine, read.events)
    return [*map(str, read.errors), *(why for _, why in refused)]


def ran(engine: Engine) -> Sequence[str]:
    """The processes that have a run."""
    return [row.key for row in processes(engine) if row.run_state]


@pytest.mark.parametrize(
    ("fields", "process"),
    [
        ({"process": "RM.NIGHTLY_REVAL"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "RM.NIGHTLY_REVAL", "instance": "PRD"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "RM.NIGHTLY_REVAL", "technology": "run_management"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "RM.NIGHTLY_REVAL", "technology": "RUNMGR"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "RUNMGR/RM.NIGHTLY_REVAL"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "run_management/RM.NIGHTLY_REVAL"}, "RUNMGR/RM.NIGHTLY_REVAL"),
        ({"process": "RISK.SP_LOAD"}, "DB2_SP/RISK.SP_LOAD"),
        ({"process": "RISK.SP_LOAD", "technology": "DB2_procedure"}, "DB2_SP/RISK.SP_LOAD"),
        ({"process": "DB2_SP/TWICE"}, "DB2_SP/TWICE"),
        ({"process": "TWICE", "technology": "shell"}, "SHELL/TWICE"),
        ({"process": "BOTH"}, "AUTOSYS/PRD/NIGHT/BOTH"),
        ({"process": "BOTH", "instance": "PRD"}, "AUTOSYS/PRD/NIGHT/BOTH"),
        ({"process": "AUTOSYS/PRD/NIGHT/BOTH"}, "AUTOSYS/PRD/NIGHT/BOTH"),
        ({"process": "SHELL/BOTH"}, "SHELL/BOTH"),
        ({"process": "NIGHT"}, "AUTOSYS/PRD/NIGHT"),
        ({"process": "UNKNOWN_JOB"}, "AUTOSYS/UNKNOWN_JOB"),
        ({"process": "RUNMGR/NEW"}, "RUNMGR/NEW"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_name_or_key_is_the_scanned_process(
    scanned: Engine, fields: dict[str, object], process: str
) -> None:
    assert report(scanned, run="77", **fields) == []
    assert ran(scanned) == [process]


def test_name_key_and_technology_report_the_same_run(scanned: Engine) -> None:
    for fields in (
        {"process": "RM.NIGHTLY_REVAL"},
        {"process": "RUNMGR/RM.NIGHTLY_REVAL"},
        {"process": "RM.NIGHTLY_REVAL", "technology": "run_management"},
    ):
        report(scanned, run="77", **fields)
    with scanned.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM catalog.process_run").scalar() == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"process": "TWICE"}, "several processes are named TWICE: DB2_SP/TWICE, SHELL/TWICE"),
        ({"process": "AUTOSYS/PRD/DAY/BOTH"}, "no process has the key AUTOSYS/PRD/DAY/BOTH"),
        ({"process": "NIGHT/BOTH"}, "'NIGHT/BOTH' is neither a name nor a key, such as RUNMGR/NAME"),
        (
            {"process": "RUNMGR/RM.NIGHTLY_REVAL", "technology": "shell"},
            "technology SHELL is not that of the key RUNMGR/RM.NIGHTLY_REVAL",
        ),
        ({"process": "X", "technology": "runmanager"}, "'runmanager' is not a technology; use one of db2_procedure"),
        ({"process": "SPARK/mart/sales"}, "Spark runs are recorded by Headrace itself"),
    ],
)  # fmt: skip
def test_an_unclear_process_is_refused_with_the_reason(
    scanned: Engine, fields: dict[str, object], message: str
) -> None:
    [problem] = report(scanned, run="77", **fields)
    assert message in problem
    assert ran(scanned) == []


def test_a_job_that_moved_to_run_management_is_reported_there(scanned: Engine, tmp_path: Path) -> None:
    (tmp_path / "moved.yaml").write_text("- name: BOTH\n  technology: run_management\n")
    (tmp_path / "processes.yaml").write_text("- name: OTHER\n  technology: shell\n")
    (tmp_path / "jobs.jil").write_text("insert_job: NIGHT  job_type: BOX\n")
    scan(scanned, [tmp_path / "jobs.jil"], instance="PRD", allow_mass_retirement=True)
    scan(scanned, [tmp_path / "processes.yaml", tmp_path / "moved.yaml"], allow_mass_retirement=True)
    assert report(scanned, process="BOTH", run="77") == []
    assert ran(scanned) == ["RUNMGR/BOTH"]


def test_the_unclear_report_does_not_affect_the_others(scanned: Engine) -> None:
    body = json.dumps([{"process": name, "status": "SUCCESS", "run": "1"} for name in ("TWICE", "NIGHT")])
    read = read_completions(body.encode(), "feed.json", name="feed.json", at=datetime.now(UTC))
    ingested, refused = ingest_each(scanned, read.events)
    assert (ingested.new, [event.process for event, _ in refused]) == (1, ["TWICE"])


def test_an_unscanned_job_with_the_name_of_a_scanned_process_is_not_adopted(
    engine: Engine, tmp_path: Path
) -> None:
    report(engine, process="RM.NIGHTLY_REVAL", run="1")
    (tmp_path / "processes.yaml").write_text(PROCESSES)
    scan(engine, [tmp_path / "processes.yaml"])
    with pytest.raises(DecisionRefused, match=r"RUNMGR/RM\.NIGHTLY_REVAL has the name of AUTOSYS/RM"):
        adopt(engine, "RM.NIGHTLY_REVAL", box=None, owners=None, by="ann")
