"""`headrace simulate`: a night from files and from the catalog, what-ifs, and the comparison with what happened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord, RunState, Technology
from headrace.catalog.run_events import Ending, RunEvent
from headrace.declarations.loading.project import load, records
from headrace.job_reports.ingestion import ingest
from headrace.registration.declarations import register
from tests.platform.cli.conftest import Invoke
from tests.platform.projects import write_project

Ask = Callable[..., Any]
DATASETS = """
type: headrace.Dataset
attributes:
  key: shop/loaded
  sql: SELECT 1 AS id
  trigger: {process: LOAD}
  notify:
    - sendevent: {event: FORCE_STARTJOB, job: AFTER}
---
type: headrace.Dataset
attributes:
  key: shop/derived
  sql: SELECT * FROM loaded
  inputs: [shop/loaded]
  trigger: any_input
"""
JIL = """
insert_job: LOAD
date_conditions: 1
days_of_week: all
start_times: "20:00"
must_complete_times: "20:25"
insert_job: REPORT
condition: s(LOAD)
"""
LAST_NIGHT = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)
NIGHT = ("simulate", "--night", f"{LAST_NIGHT:%Y-%m-%d}")


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    file = tmp_path / "jobs.jil"
    file.write_text(JIL)
    return str(file)


@pytest.fixture
def past(engine: Engine, invoke: Invoke, jobs: str) -> Engine:
    """The catalog after a night in which LOAD took 20 minutes, and four in which it took 10 or, once, 30."""
    assert invoke("legacy", "scan", jobs).exit_code == 0
    register(
        engine, [DatasetRecord("lab/other", "csv", sla={"deadline": "0 6 * * *", "timezone": "UTC"})], []
    )
    for number, minutes in enumerate((20, 10, 10, 10, 30)):
        start = LAST_NIGHT + timedelta(hours=8) - timedelta(days=number)
        report(engine, "LOAD", number, start, minutes)
        report(engine, "REPORT", number, start + timedelta(minutes=minutes), 5)
    return engine


def report(engine: Engine, job: str, number: int, start: datetime, minutes: int) -> None:
    for state, at in ((RunState.RUNNING, start), (RunState.SUCCESS, start + timedelta(minutes=minutes))):
        ending = Ending.GENUINE if state is RunState.SUCCESS else None
        key = f"{job}/{number}/{state}"
        event = RunEvent(Technology.AUTOSYS, job, state, str(state), at, key, run=str(number), ending=ending)
        ingest(engine, [event])


def test_a_night_from_files_says_why_each_job_starts(invoke: Invoke, ask: Ask, jobs: str) -> None:
    message = " ".join(invoke(*NIGHT, jobs).stdout.split())
    assert "the clock: days_of_week, start_times" in message
    assert "s(LOAD): LOAD ends" in message
    assert "run time unknown LOAD, REPORT" in message
    assert [run["job"] for run in ask(*NIGHT, jobs)["runs"]] == ["LOAD", "REPORT"]
    explained = " ".join(invoke(*NIGHT, jobs, "--job", "REPORT").stdout.split())
    assert "critical path LOAD > REPORT" in explained


def test_a_night_of_the_catalog_takes_usual_run_times_and_has_probabilities(past: Engine, ask: Ask) -> None:
    found = ask(*NIGHT)
    load, sent = found["runs"]
    begin = LAST_NIGHT + timedelta(hours=8)
    assert [each["start"] for each in (load, sent)] == [
        f"{begin:%Y-%m-%dT%H:%M:%SZ}",
        f"{begin + timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}",
    ]
    [deadline] = found["deadlines"]
    assert (deadline["job"], deadline["is_missed"]) == ("LOAD", False)
    assert 0.05 < deadline["probability"] < 0.4


def test_a_change_is_shown_against_the_night_without_it(
    past: Engine, ask: Ask, invoke: Invoke, tmp_path: Path
) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text("- change: slower\n  job: LOAD\n  factor: 3\n")
    found = ask(*NIGHT, "--what-if", str(changes))
    assert [(each["job"], each["later_seconds"]) for each in found["differences"]] == [
        ("LOAD", 1200.0),
        ("REPORT", 1200.0),
    ]
    assert found["deadlines"][0]["is_missed"]
    assert "with changes: start" in invoke(*NIGHT, "--what-if", str(changes)).stdout


def test_the_plan_is_compared_with_what_happened(past: Engine, ask: Ask, invoke: Invoke) -> None:
    found = ask(*NIGHT, "--compare")
    assert [(each["job"], each["later_seconds"]) for each in found["actual"]] == [
        ("LOAD", 600.0),
        ("REPORT", 600.0),
    ]
    assert found["share_with_recorded_run_times"] == 1.0
    assert "with recorded run times 100% of runs" in " ".join(invoke(*NIGHT, "--compare").stdout.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [("- change: slower\n  job: LAOD\n  factor: 2\n", "changes.yaml:2: job: no job LAOD is in the estate")],
)
def test_a_wrong_change_is_refused_with_its_line(
    invoke: Invoke, jobs: str, tmp_path: Path, text: str, message: str
) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text(text)
    result = invoke(*NIGHT, jobs, "--what-if", str(changes))
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


def test_an_unknown_job_is_refused(invoke: Invoke, jobs: str) -> None:
    result = invoke(*NIGHT, jobs, "--job", "NONE")
    assert result.exit_code == 1
    assert "no job NONE is in the estate" in " ".join(result.stderr.split())


def test_a_job_that_does_not_start_says_why(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jil"
    file.write_text(
        JIL + 'insert_job: HOLIDAY\ndate_conditions: 1\nrun_calendar: MISSING\nstart_times: "20:00"\n'
    )
    message = " ".join(invoke(*NIGHT, str(file), "--job", "HOLIDAY").stdout.split())
    assert "does not run calendar MISSING is not among the exports" in message


def test_datasets_run_beside_the_jobs(past: Engine, ask: Ask, invoke: Invoke, tmp_path: Path) -> None:
    loaded = load(write_project(tmp_path, "shop", DATASETS))
    assert not loaded.problems
    register(past, *records(loaded.plans))
    after = tmp_path / "after.jil"
    after.write_text("insert_job: AFTER\n")
    assert invoke("legacy", "scan", str(tmp_path / "jobs.jil"), str(after)).exit_code == 0
    found = {run["job"]: run for run in ask(*NIGHT)["runs"]}
    assert set(found) == {"LOAD", "REPORT", "AFTER", "shop/loaded", "shop/derived"}
    assert found["AFTER"]["why"] == ["shop/loaded sends FORCE_STARTJOB"]
    assert found["shop/loaded"]["start"] == found["LOAD"]["end"]


LINE = "[11/26/2026 {0}]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: {1:<15} JOB: {2:<20} {3}\n"
LOG = "".join(
    LINE.format(*words)
    for words in (
        ("21:55:01", "RUNNING", "FIN_NIGHT_BOX", ""),
        ("21:55:02", "RUNNING", "FIN_WATCH_LEDGER", "MACHINE: unxhost01"),
        ("22:03:40", "SUCCESS", "FIN_WATCH_LEDGER", "MACHINE: unxhost01  EXITCODE:  0"),
        ("22:03:41", "RUNNING", "FIN_LOAD_LEDGER", "MACHINE: unxhost01"),
        ("22:31:09", "SUCCESS", "FIN_LOAD_LEDGER", "MACHINE: unxhost01  EXITCODE:  0"),
    )
)


def test_a_log_is_compared_with_the_plan(engine: Engine, ask: Ask, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "event_demon.ACE").write_text(LOG)
    samples = Path(__file__).parents[1] / "autosys" / "samples"
    assert invoke("legacy", "scan", str(samples / "night_batch.jil"), "--instance", "ACE").exit_code == 0
    zone = ("--zone", "Europe/London")
    ingested = invoke("legacy", "ingest", str(tmp_path / "event_demon.ACE"), "--instance", "ACE", *zone)
    assert ingested.exit_code == 0, ingested.output
    found = ask("simulate", "--night", "2026-11-26", "--instance", "ACE", *zone, "--compare")
    assert [(each["job"], each["later_seconds"]) for each in found["actual"]] == [
        ("FIN_NIGHT_BOX", None), ("FIN_WATCH_LEDGER", 520.0), ("FIN_LOAD_LEDGER", 2169.0),
    ]  # fmt: skip
    assert found["share_with_recorded_run_times"] == 1.0
    held = found["open_boxes"]["FIN_NIGHT_BOX"]
    assert (held["held_by"], held["why"][0]) == ("FIN_GL_PROC", "d(REF_CCY_RATES, 12.30): no such job")
