"""Reports of autorep as run events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending
from headrace.job_reports.logs.autorep import is_report, read_report
from headrace.severity import Severity

S = RunState
HEADER = """\
Job Name                     Last Start           Last End             ST/Ex Run/Ntry Pri/Xit
____________________________ ____________________ ____________________ _____ ________ _______
"""


def read(text: Any, **given: Any) -> Any:
    return read_report(text.encode(), "report.txt", zone=given.pop("zone", UTC), **given)


def short(report: Any) -> Any:
    return [
        (each.process, each.box, each.run, each.attempt, each.state, each.ending) for each in report.events
    ]


def test_a_row_of_a_time_that_is_yet_to_come_costs_itself_alone() -> None:
    found = read(
        HEADER
        + """\
LOAD                         03/04/2026 22:03:41  03/04/2099 22:31:09  SU    711/1    0
CHECK                        03/04/2026 22:31:10  03/04/2026 22:31:11  SU    711/1    0
"""
    )
    assert [event.process for event in found.events] == ["CHECK"]
    assert "LOAD: 03/04/2099 22:31:09 is not a time: 2099-03-04 22:31:09Z is in the future" in str(
        found.errors[0]
    )


def test_the_last_run_of_each_job() -> None:
    found = read(
        HEADER
        + """\
NIGHT_BOX                    03/04/2026 21:55:01  03/04/2026 22:41:17  SU    711/1    0
 LOAD                        03/04/2026 22:03:41  03/04/2026 22:31:09  FA    711/2    3
  DEEPER                     03/04/2026 22:03:41  03/04/2026 22:31:09  TE    711/1    -1
 CHECK                       03/04/2026 22:31:10  -----                RU    711/1
RATES                        03/04/2026 18:30:01  03/04/2026 18:31:00  SU    698/0    0
BYPASSED_JOB                 03/04/2026 18:30:01  03/04/2026 18:31:00  SU/NE 698/1    0
FALLBACK                     -----                -----                OI    0/0
HELD                         03/04/2026 18:30:01  03/04/2026 18:31:00  OH    12/1     0
""",
        instance="ACE",
    )
    assert found.errors == ()
    assert short(found) == [
        ("NIGHT_BOX", None, "711", 1, S.SUCCESS, Ending.GENUINE),
        ("LOAD", "NIGHT_BOX", "711", 2, S.FAILED, Ending.GENUINE),
        ("DEEPER", "LOAD", "711", 1, S.TERMINATED, Ending.GENUINE),
        ("CHECK", "NIGHT_BOX", "711", 1, S.RUNNING, None),
        ("RATES", None, "698", 0, S.SUCCESS, Ending.FORCED),
        ("BYPASSED_JOB", None, "698", 1, S.SKIPPED, Ending.BYPASSED),
    ]
    load = found.events[1]
    assert (load.started_at, load.at, load.exit_code) == (
        datetime(2026, 3, 4, 22, 3, 41, tzinfo=UTC),
        datetime(2026, 3, 4, 22, 31, 9, tzinfo=UTC),
        3,
    )
    assert all(event.historical and event.instance == "ACE" for event in found.events)
    assert load.origin == "report.txt:4"


def test_long_names_zones_and_old_headers() -> None:
    found = read(
        """\
$ autorep -J ALL
Job Name             Last Start           Last End             ST Run     Pri/Xit
____________________ ____________________ ____________________ __ _______ _______
A_JOB_WITH_A_NAME_TOO_LONG_FOR_ITS_COLUMN
                     07/04/2026 01:00:00  07/04/2026 01:05:00  SU 41      0
(EST5EDT)
""",
        zone=ZoneInfo("America/New_York"),
    )
    assert found.errors == ()
    assert short(found) == [
        ("A_JOB_WITH_A_NAME_TOO_LONG_FOR_ITS_COLUMN", None, "41", 1, S.SUCCESS, Ending.GENUINE)
    ]
    assert found.events[0].at == datetime(2026, 7, 4, 5, 5, tzinfo=UTC)


def test_details_contain_every_step() -> None:
    found = read(
        HEADER
        + """\
test_fail                    03/04/2026 11:41:10  03/04/2026 11:41:12  FA    200/2    101

  Status/[Event]  Time                 Ntry ES  ProcessTime           Machine
  --------------  -------------------- ---- --  --------------------- -----------
  RUNNING         03/04/2026 11:41:10    1  PD  03/04/2026 11:41:10   hostA
  FAILURE         03/04/2026 11:41:10    1  PD  03/04/2026 11:41:10
  <Command file not found>
  [*** ALARM ***]
    JOBFAILURE    03/04/2026 11:41:10    1  PD  03/04/2026 11:41:11   hostA
  FAILURE         03/04/2026 11:41:12    2  PD  03/04/2026 11:41:12
  [STARTJOB]      03/04/2026 11:41:41    0  PD  03/04/2026 11:41:41
  SUCCESS         03/04/2026 11:45:10    0  PD  03/04/2026 11:45:10
"""
    )
    assert found.errors == ()
    assert [(e.attempt, e.state, e.ending, e.exit_code, e.machine, e.reason) for e in found.events] == [
        (1, S.RUNNING, None, None, "hostA", None),
        (1, S.FAILED, Ending.GENUINE, None, None, "Command file not found"),
        (2, S.FAILED, Ending.GENUINE, 101, None, None),
        (0, S.SUCCESS, Ending.FORCED, None, None, None),
    ]


EARLIER = """\
  STARTING        03/04/2026 09:59:58    1  PD  03/04/2026 09:59:58   m1
  RUNNING         03/04/2026 09:59:59    1  PD  03/04/2026 09:59:59   m1
  FAILURE         03/04/2026 10:00:10    1  PD  03/04/2026 10:00:10   m1
"""


def test_details_of_an_earlier_run_are_left_out_with_a_warning() -> None:
    found = read(
        HEADER
        + "LOAD                         03/04/2026 11:27:32  03/04/2026 11:27:33  SU    197/1    0\n"
        + EARLIER
        + """\
  STARTING        03/04/2026 11:27:31    1  PD  03/04/2026 11:27:31   m1
  RUNNING         03/04/2026 11:27:32    1  PD  03/04/2026 11:27:32   m1
  SUCCESS         03/04/2026 11:27:33    1  PD  03/04/2026 11:27:33   m1
"""
    )
    assert [event.status for event in found.events] == ["STARTING", "RUNNING", "SUCCESS"]
    (warning,) = found.errors
    assert (warning.severity, warning.line, warning.subject) == (Severity.WARNING, 4, "LOAD")
    assert "3 details are of runs before the one that began at 03/04/2026 11:27:32" in warning.message


def test_details_of_the_attempts_before_the_last_start_are_of_its_run() -> None:
    found = read(
        HEADER
        + "LOAD                         03/04/2026 11:30:00  03/04/2026 11:30:03  SU    197/2    0\n"
        + EARLIER
        + EARLIER.replace(" 09:", " 11:").replace(" 10:00:10", " 11:59:00").replace(" 11:5", " 11:2")
        + """\
  RESTART         03/04/2026 11:29:30    1  PD  03/04/2026 11:29:30
  RUNNING         03/04/2026 11:30:00    2  PD  03/04/2026 11:30:00   m1
  SUCCESS         03/04/2026 11:30:03    2  PD  03/04/2026 11:30:03   m1
"""
    )
    assert [(event.status, event.attempt) for event in found.events] == [
        ("STARTING", 1),
        ("RUNNING", 1),
        ("FAILURE", 1),
        ("RESTART", 1),
        ("RUNNING", 2),
        ("SUCCESS", 2),
    ]
    assert len(found.errors) == 1


def test_the_row_counts_if_all_details_are_of_earlier_runs() -> None:
    found = read(
        HEADER
        + "LOAD                         03/04/2026 11:27:31  -----                RU    197/1\n"
        + EARLIER
    )
    assert [(event.run, event.state) for event in found.events] == [("197", S.RUNNING)]


def test_dates_in_another_order_are_seen_by_those_that_fit_no_other() -> None:
    found = read(
        HEADER
        + "A                            04/03/2026 11:41:10  04/03/2026 11:41:12  SU    1/1      0\n"
        + "B                            28/03/2026 11:41:10  28/03/2026 11:41:12  SU    1/1      0\n"
    )
    assert [f"{event.at:%m-%d}" for event in found.events] == ["03-04", "03-28"]


def test_a_run_through_the_hour_that_comes_twice() -> None:
    row = "A                            11/01/2026 01:50:00  11/01/2026 01:10:00  SU    1/1      0\n"
    (event,) = read(HEADER + row, zone=ZoneInfo("America/New_York")).events
    assert event.at - event.started_at == datetime(2026, 1, 1, 0, 20) - datetime(2026, 1, 1)  # noqa: DTZ001


def test_a_row_that_cannot_be_read_costs_itself_alone() -> None:
    found = read(
        HEADER
        + "A                            03/04/2026 11:41:10  03/04/2026 11:41:12  XX    1/1      0\n"
        + "B                            02/30/2026 11:41:10  03/04/2026 11:41:12  SU    1/1      0\n"
        + "C                            something else\n"
        + "D                            03/04/2026 11:41:10  03/04/2026 11:41:12  SU    1/1      0\n"
    )
    assert [event.process for event in found.events] == ["D"]
    assert sorted(error.line for error in found.errors) == [3, 4, 5]


def test_a_zone_in_the_last_column_and_short_dashes_are_rows() -> None:
    found = read(
        """\
Job Name             Last Start           Last End             ST/Ex Run/Ntry Pri/Xit TimeZone
____________________ ____________________ ____________________ _____ ________ _______
LOAD_A               03/04/2026 02:00:01  03/04/2026 02:05:00  SU    17/1     0 (London)
LOAD_B               03/04/2026 02:00:01  ----                 RU    18/1     0
LOAD_C               03/04/2026 02:00:01  03/04/2026 02:05:00  FA    19/1     1 America/New_York
"""
    )
    assert found.errors == ()
    assert [(each.process, each.state, each.exit_code) for each in found.events] == [
        ("LOAD_A", S.SUCCESS, 0),
        ("LOAD_B", S.RUNNING, None),
        ("LOAD_C", S.FAILED, 1),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "LOAD  03/04/2026 02:00:01  03/04/2026 02:05:00  SU 17/1 0 London, at night",
        "LOAD  03/04/2026 02:00:01  03/04/2026 02:05:00  SUX 17/1 0",
        "LOAD  03/04/2026 02:00:01  03/04/2026 02:05:00",
        "LOAD  03/04/2026 02:00:01  never  SU 17/1 0",
        "LOAD",
        "MYSTERY  03/04/2026 11:41:10  1  PD  03/04/2026 11:41:11",
        "<pre>",
    ],
)
def test_no_line_vanishes(line: Any) -> None:
    found = read(HEADER + line + "\nCHECK  03/04/2026 02:00:01  03/04/2026 02:05:00  SU 17/1 0\n")
    assert [event.process for event in found.events] == ["CHECK"]
    assert [error.line for error in found.errors] == [3]


def test_an_alarm_of_any_name_is_known_by_the_line_before_it() -> None:
    row = "A  03/04/2026 11:41:10  03/04/2026 11:41:12  SU  1/1  0\n"
    found = read(HEADER + row + "  [*** ALARM ***]\n    MAXRUNALARM   03/04/2026 11:41:11  1  PD\n")
    assert (len(found.events), found.errors) == (1, ())


def test_rows_without_a_header_before_them_are_read() -> None:
    row = "{}  03/04/2026 11:41:10  03/04/2026 11:41:12  SU  1/1  0\n"
    found = read(row.format("A") + HEADER + row.format("B"))
    assert [event.process for event in found.events] == ["A", "B"]


def test_what_a_report_looks_like() -> None:
    assert is_report(HEADER)
    assert not is_report("insert_job: A job_type: CMD")


@given(st.text(alphabet="AB 01/:-_\n[]<>SUFA", max_size=400))
def test_no_text_stops_the_reader(text: Any) -> None:
    read(HEADER + text)
