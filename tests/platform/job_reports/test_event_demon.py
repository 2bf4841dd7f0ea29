"""The event demon's log: run and attempt of each line, its clock, and reading it as it grows."""

from __future__ import annotations

import gzip
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending
from headrace.job_reports.logs.demon_files import instance_of
from headrace.job_reports.logs.demon_lines import Clock, WrongLine
from headrace.job_reports.logs.demon_runs import DemonRuns, DemonState
from headrace.job_reports.logs.event_demon import DemonLog, LogPosition, read_kept
from headrace.severity import Severity

S = RunState
NEW_YORK = ZoneInfo("America/New_York")


def status(
    time: Any, word: Any, job: Any, machine: Any = "hostA", code: Any = None, day: Any = "03/04/2026"
) -> Any:
    parts = [f"[{day} {time}]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: {word:<15} JOB: {job:<20}"]
    parts += [f"MACHINE: {machine:<12}"] if machine else []
    parts += [f"EXITCODE:  {code}"] if code is not None else []
    return " ".join(parts)


def connected(time: Any, job: Any, number: Any, machine: Any = "hostA", day: Any = "03/04/2026") -> Any:
    return f"[{day} {time}]      CAUAJM_I_10082 [{machine} connected for {job} {number}]"


def read_lines(*lines: Any, zone: Any = UTC) -> Any:
    runs = DemonRuns(zone, "ACE")
    events = [event for number, line in enumerate(lines, 1) for event in runs.read(line, f"log:{number}")]
    return [*events, *runs.settled(datetime.now(UTC))]


def short(events: Any) -> Any:
    return [(event.process, event.run, event.attempt, event.state, event.ending) for event in events]


def test_a_run_gets_its_number_from_the_line_that_contains_it() -> None:
    events = read_lines(
        status("01:00:00", "ACTIVATED", "LOAD", None),
        status("01:00:05", "STARTING", "LOAD"),
        connected("01:00:06", "LOAD", "77.1620.1"),
        status("01:00:07", "RUNNING", "LOAD"),
        status("01:30:00", "SUCCESS", "LOAD", code=0),
    )
    assert short(events) == [
        ("LOAD", "1620", 1, S.QUEUED, None),
        ("LOAD", "1620", 1, S.QUEUED, None),
        ("LOAD", "1620", 1, S.RUNNING, None),
        ("LOAD", "1620", 1, S.SUCCESS, Ending.GENUINE),
    ]
    assert events[-1].exit_code == 0
    assert events[-1].instance == "ACE"
    assert events[-1].origin == "log:5"
    assert events[0].at == datetime(2026, 3, 4, 1, tzinfo=UTC)


def test_a_retry_is_the_next_attempt_of_the_run() -> None:
    lines = [
        status("01:00:05", "STARTING", "LOAD"),
        connected("01:00:06", "LOAD", "77.1620.1"),
        status("01:00:07", "RUNNING", "LOAD"),
        status("01:10:00", "FAILURE", "LOAD", code=3),
        status("01:10:30", "RESTART", "LOAD", None),
    ]
    again = [status("01:11:00", "STARTING", "LOAD"), connected("01:11:01", "LOAD", "77.1620.2")]
    end = status("01:30:00", "SUCCESS", "LOAD", code=0)
    for middle in (again, again[:1], []):  # the lines between may be missing
        events = short(read_lines(*lines, *middle, end))
        assert events[2] == ("LOAD", "1620", 1, S.FAILED, Ending.GENUINE)
        assert events[3] == ("LOAD", "1620", 2, S.QUEUED, None)
        assert events[-1] == ("LOAD", "1620", 2, S.SUCCESS, Ending.GENUINE)


def test_the_next_run_is_another() -> None:
    events = read_lines(
        status("01:00:05", "STARTING", "LOAD"),
        connected("01:00:06", "LOAD", "77.1620.1"),
        status("01:10:00", "SUCCESS", "LOAD", code=0),
        status("02:00:05", "STARTING", "LOAD"),
        connected("02:00:06", "LOAD", "77.1621.1"),
        status("02:10:00", "TERMINATED", "LOAD"),
    )
    assert short(events)[2:] == [
        ("LOAD", "1621", 1, S.QUEUED, None),
        ("LOAD", "1621", 1, S.TERMINATED, Ending.GENUINE),
    ]


def test_without_a_number_a_run_is_known_by_its_beginning() -> None:
    events = read_lines(status("01:00:05", "STARTING", "LOAD"), status("01:00:07", "RUNNING", "LOAD"))
    assert {event.run for event in events} == {"@2026-03-04T01:00:05Z"}


def test_what_starts_while_it_runs_is_another_run_whose_predecessors_end_was_not_read() -> None:
    events = read_lines(
        status("01:00:05", "STARTING", "LOAD"),
        connected("01:00:06", "LOAD", "77.1620.1"),
        status("01:00:07", "RUNNING", "LOAD"),
        status("01:00:08", "RUNNING", "LOAD"),  # the machine says it again
        status("01:30:00", "RUNNING", "BOX", None),
        status("02:00:05", "STARTING", "LOAD"),
        connected("02:00:06", "LOAD", "77.1621.1"),
        status("02:30:00", "RUNNING", "BOX", None),
    )
    assert [(event.process, event.run) for event in events] == [
        *[("LOAD", "1620")] * 3,
        ("BOX", "@2026-03-04T01:30:00Z"),
        ("LOAD", "1621"),
        ("BOX", "@2026-03-04T02:30:00Z"),
    ]


def test_boxes_have_no_machine_and_end_genuinely() -> None:
    events = read_lines(
        status("01:00:00", "RUNNING", "BOX", None), status("02:00:00", "SUCCESS", "BOX", None, code=0)
    )
    assert short(events) == [
        ("BOX", "@2026-03-04T01:00:00Z", 1, S.RUNNING, None),
        ("BOX", "@2026-03-04T01:00:00Z", 1, S.SUCCESS, Ending.GENUINE),
    ]


def test_what_an_operator_says_is_forced() -> None:
    by_hand = ("LOAD", "1620", 0, S.SUCCESS, Ending.FORCED)
    begun = [status("01:00:05", "STARTING", "LOAD"), connected("01:00:06", "LOAD", "77.1620.1")]
    failed = status("01:10:00", "FAILURE", "LOAD", code=3)
    output = status("01:20:00", "SUCCESS", "LOAD", None)
    assert short(read_lines(*begun, failed, output))[-1] == by_hand
    assert short(read_lines(*begun, output))[-1] == by_hand
    ended = status("01:10:00", "SUCCESS", "LOAD", code=0)
    again = status("02:00:00", "ACTIVATED", "LOAD", None)
    output = status("02:20:00", "SUCCESS", "LOAD", None)
    assert short(read_lines(*begun, ended, again, output))[-1] == (
        "LOAD",
        "@2026-03-04T02:00:00Z",
        0,
        S.SUCCESS,
        Ending.FORCED,
    )


def idle(time: Any, event: Any, job: Any) -> Any:
    return f"[03/04/2026 {time}]      CAUAJM_I_40245 EVENT: {event:<16} JOB: {job}"


RAN = [
    status("02:00:02", "STARTING", "LOAD"),
    connected("02:00:03", "LOAD", "12.100.1"),
    status("02:00:03", "RUNNING", "LOAD"),
    status("02:00:09", "SUCCESS", "LOAD", code=0),
]


@pytest.mark.parametrize(
    "put",
    [
        [status("03:00:00", "ON_NOEXEC", "LOAD", None)],
        [status("03:00:00", "ON_ICE", "LOAD", None)],
        [idle("03:00:00", "JOB_ON_NOEXEC", "LOAD")],
        [idle("03:00:00", "JOB_ON_ICE", "LOAD")],
        [idle("03:00:00", "BYPASS", "LOAD")],
        [status("03:00:00", "ACTIVATED", "LOAD", None), status("03:00:01", "ON_NOEXEC", "LOAD", None)],
        [status("03:00:00", "ON_NOEXEC", "LOAD", None), status("03:00:01", "ACTIVATED", "LOAD", None)],
    ],
)
@pytest.mark.parametrize("before", [[], RAN])
def test_a_success_on_ice_or_on_noexec_is_a_bypassed_run_of_its_own(before: Any, put: Any) -> None:
    events = read_lines(*before, *put, status("03:10:01", "SUCCESS", "LOAD", None))
    (*_, success) = [event for event in events if event.status == "SUCCESS"]
    assert success.run in {"@2026-03-04T03:10:01Z", "@2026-03-04T03:00:00Z", "@2026-03-04T03:00:01Z"}
    assert short([success])[0][2:] == (1, S.SKIPPED, Ending.BYPASSED)
    assert not [e for e in events if e.attempt == 0]


def test_a_box_on_noexec_is_bypassed_each_time_it_runs_until_it_is_taken_off() -> None:
    lines = [status("05:00:00", "ON_NOEXEC", "BOX", None)]
    for hour in ("06", "07"):
        lines += [
            status(f"{hour}:30:00", "RUNNING", "BOX", None),
            status(f"{hour}:31:00", "SUCCESS", "BOX", None),
        ]
    lines += [
        idle("08:00:00", "JOB_OFF_NOEXEC", "BOX"),
        status("08:30:00", "RUNNING", "BOX", None),
        status("08:31:00", "ON_NOEXEC", "BOX", None),  # it runs already
        status("08:40:00", "SUCCESS", "BOX", None),
    ]
    assert [(e.run, e.state, e.ending) for e in read_lines(*lines) if e.status == "SUCCESS"] == [
        ("@2026-03-04T06:30:00Z", S.SKIPPED, Ending.BYPASSED),
        ("@2026-03-04T07:30:00Z", S.SKIPPED, Ending.BYPASSED),
        ("@2026-03-04T08:30:00Z", S.SUCCESS, Ending.GENUINE),
    ]


@pytest.mark.parametrize("off", ["JOB_OFF_ICE", "JOB_OFF_NOEXEC"])
def test_what_was_taken_off_ice_or_noexec_counts_again(off: Any) -> None:
    on = idle("01:00:00", off.replace("OFF", "ON"), "LOAD")
    end = status("02:00:00", "SUCCESS", "LOAD", None)
    assert [e.ending for e in read_lines(on, end)] == [Ending.BYPASSED]
    assert [e.ending for e in read_lines(on, idle("01:30:00", off, "LOAD"), end)] == [Ending.GENUINE]
    assert read_lines(on, *RAN)[-1].ending is Ending.GENUINE  # a machine ran it
    again = read_lines(on, *RAN, status("03:00:00", "SUCCESS", "LOAD", None))[-1]
    assert (again.run, again.ending) == ("100", Ending.FORCED)


def test_what_started_after_ice_is_not_on_ice_any_more() -> None:
    on = status("01:00:00", "ON_ICE", "BOX", None)
    events = read_lines(
        on, status("02:00:00", "RUNNING", "BOX", None), status("02:10:00", "SUCCESS", "BOX", None)
    )
    assert events[-1].ending is Ending.GENUINE


def test_that_a_job_is_on_noexec_is_kept_over_gaps_and_days(tmp_path: Path) -> None:
    first, later = tmp_path / "event_demon.X.1", tmp_path / "event_demon.X.2"
    first.write_text(status("01:00:00", "ON_NOEXEC", "BOX", None) + "\n")
    later.write_text(status("01:00:00", "SUCCESS", "BOX", None, day="03/09/2026") + "\n")
    assert kept(first, later)[-1].ending is Ending.BYPASSED


@pytest.mark.parametrize("output", ["SUCCESS", "FAILURE"])
def test_an_end_reported_by_a_machine_is_genuine_after_an_operator_set_a_status(output: Any) -> None:
    events = read_lines(
        *RAN[:3],
        status("02:00:10", output, "LOAD", None),
        status("02:00:12", "RUNNING", "LOAD"),  # the machine says it again
        status("02:00:20", "SUCCESS", "LOAD", code=0),
        status("02:30:00", "SUCCESS", "LOAD", None),
    )
    assert {event.run for event in events} == {"100"}
    assert short(events)[-2:] == [
        ("LOAD", "100", 1, S.SUCCESS, Ending.GENUINE),
        ("LOAD", "100", 0, S.SUCCESS, Ending.FORCED),
    ]
    assert events[-2].exit_code == 0


def test_what_starts_after_an_operators_end_is_another_run() -> None:
    forced = status("02:00:10", "SUCCESS", "LOAD", None)
    again = [status("02:10:00", "STARTING", "LOAD"), connected("02:10:01", "LOAD", "12.101.1")]
    end = status("02:20:00", "SUCCESS", "LOAD", code=0)
    assert short(read_lines(*RAN[:3], forced, *again, end))[-1] == (
        "LOAD",
        "101",
        1,
        S.SUCCESS,
        Ending.GENUINE,
    )


def test_the_number_that_comes_after_running_is_the_runs() -> None:
    starting, number, running, end = RAN
    for lines in ((starting, running, number, end), (running, number, end), (number, starting, running, end)):
        events = read_lines(*lines)
        assert {event.run for event in events} == {"100"}
        assert len(events) == sum("CHANGE_STATUS" in line for line in lines)
    never = read_lines(
        starting, running, status("03:00:00", "STARTING", "LOAD"), connected("03:00:01", "LOAD", "1.2.1")
    )
    assert [e.run for e in never] == ["@2026-03-04T02:00:02Z", "@2026-03-04T02:00:02Z", "2"]


def test_a_number_may_come_with_the_next_piece_of_a_log(log: Path) -> None:
    now = datetime.now(UTC)
    time, day = f"{now:%H:%M:%S}", f"{now:%m/%d/%Y}"
    log.write_text(status(time, "RUNNING", "LOAD", day=day) + "\n")
    events, position = read_on(log)
    assert events == []
    with log.open("a") as more:
        more.write(connected(time, "LOAD", "12.100.1", day=day) + "\n")
    (event,), _ = read_on(log, position)
    assert (event.run, event.state) == ("100", S.RUNNING)


def test_what_was_activated_and_did_not_run_is_no_part_of_the_next_run() -> None:
    events = read_lines(
        status("01:00:00", "ACTIVATED", "LOAD", None),
        status("01:00:00", "QUE_WAIT", "LOAD", None),
        status("02:00:00", "ACTIVATED", "LOAD", None),
        *RAN,
    )
    assert events[0].at == datetime(2026, 3, 4, 2, tzinfo=UTC)
    for word in ("ON_HOLD", "ON_ICE", "ON_NOEXEC"):
        events = read_lines(
            status("01:00:00", "ACTIVATED", "LOAD", None), status("01:10:00", word, "LOAD", None), *RAN
        )
        assert [e.status for e in events] == [word, "STARTING", "RUNNING", "SUCCESS"]


def test_a_pending_restart_ends_when_the_box_runs_again() -> None:
    failed = [
        *RAN[:3],
        status("02:00:09", "FAILURE", "LOAD", code=1),
        status("02:00:10", "RESTART", "LOAD", None),
    ]
    again = [status("03:00:00", "ACTIVATED", "LOAD", None), status("03:00:01", "RUNNING", "LOAD")]
    assert [(e.run, e.attempt) for e in read_lines(*failed, *again)[-1:]] == [("@2026-03-04T03:00:00Z", 1)]


@pytest.mark.parametrize("code", [0, None])
def test_an_end_whose_beginning_was_not_read_is_no_operators(code: Any) -> None:
    (event,) = read_lines(status("02:00:00", "SUCCESS", "BOX", None, code=code))
    assert (event.run, event.attempt, event.ending) == ("@2026-03-04T02:00:00Z", 1, Ending.GENUINE)


def test_that_a_job_has_a_machine_is_remembered_when_its_run_is_forgotten() -> None:
    runs = DemonRuns(UTC, "ACE")
    runs.read(status("01:00:00", "SUCCESS", "LOAD", code=0, day="03/01/2026"), "log:1")
    runs.read(status("01:00:00", "RUNNING", "OTHER", day="03/04/2026"), "log:2")
    runs.forget()
    assert "LOAD" not in runs.state.jobs
    again = DemonRuns(UTC, "ACE", state=DemonState.model_validate_json(runs.state.model_dump_json()))
    (event,) = again.read(status("02:00:00", "SUCCESS", "LOAD", None), "log:3")
    assert (event.attempt, event.ending) == (0, Ending.FORCED)


def test_what_never_ran_has_no_run_of_its_own() -> None:
    assert (
        read_lines(
            status("01:00:00", "ACTIVATED", "LOAD", None), status("02:00:00", "INACTIVE", "LOAD", None)
        )
        == []
    )
    (held, iced) = read_lines(
        status("01:00:00", "ON_HOLD", "LOAD", None), status("01:10:00", "ON_ICE", "LOAD", None)
    )
    assert (held.run, held.state) == (None, S.HELD)
    assert (iced.run, iced.state, iced.ending) == (None, S.SKIPPED, Ending.BYPASSED)


def test_other_lines_say_nothing() -> None:
    assert (
        read_lines(
            "[03/04/2026 01:00:00]  CAUAJM_I_40245 EVENT: ALARM            ALARM: JOBFAILURE       JOB: LOAD",
            "[03/04/2026 01:00:00]  CAUAJM_I_40245 EVENT: SET_GLOBAL       GLOBAL: DAY = 2013-01-01",
            "[03/04/2026 01:00:00]  CAUAJM_I_40162 The starting conditions for job LOAD have not been met.",
            "[03/04/2026 01:00:00]  CAUAJM_I_10082 [hostA connected for KILLJOB LOAD 77.1620.1]",
            "",
            "----",
        )
        == []
    )


def test_a_line_that_is_yet_to_come_is_refused_and_moves_no_clock() -> None:
    runs = DemonRuns(UTC, "ACE")
    runs.read(status("01:00:05", "STARTING", "LOAD"), "log:1")
    with pytest.raises(
        WrongLine, match=r"is not a time of this log: 2099-.* is in the future; it is 20.* now"
    ):
        runs.read(status("01:00:06", "RUNNING", "LOAD", day="03/04/2099"), "log:2")
    with pytest.raises(WrongLine, match="is before 1990"):
        runs.read(status("01:00:06", "RUNNING", "LOAD", day="01/01/1970"), "log:2")
    assert runs.state.last == datetime(2026, 3, 4, 1, 0, 5, tzinfo=UTC)
    runs.forget()
    assert short(runs.read(connected("01:00:07", "LOAD", "77.1620.1"), "log:3"))


def test_the_repeated_hour_is_resolved_by_line_order() -> None:
    events = read_lines(
        status("01:10:00", "RUNNING", "BOX", None, day="11/01/2026"),
        status("01:50:00", "RUNNING", "LOAD", day="11/01/2026"),
        status("01:05:00", "SUCCESS", "LOAD", code=0, day="11/01/2026"),
        status("01:55:00", "SUCCESS", "BOX", None, day="11/01/2026"),
        status("02:00:00", "RUNNING", "NEXT", day="11/01/2026"),
        zone=NEW_YORK,
    )
    assert [f"{event.at:%H:%M}" for event in events] == ["05:10", "05:50", "06:05", "06:55", "07:00"]


@given(
    st.sampled_from(["America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kolkata"]),
    st.datetimes(datetime(2025, 1, 1), datetime(2025, 12, 1)),  # noqa: DTZ001
    st.lists(st.integers(0, 20), min_size=1, max_size=400),
)
def test_times_of_a_busy_log_are_exact_in_any_zone_on_any_night(zone: Any, start: Any, gaps: Any) -> None:
    here = ZoneInfo(zone)
    clock = Clock(here)
    instant = start.replace(tzinfo=UTC)
    first = instant.astimezone(here)
    if first.fold:
        return  # a log that begins in the second pass cannot show it
    for gap in [0, *gaps]:
        instant += timedelta(minutes=gap)
        local = instant.astimezone(here).replace(tzinfo=None, fold=0)
        assert clock.instant(local) == instant


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "event_demon.ACE"


def night(count: Any, start: Any = 0) -> Any:
    lines = []
    for number in range(start, start + count):
        time = f"0{number // 60}:{number % 60:02d}"
        lines += [
            status(f"{time}:00", "STARTING", f"JOB{number}"),
            connected(f"{time}:01", f"JOB{number}", f"7.{number}.1"),
            status(f"{time}:02", "RUNNING", f"JOB{number}"),
            status(f"{time}:30", "SUCCESS", f"JOB{number}", code=0),
        ]
    return "".join(f"{line}\n" for line in lines)


def read_on(log: Path, position: Any = None) -> Any:
    reader = DemonLog(log, UTC, position)
    events = [event for piece in reader.read() for event in piece.events]
    return events, LogPosition.model_validate_json(reader.position.model_dump_json())


@given(cuts=st.lists(st.integers(0, 4000), max_size=8))
def test_a_log_that_grows_is_read_once_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: Any
) -> None:
    log = tmp_path_factory.mktemp("log") / "event_demon.ACE"
    text = night(12)
    log.write_text(text)
    expected, _ = read_on(log)
    found, position = [], None
    for cut in [*sorted(cuts), len(text)]:
        log.write_text(text[:cut])
        events, position = read_on(log, position)
        found += events
    assert found == expected
    assert len({event.key for event in found}) == len(found)
    assert found[-1].origin == f"{log}:48"


@pytest.mark.parametrize("copied", [True, False])
def test_over_midnight_the_old_file_is_finished_first(log: Path, copied: Any) -> None:
    log.write_text(night(5))
    before, position = read_on(log)
    with log.open("a") as more:
        more.write(night(3, 5) + status("00:59:59", "RUNNING", "LAST"))  # its last line was not finished
    old = log.with_name("event_demon.ACE.03042026")
    if copied:
        shutil.copy(log, old)
        os.truncate(log, 0)
    else:
        log.rename(old)
    log.write_text(status("00:00:10", "RUNNING", "LATER", day="03/05/2026") + "\n")
    after, position = read_on(log, position)
    assert [event.process for event in after[-2:]] == ["LAST", "LATER"]
    assert len(before) + len(after) == 8 * 3 + 2
    assert after[-1].origin == f"{log}:1"
    assert read_on(log, position)[0] == []


def test_a_job_under_way_at_midnight_keeps_its_run(log: Path) -> None:
    log.write_text(
        night(1)
        + status("23:59:00", "STARTING", "LONG")
        + "\n"
        + connected("23:59:01", "LONG", "7.99.1")
        + "\n"
    )
    _, position = read_on(log)
    log.rename(log.with_name("event_demon.ACE.old"))
    log.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="03/05/2026") + "\n")
    (event,), _ = read_on(log, position)
    assert (event.run, event.ending, event.instance) == ("99", Ending.GENUINE, "ACE")


def day_of(number: Any, *more: Any) -> Any:
    """A log of a day in November: one job, which ends, and further lines."""
    day = f"11/{number}/2026"
    lines = [
        status("00:00:05", "STARTING", f"JOB{number}", day=day),
        connected("00:00:06", f"JOB{number}", f"7.{number}.1", day=day),
        status("03:00:00", "SUCCESS", f"JOB{number}", code=0, day=day),
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)


def rotated_thrice(log: Path, named: Any = "event_demon.ACE.11{}2026") -> Any:
    """Read in the log of the 20th; now it is the 23rd. The files' names and dates are in no order."""
    begun = [
        status("23:59:00", "STARTING", "LONG", day="11/20/2026"),
        connected("23:59:01", "LONG", "7.99.1", day="11/20/2026"),
    ]
    log.write_text(day_of(20, begun[0]))
    _, position = read_on(log)
    log.write_text(day_of(20, *begun))
    log.rename(log.with_name(named.format(20)))
    log.with_name(named.format(22)).write_text(day_of(22))
    end = status("00:10:00", "SUCCESS", "LONG", code=0, day="11/21/2026")
    log.with_name(named.format(21)).write_text(day_of(21, end).removesuffix("\n"))
    log.with_name(named.format(19)).write_text(day_of(19))
    log.with_name("event_demon.ACE2").write_text(day_of(22).replace("JOB22", "OTHERS"))
    log.write_text(day_of(23))
    return position


@pytest.mark.parametrize("named", ["event_demon.ACE.11{}2026", "event_demon.ACE.old{}"])
def test_all_logs_since_the_position_are_read_in_their_order(log: Path, named: Any) -> None:
    position = rotated_thrice(log, named)
    reader = DemonLog(log, UTC, position)
    pieces = list(reader.read())
    ends = [(e.process, e.run) for piece in pieces for e in piece.events if e.state is S.SUCCESS]
    assert ends == [("JOB21", "21"), ("LONG", "99"), ("JOB22", "22"), ("JOB23", "23")]
    assert [error for piece in pieces for error in piece.errors] == []
    assert list(reader.read()) == []


def test_a_reader_that_dies_between_two_rotated_logs_goes_on_there(log: Path) -> None:
    expected, _ = read_on(log, rotated_thrice(log))
    found, position = [], rotated_thrice(log)
    for _ in range(5):  # the last line of one is a separate piece
        reader = DemonLog(log, UTC, position)
        piece = next(reader.read())
        found += piece.events
        position = LogPosition.model_validate_json(reader.position.model_dump_json())
    assert found == expected
    assert read_on(log, position)[0] == []


def test_a_log_copied_twice_is_read_once(log: Path) -> None:
    position = rotated_thrice(log)
    shutil.copy(log.with_name("event_demon.ACE.11222026"), log.with_name("event_demon.ACE.11222026.bak"))
    shutil.copy(log, log.with_name("event_demon.ACE.11232026"))  # and is about to be emptied
    events, _ = read_on(log, position)
    assert [e.process for e in events if e.state is S.SUCCESS] == ["JOB21", "LONG", "JOB22", "JOB23"]


def test_when_the_log_of_the_position_is_gone_what_is_younger_is_read_and_a_warning_given(log: Path) -> None:
    position = rotated_thrice(log)
    log.with_name("event_demon.ACE.11202026").unlink()
    reader = DemonLog(log, UTC, position)
    pieces = list(reader.read())
    ends = [e.process for piece in pieces for e in piece.events if e.state is S.SUCCESS]
    assert ends == ["JOB21", "LONG", "JOB22", "JOB23"]
    (warning,) = [error for piece in pieces for error in piece.errors]
    assert (warning.rule, warning.severity) == ("log/rotation", Severity.WARNING)
    assert "read up to 2026-11-20 23:59:00 UTC no longer exists next to the log" in warning.message
    assert warning.message.endswith(
        "Continuing with event_demon.ACE.11212026, event_demon.ACE.11222026, event_demon.ACE"
    )
    assert list(reader.read()) == []


def test_after_a_gap_an_end_does_not_belong_to_the_run_before_it(log: Path) -> None:
    log.write_text(status("01:00:00", "SUCCESS", "BOX", None, day="11/20/2026") + "\n")
    _, position = read_on(log)
    log.write_text(status("01:00:00", "SUCCESS", "BOX", None, day="11/21/2026") + "\n")
    (event,), _ = read_on(log, position)
    assert (event.run, event.ending) == ("@2026-11-21T01:00:00Z", Ending.GENUINE)


def test_a_compressed_log_is_not_passed_over_in_silence(log: Path) -> None:
    position = rotated_thrice(log)
    plain = log.with_name("event_demon.ACE.11222026")
    log.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert not [
        e for piece in DemonLog(log, UTC, position.model_copy(deep=True)).read() for e in piece.errors
    ]
    plain.unlink()
    (warning,) = [error for piece in DemonLog(log, UTC, position).read() for error in piece.errors]
    assert (warning.severity, warning.file) == (Severity.WARNING, f"{plain}.gz")


@pytest.mark.parametrize("begun", [None, "", "[11/2"])
def test_until_the_new_log_begins_the_position_stays_in_the_old_one(log: Path, begun: Any) -> None:
    position = rotated_thrice(log)
    for number in (21, 22):
        log.with_name(f"event_demon.ACE.11{number}2026").unlink()
    if begun is None:
        log.unlink()
    else:
        log.write_text(begun)
    old = log.with_name("event_demon.ACE.11202026")
    last = status("23:59:58", "RUNNING", "LAST", day="11/20/2026")
    with old.open("a") as more:
        more.write(last[:70])  # the demon has not let go of it
    reader = DemonLog(log, UTC, position)
    assert [piece.errors for piece in reader.read()] == [[]]
    with old.open("a") as more:
        more.write(last[70:] + "\n")
    assert [e.process for piece in reader.read() for e in piece.events] == ["LAST"]
    assert list(reader.read()) == []
    log.with_name("event_demon.ACE.11212026").write_text(day_of(21))  # while no one read
    log.write_text(day_of(22))
    events = [event for piece in reader.read() for event in piece.events]
    assert [e.process for e in events if e.state is S.SUCCESS] == ["JOB21", "JOB22"]


def kept(*paths: Any, **given: Any) -> Any:
    return [event for _, piece in read_kept(paths, UTC, **given) for event in piece.events]


def test_kept_logs_of_one_scheduler_are_one_in_the_order_of_time(tmp_path: Path) -> None:
    first, second, other = (
        tmp_path / name for name in ("event_demon.X.10202026", "event_demon.X.1", "event_demon.Y.10202026")
    )
    begun = [
        status("23:59:00", "STARTING", "LONG", day="11/20/2026"),
        connected("23:59:01", "LONG", "7.99.1", day="11/20/2026"),
        status("23:59:02", "RUNNING", "BOX", None, day="11/20/2026"),
    ]
    first.write_text(day_of(20, *begun).removesuffix("\n"))
    second.write_text(
        day_of(
            21,
            status("00:10:00", "SUCCESS", "LONG", code=0, day="11/21/2026"),
            status("00:11:00", "SUCCESS", "BOX", None, code=0, day="11/21/2026"),
        )
    )
    other.write_text(status("00:10:00", "SUCCESS", "LONG", code=0, day="11/21/2026") + "\n")
    copied = tmp_path / "event_demon.X.copy"
    copied.write_bytes(first.read_bytes()[:300])
    events = kept(second, copied, other, first)
    ends = [(e.instance, e.process, e.run, e.ending) for e in events if e.state is S.SUCCESS]
    assert sorted(ends) == [
        ("X", "BOX", "@2026-11-20T23:59:02Z", Ending.GENUINE),
        ("X", "JOB20", "20", Ending.GENUINE),
        ("X", "JOB21", "21", Ending.GENUINE),
        ("X", "LONG", "99", Ending.GENUINE),
        ("Y", "LONG", "@2026-11-21T00:10:00Z", Ending.GENUINE),
    ]
    assert kept() == []


def test_kept_logs_that_are_no_neighbours_share_no_run_but_what_has_a_machine(tmp_path: Path) -> None:
    first, later = tmp_path / "event_demon.X.1", tmp_path / "event_demon.X.2"
    first.write_text(day_of(20, status("23:00:00", "RUNNING", "BOX", None, day="11/20/2026")))
    later.write_text(
        status("00:00:00", "SUCCESS", "BOX", None, day="11/25/2026") + "\n"
        + status("00:00:00", "SUCCESS", "JOB20", None, day="11/25/2026") + "\n"
    )  # fmt: skip
    box, job = kept(first, later)[-2:]
    assert (box.run, box.ending) == ("@2026-11-25T00:00:00Z", Ending.GENUINE)
    assert (job.run, job.ending) == ("@2026-11-25T00:00:00Z", Ending.FORCED)


def test_a_line_that_cannot_be_read_costs_itself_alone(log: Path) -> None:
    log.write_text(
        status("25:00:00", "SUCCESS", "A") + "\n" + status("01:00:00", "NONSENSE", "B") + "\n"
        + status("01:00:00", "RUNNING", "C") + "\n"
    )  # fmt: skip
    piece, running = DemonLog(log, UTC).read()
    assert [event.process for event in running.events] == ["C"]
    assert [(error.line, error.file) for error in piece.errors] == [(1, str(log)), (2, str(log))]
    assert "hour must be in 0..23" in piece.errors[0].message


def test_the_name_contains_the_scheduler() -> None:
    assert instance_of("event_demon.ACE") == instance_of("event_demon.ACE.11262026") == "ACE"
    assert instance_of("event_demon.log") == instance_of("other.ACE") == ""
