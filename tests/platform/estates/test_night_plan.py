"""The plan of a night: jobs by their schedules, other processes as a week ago, and the critical path over both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.estates import next_runs
from headrace.estates.estates import scan
from headrace.estates.night_plan import NightPlan, night_plan
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register

ESTATE = """
insert_job: NIGHT job_type: b
date_conditions: 1
days_of_week: all
start_times: "22:00"
insert_job: LOAD job_type: c
box_name: NIGHT
command: load.sh
machine: m1
insert_job: CHECK job_type: c
box_name: NIGHT
command: check.sh
machine: m1
condition: s(LOAD)
insert_job: SILENT job_type: c
date_conditions: 1
days_of_week: all
start_times: "23:00"
command: silent.sh
machine: m1
"""
LOAD, CHECK, NIGHT = "AUTOSYS/NIGHT/LOAD", "AUTOSYS/NIGHT/CHECK", "AUTOSYS/NIGHT"
EVENING = datetime.now(UTC).replace(hour=18, minute=0, second=0, microsecond=0)


def at(hours: float, days: int = 0) -> datetime:
    """So many hours after the evening, some days later."""
    return EVENING + timedelta(hours=hours, days=days)


def ran(engine: Engine, key: str, start: datetime, end: datetime | None) -> None:
    run_id = uuid4()
    with attempt(engine, run_id=run_id, process_key=key):
        pass
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.process_run SET start_ts = %s, end_ts = %s, status = %s WHERE run_id = %s",
            [start, end, "SUCCESS" if end else "RUNNING", run_id],
        )


@pytest.fixture
def estate(engine: Engine, tmp_path: Path) -> Engine:
    """Two jobs in a box, and a dataset that is made from another; all ran on the nights before."""
    (tmp_path / "estate.jil").write_text(ESTATE)
    scan(engine, [tmp_path / "estate.jil"])
    register(
        engine,
        [DatasetRecord("mart/a", "csv"), DatasetRecord("mart/b", "csv")],
        [
            ProcessRecord("mart/a", Technology.SPARK, outputs=("mart/a",)),
            ProcessRecord("mart/b", Technology.SPARK, inputs=("mart/a",), outputs=("mart/b",)),
        ],
    )
    for key, start in ((LOAD, 4), (CHECK, 5)):
        ran(engine, key, at(start, -1), at(start + 1, -1))
    for key, days in (("mart/a", -1), ("mart/b", -1), ("mart/b", -8)):
        ran(engine, key, at(6, days), at(8, days))
    return engine


def planned(engine: Engine, now: float, **more: str) -> NightPlan:
    return night_plan(engine, at(0), at(12), at(now), **more)


def test_jobs_are_expected_by_their_schedules_and_processes_as_before(estate: Engine) -> None:
    found = planned(estate, 1)

    assert {run.process_key: (run.is_expected, run.starts_at, run.planned_at) for run in found.runs} == {
        NIGHT: (True, at(4), at(4)),
        LOAD: (True, at(4), at(4)),
        CHECK: (True, at(4), at(4)),
        "mart/a": (True, at(6), at(6)),
    }
    assert (found.target, found.critical) == ("mart/a", ("mart/a",))
    assert not found.truncated


def test_a_process_that_ran_a_week_ago_is_expected_then(estate: Engine) -> None:
    ran(estate, "mart/b", at(5, -7), at(7, -7))
    found = planned(estate, 1, target="mart/b")

    late = next(run for run in found.runs if run.process_key == "mart/b")
    assert (late.planned_at, late.starts_at, late.ends_at) == (at(5), at(8), at(10))
    assert found.critical == ("mart/a", "mart/b")
    slack = {run.process_key: run.slack_seconds / 3600 for run in found.runs}
    assert (slack["mart/a"], slack["mart/b"], slack[CHECK]) == (0, 0, 6)


def test_a_box_begins_with_its_first_member(estate: Engine) -> None:
    ran(estate, LOAD, at(4), at(4.5))
    found = {run.process_key: run for run in planned(estate, 5).runs}

    assert (found[LOAD].is_expected, found[LOAD].ends_at) == (False, at(4.5))
    assert (found[CHECK].is_expected, found[CHECK].starts_at) == (True, at(5))
    assert (found[NIGHT].is_expected, found[NIGHT].starts_at) == (False, at(4))


def test_a_night_that_is_over_has_no_expected_runs(estate: Engine) -> None:
    found = night_plan(estate, at(0, -1), at(12, -1), at(0))

    assert [run.process_key for run in found.runs if run.is_expected] == []
    assert {run.process_key for run in found.runs} == {LOAD, CHECK, "mart/a", "mart/b"}


def test_an_estate_too_large_to_be_forecast_is_left_out(
    estate: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_runs, "MAX_FORECAST_JOBS", 3)
    found = planned(estate, 1)

    assert found.truncated
    assert [run.process_key for run in found.runs] == ["mart/a"]
