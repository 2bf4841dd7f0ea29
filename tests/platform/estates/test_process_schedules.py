"""Schedules of described processes: their starts across clock changes and holidays, and the SLAs that follow."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.database.connection import transaction
from headrace.estates.described.processes import read_processes
from headrace.estates.described.schedules import ProcessSchedule, ProcessSla, expected_start
from headrace.estates.estates import scan
from headrace.estates.next_runs import NextRun, next_scheduled_run
from headrace.estates.night_plan import night_plan
from headrace.job_reports.completions.reports import Place, event_of
from headrace.job_reports.ingestion import ingest
from headrace.simulation.expected import ExpectedInstant
from headrace.slas.calendars import Calendars
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.queries import sla_statuses
from headrace.slas.status import SlaStatus
from headrace.slas.tick import evaluate

PROCESSES = """\
- name: RM.REVAL
  technology: run_management
  schedule: {at: "02:00", timezone: Europe/London, calendar: XLON}
  schedule_note: before the desks open
  sla: {start_within: 15m, complete_within: 2h, max_run: 90m}
- name: RM.ADHOC
  technology: run_management
"""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def starts(schedule: ProcessSchedule, after: str, number: int) -> list[str]:
    found, moment = [], at(after)
    for _ in range(number):
        start = expected_start(schedule.terms, {}, moment, Calendars())
        assert start.at is not None, start.why
        moment = start.at
        found.append(f"{moment:%Y-%m-%dT%H:%M}")
    return found


# In 2026 Zurich's clocks go from 2:00 to 3:00 on 29 March (1:00 UTC) and from 3:00 to 2:00 on 25 October (1:00 UTC).
@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        (
            {"cron": "30 2 * * *", "timezone": "Europe/Zurich"},
            "2026-03-27T12:00",
            ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],  # 2:30 is left out, so at 3:00
        ),
        (
            {"at": "02:30", "timezone": "Europe/Zurich"},
            "2026-10-24T12:00",
            ["2026-10-25T00:30", "2026-10-26T01:30"],  # 2:30 comes twice, and counts once
        ),
        (
            {"at": "18:00", "timezone": "Europe/London", "calendar": "XLON"},
            "2026-12-23T19:00",
            # 24 December is a half day of London's exchange; Christmas, Boxing Day's substitute on Monday 28
            [
                "2026-12-24T18:00",
                "2026-12-29T18:00",
                "2026-12-30T18:00",
                "2026-12-31T18:00",
                "2027-01-04T18:00",
            ],
        ),
        (
            {"cron": "0 6 * * 1-5", "timezone": "America/New_York", "exclude_calendar": "US-NY"},
            "2026-07-02T00:00",
            ["2026-07-03T10:00", "2026-09-07T10:00"],  # Independence Day (observed), Labor Day
        ),
        (
            {"at": "6:05", "timezone": "America/New_York", "calendar": "US"},
            "2026-11-25T12:00",
            ["2026-11-27T11:05", "2026-11-30T11:05"],  # Thanksgiving is the 26th
        ),
        ({"cron": "@hourly"}, "2026-11-30T23:30", ["2026-12-01T00:00", "2026-12-01T01:00"]),
    ],
)
def test_starts(schedule: dict[str, str], after: str, expected: list[str]) -> None:
    assert starts(ProcessSchedule(**schedule), after, len(expected)) == expected


def test_a_calendar_of_the_estate_gives_the_days() -> None:
    days = frozenset({date(2026, 12, 1), date(2026, 12, 15)})
    schedule = ProcessSchedule(at="22:30", timezone="Europe/London", calendar="PAYDAYS")
    found = expected_start(schedule.terms, {}, at("2026-12-02T00:00"), Calendars({("PRD", "PAYDAYS"): days}))
    assert found.at == at("2026-12-15T22:30")
    unknown = expected_start(schedule.terms, {}, at("2026-12-02T00:00"), Calendars())
    assert unknown == ExpectedInstant(None, unknown.why)
    assert "unknown calendar 'PAYDAYS'" in unknown.why[0]


def test_the_times_of_an_sla_count_from_the_start_by_the_stopwatch() -> None:
    schedule = ProcessSchedule(at="01:30", timezone="Europe/Zurich")
    sla = ProcessSla.model_validate({"start_within": "45m", "complete_within": "2h"}).stored(schedule)
    start = expected_start(schedule.terms, sla, at("2026-10-24T12:00"), Calendars())
    assert start.at == at("2026-10-24T23:30")
    assert start.clock is not None
    # two hours later the wall clock shows 2:30 for the second time
    assert (start.clock.must_start, start.clock.must_complete) == (
        at("2026-10-25T00:15"),
        at("2026-10-25T01:30"),
    )


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        ("  schedule: at night\n", 3, "schedule", "write a text as `schedule_note`"),
        ("  schedule:\n    timezone: UTC\n    cron: 0 25 * * *\n", 5, "schedule.cron", "bad hour"),
        ("  schedule: {cron: 0 0 31 2 *}\n", 3, "schedule.cron", "bad day-of-month"),
        ("  schedule:\n    at: 22:30\n", 4, "schedule.at", "write it in quotes"),
        ('  schedule: {at: "24:00"}\n', 3, "schedule.at", "is not a time of day"),
        ("  schedule: {calendar: XLON}\n", 3, "schedule", "give either `cron`, or `at`"),
        ('  schedule: {at: "02:00", cron: 0 2 * * *}\n', 3, "schedule", "give either `cron`, or `at`"),
        ('  schedule: {at: "02:00", timezone: Zurich}\n', 3, "schedule.timezone", "not a known time zone"),
        ('  schedule: {at: "02:00", zone: UTC}\n', 3, "schedule.zone", "the fields are cron, at, timezone"),
        ("  sla: {start_within: 15m}\n", 3, "sla", "count from the starts of a `schedule`"),
        ("  sla:\n    max_run: soon\n", 4, "sla.max_run", "write it as 90m"),
    ],
)
def test_a_wrong_schedule_is_reported_by_line_and_field(
    text: str, line: int, field: str, message: str
) -> None:
    found, [finding] = read_processes(f"- name: RM.REVAL\n  technology: run_management\n{text}", "p.yaml")
    assert found == ()
    assert (finding.line, finding.attribute) == (line, field)
    assert message in finding.message


def scanned(engine: Engine, tmp_path: Path, text: str = PROCESSES) -> None:
    file = tmp_path / "processes.yaml"
    file.write_text(text)
    plan = scan(engine, [file], by="test")
    assert [str(each) for each in plan.findings] == []


def report(engine: Engine, run: int, status: str, moment: str) -> None:
    event, problems = event_of(
        {"technology": "run_management", "process": "RM.REVAL", "run": run, "status": status, "at": moment},
        Place("test", 1, at("2026-11-16T00:00")),
    )
    assert event is not None, problems
    ingest(engine, [event])


def next_run(engine: Engine, key: str) -> NextRun | None:
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT process_id FROM catalog.process WHERE process_key = %s", [key]
        ).fetchone()
    assert row is not None
    return next_scheduled_run(engine, row["process_id"], at("2026-12-24T12:00"))


def test_a_scanned_process_has_a_next_run(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path)
    found = next_run(engine, "RUNMGR/RM.REVAL")
    assert found is not None
    assert (found.starts_at, found.must_start) == (at("2026-12-29T02:00"), at("2026-12-29T02:15"))
    assert (found.must_complete, found.zone) == (at("2026-12-29T04:00"), "Europe/London")
    assert found.why == ("its schedule: at 02:00 Europe/London on business days of XLON",)
    assert found.finishes_at is None
    assert next_run(engine, "RUNMGR/RM.ADHOC") is None


def test_a_run_that_has_not_started_in_time_is_late(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path)
    evaluate(engine, at("2026-11-16T01:00"))

    def statuses(moment: str) -> dict[ObjectiveKind, SlaStatus]:
        evaluate(engine, at(moment))
        return {each.kind: each.state for each in sla_statuses(engine)}

    start, delivery, run_time = ObjectiveKind.START, ObjectiveKind.DELIVERY, ObjectiveKind.RUN_TIME
    assert [each.deadline for each in sla_statuses(engine, kinds=[start])] == [at("2026-11-16T02:15")]
    assert statuses("2026-11-16T02:14")[start] is SlaStatus.UNKNOWN
    assert statuses("2026-11-16T02:16")[start] is SlaStatus.LATE

    report(engine, 1, "RUNNING", "2026-11-16T02:20:00Z")
    assert statuses("2026-11-16T02:21")[start] is SlaStatus.MET_LATE
    report(engine, 1, "SUCCESS", "2026-11-16T03:55:00Z")
    assert statuses("2026-11-16T04:01") == {
        start: SlaStatus.MET_LATE,
        delivery: SlaStatus.ON_TRACK,
        run_time: SlaStatus.MET_LATE,  # 95 minutes
    }
    report(engine, 2, "RUNNING", "2026-11-17T01:55:00Z")  # a little early, as of another clock
    assert statuses("2026-11-17T02:16")[start] is SlaStatus.ON_TRACK


def test_an_sla_goes_with_its_schedule(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path)
    evaluate(engine, at("2026-11-16T01:00"))
    assert len(sla_statuses(engine)) == 3
    scanned(engine, tmp_path, PROCESSES.replace("  sla:", "  # sla:"))
    evaluate(engine, at("2026-11-16T01:01"))
    assert sla_statuses(engine) == []


def test_an_unknown_calendar_is_a_warning_of_the_scan(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "processes.yaml"
    file.write_text(PROCESSES.replace("calendar: XLON", "calendar: PAYDAYS"))
    [finding] = scan(engine, [file], by="test").findings
    assert str(finding).startswith(
        f"{file}:3: warning: RM.REVAL.schedule.calendar: unknown calendar 'PAYDAYS'"
    )
    calendar = tmp_path / "calendars.txt"
    calendar.write_text("calendar: PAYDAYS\ndescription: x\n12/31/2026 00:00:00\n")
    assert scan(engine, [file, calendar], "PRD", by="test").findings == ()
    found = next_run(engine, "RUNMGR/RM.REVAL")
    assert found is not None
    assert found.starts_at == at("2026-12-31T02:00")


def test_a_night_has_the_scheduled_runs(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path)
    since, until = at("2026-11-17T00:00"), at("2026-11-17T12:00")
    now = at("2026-11-17T00:30")
    assert night_plan(engine, since, until, now).runs == ()  # it has never reported a run
    report(engine, 1, "RUNNING", "2026-11-16T02:00:00Z")
    report(engine, 1, "SUCCESS", "2026-11-16T03:10:00Z")
    [run] = night_plan(engine, since, until, now).runs
    assert (run.process_key, run.is_expected) == ("RUNMGR/RM.REVAL", True)
    assert (run.planned_at, run.ends_at) == (at("2026-11-17T02:00"), at("2026-11-17T03:10"))


def test_technologies_share_the_fields() -> None:
    text = (
        '- name: A.B\n  technology: db2_procedure\n  schedule: {at: "6:00"}\n  sla: {complete_within: 1h}\n'
    )
    [one], findings = read_processes(text, "p.yaml")
    assert findings == ()
    assert one.technology is Technology.DB2_SP
    assert one.description.sla is not None
    assert one.description.sla.stored(one.description.schedule)["complete_by"] == [
        {
            "deadline": "0 6 * * *",
            "delay_seconds": 3600.0,
            "within_seconds": timedelta(hours=1).total_seconds(),
        }
    ]
