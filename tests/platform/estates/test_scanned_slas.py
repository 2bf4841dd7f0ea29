"""SLAs from must-times, alarms and calendars of a scan, evaluated like any other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from headrace.estates.estates import scan
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.queries import sla_statuses
from headrace.slas.tick import evaluate

JIL = """
insert_job: LOAD   job_type: c
command: load.sh
machine: m1
date_conditions: 1
run_calendar: BUSINESS
start_times: "05:00"
must_complete_times: "06:00"
timezone: UTC
max_run_alarm: 30
"""
CALENDAR = "calendar: BUSINESS\ndescription: x\n11/09/2026 00:00:00\n11/{day}/2026 00:00:00\n"


def test_a_scan_creates_slas_of_a_job(engine: Engine, tmp_path: Path) -> None:
    jil, calendar = tmp_path / "estate.jil", tmp_path / "calendars.txt"
    jil.write_text(JIL)
    calendar.write_text(CALENDAR.format(day=11))
    scan(engine, [jil, calendar], "PRD", by="test")
    evaluate(engine, datetime(2026, 11, 9, 7, tzinfo=UTC))
    found = {each.kind.value: each for each in sla_statuses(engine)}
    assert found.keys() == {"DELIVERY", "RUN_TIME"}
    assert found["DELIVERY"].key == "AUTOSYS/PRD/LOAD"
    assert found["DELIVERY"].deadline == datetime(
        2026, 11, 11, 6, tzinfo=UTC
    )  # the calendar leaves the 10th out
    calendar.write_text(CALENDAR.format(day=10))
    scan(engine, [jil, calendar], "PRD", by="test")
    evaluate(engine, datetime(2026, 11, 9, 7, 30, tzinfo=UTC))
    [changed] = sla_statuses(engine, kinds=[ObjectiveKind.DELIVERY])
    assert changed.deadline == datetime(2026, 11, 10, 6, tzinfo=UTC)
    jil.write_text(JIL.replace('must_complete_times: "06:00"\n', "").replace("max_run_alarm: 30\n", ""))
    scan(engine, [jil, calendar], "PRD", by="test")
    evaluate(engine, datetime(2026, 11, 9, 8, tzinfo=UTC))
    assert sla_statuses(engine) == []
