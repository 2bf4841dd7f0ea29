"""`headrace legacy ingest`, `follow`, `quarantine`, and `headrace why` for an external run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.database.ids import external_run_id
from headrace.orchestration.completions.folder import LocalFolder
from headrace.orchestration.completions.intake import take_in
from headrace.settings import settings
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.events.run_events import contents
from tests.platform.job_reports.test_event_demon import night, status

RUN = {
    "process": "LOAD",
    "instance": "PRD",
    "run": "1620",
    "machine": "unxhost01",
    "log": "/logs/load.1620",
    "business_date": "2026-11-26",
}
EVENTS = [
    {**RUN, "status": "FAILURE", "at": "2026-11-26T22:10:00Z", "exit_code": 3, "reason": "no file"},
    {**RUN, "status": "RUNNING", "at": "2026-11-26T22:11:00Z", "attempt": 2},
    {**RUN, "status": "SUCCESS", "at": "2026-11-26T22:31:00Z", "attempt": 0},
]


@pytest.fixture
def feed(tmp_path: Path) -> Any:
    file = tmp_path / "feed.jsonl"
    file.write_text("\n".join(json.dumps(each) for each in EVENTS))
    return file


def test_ingesting_says_what_it_came_to(engine: Engine, invoke: Any, ask: Any, feed: Any) -> None:
    result = invoke("legacy", "ingest", str(feed))
    assert result.exit_code == 0, result.output
    assert "3 new, 0 already known" in result.stdout
    assert "AUTOSYS/PRD/LOAD" in result.stdout
    again = ask("legacy", "ingest", str(feed))
    assert (again["new"], again["repeated"], again["errors"]) == (0, 3, [])


def test_invalid_reports_are_rejected_by_line_and_others_stored(
    engine: Engine, invoke: Any, feed: Any
) -> None:
    feed.write_text(feed.read_text() + '\n{"process": "LOAD", "status": "SUCESS"}\n')
    result = invoke("legacy", "ingest", str(feed), "--json")
    assert result.exit_code == 1
    job_event = json.loads(result.stdout)
    assert job_event["new"] == 3
    assert (job_event["errors"][0]["line"], job_event["errors"][0]["attribute"]) == (4, "status")


def test_requested_measurements_are_made_and_failures_reported(
    engine: Engine, invoke: Any, feed: Any, tmp_path: Path
) -> None:
    (tmp_path / "raw.csv").write_text("a,b\n1,2\n3,4\n")
    outputs = [
        {"dataset": "ops/raw", "version": "1", "location": f"{tmp_path}/raw.csv", "format": "csv", "measure": True},
        {"dataset": "ops/lost", "version": "1", "location": f"{tmp_path}/lost.csv", "format": "csv", "measure": True},
    ]  # fmt: skip
    feed.write_text(json.dumps({**RUN, "status": "SUCCESS", "outputs": outputs}))
    result = invoke("legacy", "ingest", str(feed))
    assert result.exit_code == 0, result.output
    assert f"warning: {feed}:1: ops/lost was not measured: no file at {tmp_path}/lost.csv" in result.stderr
    assert {(row[0], row[4]) for row in contents(engine)["versions"]} == {("ops/raw", 2), ("ops/lost", None)}


def test_what_a_report_did_not_count_is_unknown_and_not_0(
    engine: Engine, invoke: Any, ask: Any, feed: Any
) -> None:
    feed.write_text(
        json.dumps({**RUN, "status": "SUCCESS", "outputs": [{"dataset": "ops/raw", "version": "1"}]})
    )
    ask("legacy", "ingest", str(feed))
    assert "an unknown number of rows, of unknown size" in invoke("show", "ops/raw").stdout
    (row,) = [
        line.split() for line in invoke("versions", "ops/raw").stdout.splitlines() if "PUBLISHED" in line
    ]
    assert row[:5] == ["1", "-", "PUBLISHED", "-", "-"]
    (version,) = ask("versions", "ops/raw")["versions"]
    assert (version["version"]["row_count"], version["version"]["byte_size"]) == (None, None)


def test_a_log_whose_beginning_is_missing_is_taken_with_a_warning(
    engine: Engine, invoke: Any, tmp_path: Path
) -> None:
    log = tmp_path / "event_demon.ACE"
    log.write_text(status("01:00:00", "SUCCESS", "LONG", code=0) + "\n")
    result = invoke("legacy", "ingest", str(log))
    assert result.exit_code == 0, result.output
    assert "warning: 1 ended here without a known start" in result.stderr


def test_a_value_that_the_catalog_does_not_take_costs_itself_alone(
    engine: Engine, invoke: Any, feed: Any
) -> None:
    odd = "".join(chr(0x10000 + number**5 % 0x90001) for number in range(500))
    output = {"dataset": "ops/odd", "version": odd, "partition": odd[::-1]}
    feed.write_text(feed.read_text() + "\n" + json.dumps({**RUN, "status": "SU", "outputs": [output]}))
    result = invoke("legacy", "ingest", str(feed), "--json")
    assert result.exit_code == 1
    job_event = json.loads(result.stdout)
    assert (job_event["new"], job_event["errors"][0]["line"], job_event["errors"][0]["rule"]) == (
        3,
        4,
        "event/value",
    )


def test_history_and_zone_and_instance(engine: Engine, ask: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text(
        "Job Name    Last Start           Last End             ST/Ex Run/Ntry Pri/Xit\n"
        "LOAD        07/04/2026 01:00:00  07/04/2026 01:05:00  SU    41/1     0\n"
    )
    ask("legacy", "ingest", str(report), "--zone", "America/New_York", "--instance", "ACE", "--historical")
    (run,) = contents(engine)["runs"]
    assert (run[0], run[4].hour, run[9]) == ("AUTOSYS/ACE/LOAD", 5, True)


def test_why_explains_a_run_elsewhere(engine: Engine, invoke: Any, ask: Any, feed: Any) -> None:
    ask("legacy", "ingest", str(feed))
    run_id = str(external_run_id("AUTOSYS", "PRD", "LOAD", "1620"))
    result = invoke("why", run_id[:8])
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "run number there 1620" in words
    assert "by hand SUCCESS" in words
    assert "FORCED" in words
    assert "1 FAILED 2026-11-26 22:10:00Z 2026-11-26 22:10:00Z GENUINE 3 unxhost01 no file" in words
    assert "log of attempt 1: /logs/load.1620" in words
    (run,) = ask("why", run_id)["runs"]
    assert [(each["number"], each["exit_code"], each["ending"]) for each in run["attempts"]] == [
        (0, None, "FORCED"),
        (1, 3, "GENUINE"),
        (2, None, None),
    ]
    assert run["partitions"] == ["2026-11-26"]


def test_what_is_in_quarantine_is_listed_and_put_back(engine: Engine, invoke: Any, ask: Any) -> None:
    assert "No files are in quarantine." in invoke("legacy", "quarantine").stdout
    folder = LocalFolder(settings().home / "completions")
    bad = settings().home / "completions" / "bad.json"
    bad.write_text('{"process": "LOAD", "status": "SUCESS"}')
    os.utime(bad, (time.time() - 60, time.time() - 60))
    take_in(engine, folder, timedelta(seconds=5))
    (listed,) = ask("legacy", "quarantine")["quarantined"]
    assert listed["name"] == "bad.json"
    assert "LOAD.status: unknown status 'SUCESS'" in listed["reason"]
    assert "bad.json" in invoke("legacy", "quarantine").stdout
    assert invoke("legacy", "quarantine", "--retry", "bad.json").exit_code == 0
    assert bad.exists()
    refused = invoke("legacy", "quarantine", "--retry", "bad.json")
    assert refused.exit_code == 1
    assert "bad.json is not in quarantine" in refused.stderr


@pytest.mark.slow
def test_following_until_it_is_interrupted(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(1))
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "legacy", "follow", str(log)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == f"Following {log}; Ctrl-C stops.\n"
        assert follower.stdout.readline() == "3 new events, 1 run\n"
        with log.open("a") as more:
            more.write(status("03:00:00", "RUNNING", "BOX", None) + "\n")
        assert follower.stdout.readline() == "1 new event, 1 run\n"
        follower.send_signal(signal.SIGINT)
        assert follower.wait(WAIT_SECONDS) == 0, follower.stderr
