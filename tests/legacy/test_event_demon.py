"""The event demon's log: which run and attempt each line is about, its clock, and reading it as it grows."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.records import RunState
from catalog.run_events import Ending
from legacy.demon_lines import Clock
from legacy.demon_runs import DemonRuns
from legacy.event_demon import DemonLog, LogPosition, instance_of

S = RunState
NEW_YORK = ZoneInfo("America/New_York")


def status(time, word, job, machine="hostA", code=None, day="03/04/2026"):
    parts = [f"[{day} {time}]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: {word:<15} JOB: {job:<20}"]
    parts += [f"MACHINE: {machine:<12}"] if machine else []
    parts += [f"EXITCODE:  {code}"] if code is not None else []
    return " ".join(parts)


def connected(time, job, number, machine="hostA", day="03/04/2026"):
    return f"[{day} {time}]      CAUAJM_I_10082 [{machine} connected for {job} {number}]"


def told(*lines, zone=UTC):
    runs = DemonRuns(zone, "ACE")
    return [event for number, line in enumerate(lines, 1) for event in runs.read(line, f"log:{number}")]


def short(events):
    return [(event.process, event.run, event.attempt, event.state, event.ending) for event in events]


def test_a_run_gets_its_number_from_the_line_that_tells_it():
    events = told(
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


def test_a_retry_is_the_next_attempt_of_the_run():
    lines = [
        status("01:00:05", "STARTING", "LOAD"),
        connected("01:00:06", "LOAD", "77.1620.1"),
        status("01:10:00", "FAILURE", "LOAD", code=3),
        status("01:10:30", "RESTART", "LOAD", None),
    ]
    again = [status("01:11:00", "STARTING", "LOAD"), connected("01:11:01", "LOAD", "77.1620.2")]
    end = status("01:30:00", "SUCCESS", "LOAD", code=0)
    for middle in (again, []):  # the lines between may be missing
        events = short(told(*lines, *middle, end))
        assert events[1] == ("LOAD", "1620", 1, S.FAILED, Ending.GENUINE)
        assert events[2] == ("LOAD", "1620", 2, S.QUEUED, None)
        assert events[-1] == ("LOAD", "1620", 2, S.SUCCESS, Ending.GENUINE)


def test_the_next_run_is_another():
    events = told(
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


def test_without_a_number_a_run_is_known_by_its_beginning():
    events = told(status("01:00:05", "STARTING", "LOAD"), status("01:00:07", "RUNNING", "LOAD"))
    assert {event.run for event in events} == {"@2026-03-04T01:00:05Z"}


def test_boxes_have_no_machine_and_end_genuinely():
    events = told(
        status("01:00:00", "RUNNING", "BOX", None), status("02:00:00", "SUCCESS", "BOX", None, code=0)
    )
    assert short(events) == [
        ("BOX", "@2026-03-04T01:00:00Z", 1, S.RUNNING, None),
        ("BOX", "@2026-03-04T01:00:00Z", 1, S.SUCCESS, Ending.GENUINE),
    ]


def test_what_an_operator_says_is_forced():
    by_hand = ("LOAD", "1620", 0, S.SUCCESS, Ending.FORCED)
    begun = [status("01:00:05", "STARTING", "LOAD"), connected("01:00:06", "LOAD", "77.1620.1")]
    failed = status("01:10:00", "FAILURE", "LOAD", code=3)
    said = status("01:20:00", "SUCCESS", "LOAD", None)
    assert short(told(*begun, failed, said))[-1] == by_hand
    assert short(told(*begun, said))[-1] == by_hand
    (only,) = told(said)
    assert (only.attempt, only.ending) == (0, Ending.FORCED)


def test_what_never_ran_has_no_run_of_its_own():
    assert (
        told(status("01:00:00", "ACTIVATED", "LOAD", None), status("02:00:00", "INACTIVE", "LOAD", None))
        == []
    )
    (held, iced) = told(
        status("01:00:00", "ON_HOLD", "LOAD", None), status("01:10:00", "ON_ICE", "LOAD", None)
    )
    assert (held.run, held.state) == (None, S.HELD)
    assert (iced.run, iced.state, iced.ending) == (None, S.SKIPPED, Ending.BYPASSED)


def test_other_lines_say_nothing():
    assert (
        told(
            "[03/04/2026 01:00:00]  CAUAJM_I_40245 EVENT: ALARM            ALARM: JOBFAILURE       JOB: LOAD",
            "[03/04/2026 01:00:00]  CAUAJM_I_40245 EVENT: SET_GLOBAL       GLOBAL: DAY = 2013-01-01",
            "[03/04/2026 01:00:00]  CAUAJM_I_40162 The starting conditions for job LOAD have not been met.",
            "[03/04/2026 01:00:00]  CAUAJM_I_10082 [hostA connected for KILLJOB LOAD 77.1620.1]",
            "",
            "----",
        )
        == []
    )


def test_an_hour_that_comes_twice_is_told_apart_by_the_order_of_the_lines():
    events = told(
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
    st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 1)),  # noqa: DTZ001
    st.lists(st.integers(0, 20), min_size=1, max_size=400),
)
def test_times_of_a_busy_log_are_exact_in_any_zone_on_any_night(zone, start, gaps):
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
def log(tmp_path) -> Path:
    return tmp_path / "event_demon.ACE"


def night(count, start=0):
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


def read_on(log, position=None):
    reader = DemonLog(log, UTC, position)
    events = [event for piece in reader.read() for event in piece.events]
    return events, LogPosition.model_validate_json(reader.position.model_dump_json())


@given(cuts=st.lists(st.integers(0, 4000), max_size=8))
def test_a_log_that_grows_is_read_once_wherever_it_is_cut(tmp_path_factory, cuts):
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
def test_over_midnight_the_old_file_is_finished_first(log, copied):
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


def test_a_job_under_way_at_midnight_keeps_its_run(log):
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


def test_a_line_that_cannot_be_read_costs_itself_alone(log):
    log.write_text(
        status("25:00:00", "SUCCESS", "A") + "\n" + status("01:00:00", "NONSENSE", "B") + "\n"
        + status("01:00:00", "RUNNING", "C") + "\n"
    )  # fmt: skip
    (piece,) = DemonLog(log, UTC).read()
    assert [event.process for event in piece.events] == ["C"]
    assert [(error.line, error.file) for error in piece.errors] == [(1, str(log)), (2, str(log))]
    assert "hour must be in 0..23" in piece.errors[0].message


def test_the_name_tells_the_scheduler():
    assert instance_of("event_demon.ACE") == instance_of("event_demon.ACE.11262026") == "ACE"
    assert instance_of("event_demon.log") == instance_of("other.ACE") == ""
