"""Loading files, and following a log that grows."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.database.ids import external_run_id
from headrace.orchestration.ingestion import follow, load, position_of
from headrace.retention.run_reports import why as explain_run
from headrace.severity import Severity
from tests.paths import WAIT_SECONDS
from tests.platform.events.run_events import contents, wipe
from tests.platform.job_reports.test_event_demon import connected, night, status

REPORT = """\
Job Name                     Last Start           Last End             ST/Ex Run/Ntry Pri/Xit
____________________________ ____________________ ____________________ _____ ________ _______
REPORTED                     03/04/2026 21:55:01  03/04/2026 22:41:17  SU    711/1    0
"""


@pytest.fixture
def files(tmp_path: Path) -> Any:
    feed = tmp_path / "feed.jsonl"
    feed.write_text(json.dumps({"process": "FED", "status": "SUCCESS", "run": "1"}) + "\n{\n")
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2))
    report = tmp_path / "report.txt"
    report.write_text(REPORT)
    return [feed, log, report]


def test_what_a_file_is_shows_its_content_and_loading_it_again_changes_nothing(
    engine: Engine, files: Any
) -> None:
    loaded = load(engine, files, instance=None)
    assert (loaded.files, loaded.ingested.new) == (3, 1 + 6 + 1)
    assert [f"{error.file}:{error.line}" for error in loaded.errors] == [f"{files[0]}:2"]
    runs = {(row[0], row[5], row[9]) for row in contents(engine)["runs"]}
    assert runs == {
        ("AUTOSYS/FED", "SUCCESS", False),
        ("AUTOSYS/ACE/JOB0", "SUCCESS", False),
        ("AUTOSYS/ACE/JOB1", "SUCCESS", False),
        ("AUTOSYS/REPORTED", "SUCCESS", True),
    }
    assert [row[0] for row in contents(engine)["to tell"]] == [
        "AUTOSYS/ACE/JOB0",
        "AUTOSYS/ACE/JOB1",
        "AUTOSYS/FED",
    ]
    before = contents(engine)
    assert load(engine, files).ingested.new == 0
    assert contents(engine) == before


def test_history_triggers_nothing(engine: Engine, files: Any) -> None:
    load(engine, files, historical=True)
    assert contents(engine)["to tell"] == []
    assert {row[9] for row in contents(engine)["runs"]} == {True}


def test_a_job_over_midnight_is_one_run_in_whatever_order_its_logs_are_given(
    engine: Engine, tmp_path: Path
) -> None:
    first, second = tmp_path / "event_demon.X.10202026", tmp_path / "event_demon.X.10212026"
    first.write_text(
        status("23:50:00", "STARTING", "LONG", day="10/20/2026") + "\n"
        + connected("23:50:01", "LONG", "7.99.1", day="10/20/2026") + "\n"
    )  # fmt: skip
    second.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="10/21/2026") + "\n")
    progress: list[Any] = []
    loaded = load(engine, [second, first], on_progress=progress.append)
    assert (loaded.files, loaded.ingested.new) == (2, 2)
    assert progress == [f"ingesting {first} (1 of 2)", f"ingesting {second} (2 of 2)"]
    ((process, state),) = [(row[0], row[5]) for row in contents(engine)["runs"]]
    assert (process, state) == ("AUTOSYS/X/LONG", "SUCCESS")
    (run,) = explain_run(engine, external_run_id("AUTOSYS", "X", "LONG", "99"))
    assert run.state is RunState.SUCCESS


def midnight(tmp_path: Path) -> Any:
    """Two logs: three jobs and a box are running at the end of the first, as far as it shows."""
    first, second = tmp_path / "event_demon.X.10202026", tmp_path / "event_demon.X.10212026"
    lines = [status("23:00:00", "RUNNING", "BOX", None, day="10/20/2026")]
    for number, job in enumerate(("LONG", "FORCED", "STALE"), 97):
        lines.append(status("23:50:00", "STARTING", job, day="10/20/2026"))
        lines.append(connected("23:50:01", job, f"7.{number}.1", day="10/20/2026"))
        lines.append(status("23:50:02", "RUNNING", job, day="10/20/2026"))
    first.write_text("\n".join(lines) + "\n")
    lines = [
        status("00:10:00", "FAILURE", "LONG", code=3),
        status("00:10:30", "RESTART", "LONG", None),
        status("00:11:00", "STARTING", "LONG"),
        connected("00:11:01", "LONG", "7.97.2"),
        status("00:20:00", "SUCCESS", "LONG", code=0),
        status("00:21:00", "SUCCESS", "FORCED", None),
        status("00:22:00", "STARTING", "STALE"),
        connected("00:22:01", "STALE", "7.100.1"),
        status("00:23:00", "SUCCESS", "STALE", code=0),
        status("00:30:00", "SUCCESS", "BOX", None),
    ]
    second.write_text("\n".join(lines).replace("03/04/2026", "10/21/2026") + "\n")
    return first, second


def test_logs_loaded_one_by_one_come_to_the_same_as_together_and_loading_them_again_changes_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    first, second = midnight(tmp_path)
    load(engine, [first, second])
    together = contents(engine)
    wipe(engine)
    for log in (first, second):
        assert load(engine, [log]).errors == []
    assert contents(engine) == together
    for log in (first, second, second):
        assert load(engine, [log]).ingested.new == 0
    assert contents(engine) == together
    runs = {(row[0].rpartition("/")[2], row[1][:3], row[5], row[6]) for row in together["runs"]}
    assert runs == {
        ("BOX", "@20", "SUCCESS", 1),
        ("LONG", "97", "SUCCESS", 2),
        ("FORCED", "98", "SUCCESS", 0),
        ("STALE", "99", "RUNNING", 1),
        ("STALE", "100", "SUCCESS", 1),
    }


def test_a_log_continues_runs_reported_by_other_sources(engine: Engine, tmp_path: Path) -> None:
    wrapper = {
        "process": "LONG",
        "instance": "X",
        "run": "97",
        "status": "RUNNING",
        "at": "2026-10-20T23:50:02Z",
    }
    (tmp_path / "start.json").write_text(json.dumps(wrapper))
    log = tmp_path / "event_demon.X"
    log.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="10/21/2026") + "\n")
    assert load(engine, [tmp_path / "start.json"]).errors == []
    assert load(engine, [log]).errors == []
    ((number, state),) = [(row[1], row[5]) for row in contents(engine)["runs"]]
    assert (number, state) == ("97", "SUCCESS")


def test_an_unknown_start_of_a_run_is_shown(engine: Engine, tmp_path: Path) -> None:
    _, second = midnight(tmp_path)
    (warning,) = load(engine, [second]).errors
    assert warning.severity is Severity.WARNING
    assert "3 ended here without a known start, so each end is a separate run" in str(warning)
    assert "LONG, FORCED, BOX" in str(warning)
    (run,) = explain_run(engine, external_run_id("AUTOSYS", "X", "BOX", "@2026-10-21T00:30:00Z"))
    assert run.attempts[0].reason == "when it began is not known"


def test_archived_runs_join_what_logs_say_of_them(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "event_demon.X"
    log.write_text(
        status("01:00:00", "STARTING", "LOAD") + "\n" + connected("01:00:01", "LOAD", "5.97.1") + "\n"
    )
    archive = tmp_path / "archived_job_runs.X.03.05.2026.04.00.00"
    end = int(datetime(2026, 3, 4, 1, 10, tzinfo=UTC).timestamp())
    archive.write_text(f"5,97,1,1,{end},,,3278,0,-1,hostA,600,{end - 600},4,,,0,,1,W,1,1,0\n")
    (error,) = load(engine, [archive]).errors
    assert "the jobs of the numbers 5 are not named" in str(error)
    assert load(engine, [archive, log]).errors == []
    ((process, number, state),) = [(row[0], row[1], row[5]) for row in contents(engine)["runs"]]
    assert (process, number, state) == ("AUTOSYS/X/LOAD", "97", "SUCCESS")
    assert contents(engine)["to tell"] == []


def followed(engine: Engine, log: Any, until: Any) -> Any:
    """Follow the log until so many events are there."""
    stop = threading.Event()
    worker = threading.Thread(
        target=follow, args=(engine, log), kwargs={"zone": UTC, "stop": stop, "seconds": 0.05}
    )
    worker.start()
    deadline = time.monotonic() + 20
    while len(contents(engine)["raw"]) < until and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    worker.join(WAIT_SECONDS)
    assert not worker.is_alive()
    return len(contents(engine)["raw"])


def test_a_log_is_followed_from_where_it_was_left_and_over_midnight(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2) + status("00:10:00", "STARTING", "LONG") + "\n")
    assert followed(engine, log, 6) == 6
    assert json.loads(position_of(log).read_text())["line"] == 9
    with log.open("a") as more:
        more.write(connected("00:10:01", "LONG", "7.99.1") + "\n")
    log.rename(tmp_path / "event_demon.ACE.03042026")
    log.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="03/05/2026") + "\n")
    assert followed(engine, log, 8) == 8
    (run,) = explain_run(engine, external_run_id("AUTOSYS", "ACE", "LONG", "99"))
    assert run.state is RunState.SUCCESS
    position_of(log).write_text("of another version")
    assert followed(engine, log, 8) == 8  # the catalog knows of which run the end is


def test_dying_between_the_events_and_the_position_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2))
    followed(engine, log, 6)
    before = contents(engine)
    position_of(log).unlink()
    followed(engine, log, 6)
    assert contents(engine) == before
