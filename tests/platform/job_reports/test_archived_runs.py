"""Archived runs as run events, with job names from other files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending
from headrace.job_reports.logs.archived_runs import is_list_of_jobs, listed_jobs, read_archived, scheduler_of
from tests.platform.job_reports.test_event_demon import connected

S = RunState
NAME = "archived_job_runs.ACE.10.14.2010.04.00.00"
ROW = "5,5,5,1,1287054429,,,3278,0,-1,localhost,1,1287054428,4,/logs/load,,0,,1,WobId(...),1,1,0"


def read(*rows: Any, names: Any = {5: "LOAD", 6: "CHECK"}, **given: Any) -> Any:  # noqa: B006 - read only
    return read_archived(
        "\n".join(rows).encode(),
        f"archive/{NAME}",
        names,
        instance=scheduler_of(NAME),  # type: ignore[arg-type]
        **given,
    )


def test_a_row_is_the_end_of_a_run() -> None:
    (event,) = read("joid,run_num,ntry,job_ver,endtune", ROW, "").events
    assert (event.process, event.instance, event.run, event.attempt) == ("LOAD", "ACE", "5", 5)
    assert (event.state, event.ending, event.exit_code, event.machine) == (
        S.SUCCESS,
        Ending.GENUINE,
        0,
        "localhost",
    )
    assert (event.started_at, event.at) == (
        datetime(2010, 10, 14, 11, 7, 8, tzinfo=UTC),
        datetime(2010, 10, 14, 11, 7, 9, tzinfo=UTC),
    )
    assert (event.log_location, event.historical, event.origin) == ("/logs/load", True, f"archive/{NAME}:2")


def test_bypassed_runs_are_distinguished() -> None:
    noexec = ROW.removesuffix("0") + "1"
    by_hand = ROW.replace("5,5,5,", "6,7,0,")
    failed = ROW.replace("3278,0,", "3278,3,").replace(",4,/", ",5,/")
    running = ROW.replace("1287054429", "999999999").replace(",4,/", ",1,/")
    inactive = ROW.replace(",4,/", ",8,/")
    found = read(noexec, by_hand, failed, running, inactive)
    assert found.errors == ()
    assert [(e.process, e.attempt, e.state, e.ending, e.exit_code) for e in found.events] == [
        ("LOAD", 5, S.SKIPPED, Ending.BYPASSED, 0),
        ("CHECK", 0, S.SUCCESS, Ending.FORCED, 0),
        ("LOAD", 5, S.FAILED, Ending.GENUINE, 3),
        ("LOAD", 5, S.RUNNING, None, 0),
    ]


def test_jobs_without_a_name_are_reported_and_an_invalid_row_affects_no_other() -> None:
    found = read(ROW, ROW.replace("5,5,5", "7,1,1"), "x,1", "5,1", ROW.replace("1287054429", "9" * 30))
    assert len(found.events) == 1
    errors = {error.line: str(error) for error in found.errors}
    assert sorted(errors) == [2, 3, 4, 5]
    assert (
        "the jobs of the numbers 7 are not named (give a log of theirs, or CSV of `SELECT joid" in errors[2]
    )
    assert "the row has no 'status'" in errors[4]


def test_names_come_from_logs_and_from_lists() -> None:
    log = [connected("01:00:00", "LOAD", "5.1620.1"), "noise", connected("02:00:00", "CHECK", "6.1.1")]
    assert listed_jobs(log) == {5: "LOAD", 6: "CHECK"}
    for separator in (",", ";", "|", "\t"):
        rows = ["JOID,JOB_TYPE,JOB_NAME", '5,99,"LOAD"', "6,98,CHECK", "", "x,y,z"]
        text = [row.replace(",", separator) for row in rows]
        assert is_list_of_jobs("\n".join(text))
        assert listed_jobs(text) == {5: "LOAD", 6: "CHECK"}
    assert not is_list_of_jobs("job_name,status\nLOAD,SU\n")
    assert (scheduler_of("archived_job_runs"), scheduler_of("event_demon.ACE")) == ("", None)


@given(st.text(max_size=200))
def test_no_text_stops_the_reader(text: Any) -> None:
    read(text)
    listed_jobs(text.split("\n"))
