"""Loading files as they are, and following a log that grows."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC

import pytest

from catalog import queries
from catalog.identity import external_run_id
from catalog.records import RunState
from jobs.ingestion import follow, load, position_of
from tests.catalog.said import contents
from tests.legacy.test_event_demon import connected, night, status

REPORT = """\
Job Name                     Last Start           Last End             ST/Ex Run/Ntry Pri/Xit
____________________________ ____________________ ____________________ _____ ________ _______
REPORTED                     03/04/2026 21:55:01  03/04/2026 22:41:17  SU    711/1    0
"""


@pytest.fixture
def files(tmp_path):
    feed = tmp_path / "feed.jsonl"
    feed.write_text(json.dumps({"process": "FED", "status": "SUCCESS", "run": "1"}) + "\n{\n")
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2))
    report = tmp_path / "report.txt"
    report.write_text(REPORT)
    return [feed, log, report]


def test_what_a_file_is_shows_its_content_and_loading_it_again_changes_nothing(engine, files):
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


def test_history_is_announced_to_nobody(engine, files):
    load(engine, files, historical=True)
    assert contents(engine)["to tell"] == []
    assert {row[9] for row in contents(engine)["runs"]} == {True}


def test_a_job_over_midnight_is_one_run_in_whatever_order_its_logs_are_given(engine, tmp_path):
    first, second = tmp_path / "event_demon.X.10202026", tmp_path / "event_demon.X.10212026"
    first.write_text(
        status("23:50:00", "STARTING", "LONG", day="10/20/2026") + "\n"
        + connected("23:50:01", "LONG", "7.99.1", day="10/20/2026") + "\n"
    )  # fmt: skip
    second.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="10/21/2026") + "\n")
    told = []
    loaded = load(engine, [second, first], tell=told.append)
    assert (loaded.files, loaded.ingested.new) == (2, 2)
    assert told == [f"ingesting {first} (1 of 2)", f"ingesting {second} (2 of 2)"]
    ((process, state),) = [(row[0], row[5]) for row in contents(engine)["runs"]]
    assert (process, state) == ("AUTOSYS/X/LONG", "SUCCESS")
    (run,) = queries.why(engine, external_run_id("AUTOSYS", "X", "LONG", "99"))
    assert run.state is RunState.SUCCESS


def followed(engine, log, until):
    """Follow the log until so many events are there."""
    stop = threading.Event()
    worker = threading.Thread(
        target=follow, args=(engine, log), kwargs={"zone": UTC, "stop": stop, "seconds": 0.05}
    )
    worker.start()
    deadline = time.monotonic() + 20
    while len(contents(engine)["events"]) < until and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    worker.join(20)
    assert not worker.is_alive()
    return len(contents(engine)["events"])


def test_a_log_is_followed_from_where_it_was_left_and_over_midnight(engine, tmp_path):
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2) + status("00:10:00", "STARTING", "LONG") + "\n")
    assert followed(engine, log, 6) == 6
    assert json.loads(position_of(log).read_text())["line"] == 9
    with log.open("a") as more:
        more.write(connected("00:10:01", "LONG", "7.99.1") + "\n")
    log.rename(tmp_path / "event_demon.ACE.03042026")
    log.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="03/05/2026") + "\n")
    assert followed(engine, log, 8) == 8
    (run,) = queries.why(engine, external_run_id("AUTOSYS", "ACE", "LONG", "99"))
    assert run.state is RunState.SUCCESS
    position_of(log).write_text("of another version")
    assert followed(engine, log, 9) in (8, 9)  # an end without its beginning is all that it shows


def test_dying_between_the_events_and_the_position_changes_nothing(engine, tmp_path):
    log = tmp_path / "event_demon.ACE"
    log.write_text(night(2))
    followed(engine, log, 6)
    before = contents(engine)
    position_of(log).unlink()
    followed(engine, log, 6)
    assert contents(engine) == before
