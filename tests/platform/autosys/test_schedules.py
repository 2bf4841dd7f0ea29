"""Parsed time attributes, and the resulting starts, on ordinary days and on days with clock changes."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.autosys.calendars import ExtendedCalendar, Standard
from headrace.autosys.jil import Attribute
from headrace.autosys.jobs import make_job
from headrace.autosys.schedules import Must, Schedule
from headrace.autosys.starts import Clock, NoStartError, next_start, starts


def reading(**written: Any) -> Any:
    attributes = [Attribute(name, value, line) for line, (name, value) in enumerate(written.items(), 1)]
    findings: list[Any] = []
    return make_job("J", "f.jil", 1, tuple(attributes), findings).schedule, tuple(findings)


def scheduled(**written: Any) -> Any:
    schedule, findings = reading(date_conditions="1", **written)
    assert findings == ()
    return schedule


def utc(*when: Any) -> Any:
    return datetime(*when, tzinfo=UTC)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"start_times": "18:30, 19:00,23:59"}, {"start_times": (time(18, 30), time(19), time(23, 59))}),
        ({"start_times": '"10:00","11:30"'}, {"start_times": (time(10), time(11, 30))}),
        ({"start_times": "1:05"}, {"start_times": (time(1, 5),)}),
        ({"start_mins": "0, 15, 30, 45"}, {"start_mins": (0, 15, 30, 45)}),
        ({"days_of_week": "mo,tu,WE"}, {"days": frozenset({0, 1, 2})}),
        ({"days_of_week": "all"}, {"days": frozenset(range(7))}),
        ({"run_window": "18:00-23:59"}, {"run_window": (time(18), time(23, 59))}),
        ({"run_window": "23:00 - 02:00"}, {"run_window": (time(23), time(2))}),
        ({"timezone": "Europe/London"}, {"timezone": "Europe/London"}),
        ({"run_calendar": "A", "exclude_calendar": "B"}, {"run_calendar": "A", "exclude_calendar": "B"}),
        (
            {"must_complete_times": "+45, +30"},
            {"must_complete": (Must(timedelta(minutes=45), True), Must(timedelta(minutes=30), True))},
        ),
        ({"must_start_times": "34:00"}, {"must_start": (Must(timedelta(hours=34), False),)}),
        (
            {"max_run_alarm": "45", "min_run_alarm": "1", "term_run_time": "180", "n_retrys": "2"},
            {"max_run_alarm": 45, "min_run_alarm": 1, "term_run_time": 180, "n_retrys": 2},
        ),
    ],
)
def test_attributes_are_read(written: Any, expected: Any) -> None:
    schedule, findings = reading(date_conditions="y", **written)
    assert (schedule, findings) == (Schedule(date_conditions=True, **expected), ())


@pytest.mark.parametrize(
    ("name", "value"),
    [("start_times", "25:00"), ("start_times", "10"), ("start_mins", "60"), ("days_of_week", "mon"),
     ("run_window", "18:00"),
     ("must_start_times", "72:00"), ("n_retrys", "x"), ("date_conditions", "maybe")],
)  # fmt: skip
def test_a_value_that_cannot_be_read_is_a_finding_by_line(name: Any, value: Any) -> None:
    schedule, findings = reading(owner="o", **({"date_conditions": "1"} | {name: value}))
    assert (findings[0].rule, findings[0].subject, findings[0].attribute) == (f"schedule/{name}", "J", name)
    assert findings[0].line == (2 if name == "date_conditions" else 3)
    assert schedule == Schedule(date_conditions=name != "date_conditions")


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ({"start_times": "10:00"}, "schedule/start_times"),  # date_conditions defaults to 0
        ({"date_conditions": "1", "start_times": "10:00", "start_mins": "1"}, "schedule/start_mins"),
        ({"date_conditions": "1", "days_of_week": "all", "run_calendar": "C"}, "schedule/run_calendar"),
        ({"date_conditions": "1", "timezone": "Nowhere"}, "schedule/timezone"),
        (
            {"date_conditions": "1", "start_times": "1:00,2:00", "must_start_times": "3:00"},
            "schedule/must_start_times",
        ),
    ],
)
def test_attributes_without_effect_are_findings(written: Any, rule: Any) -> None:
    assert [each.rule for each in reading(**written)[1]] == [rule]


NEW_YORK = Clock(ZoneInfo("America/New_York"))
LONDON = Clock(ZoneInfo("Europe/London"))


def locally(schedule: Any, after: Any, clock: Any, count: Any) -> Any:
    return [f"{each.local:%m-%d %H:%M:%S %Z}" for each in islice(starts(schedule, after, clock), count)]


# Broadcom's knowledge base, 417036: "repeated hour: start_times only in the second pass, start_mins in both;
# missing hour: 2:05 -> 3:00:05, only the first". In New York in 2026: 8 March and 1 November.
def test_in_the_missing_hour_the_first_start_alone_runs_just_after_it() -> None:
    schedule = scheduled(days_of_week="all", start_times="02:05, 02:25")
    assert locally(schedule, utc(2026, 3, 7, 12), NEW_YORK, 3) == [
        "03-08 03:00:05 EDT", "03-09 02:05:00 EDT", "03-09 02:25:00 EDT",
    ]  # fmt: skip
    assert "does not exist" in next_start(schedule, utc(2026, 3, 7, 12), NEW_YORK).why[-1]


def test_in_the_repeated_hour_start_times_run_in_the_second_pass() -> None:
    schedule = scheduled(days_of_week="su", start_times="1:05")
    start = next_start(schedule, utc(2026, 10, 31, 12), NEW_YORK)
    assert (start.at, f"{start.local:%H:%M %Z}") == (utc(2026, 11, 1, 6, 5), "01:05 EST")
    assert "the second counts" in start.why[-1]


def test_in_the_repeated_hour_start_mins_run_in_both_passes() -> None:
    schedule = scheduled(days_of_week="su", start_mins="0,30")
    assert locally(schedule, utc(2026, 11, 1, 4, 45), NEW_YORK, 5) == [
        "11-01 01:00:00 EDT", "11-01 01:30:00 EDT", "11-01 01:00:00 EST", "11-01 01:30:00 EST", "11-01 02:00:00 EST",
    ]  # fmt: skip


def test_in_the_missing_hour_start_mins_do_not_occur() -> None:
    schedule = scheduled(days_of_week="all", start_mins="0,40")
    assert locally(schedule, utc(2026, 3, 8, 5, 45), NEW_YORK, 4) == [
        "03-08 01:00:00 EST", "03-08 01:40:00 EST", "03-08 03:00:00 EDT", "03-08 03:40:00 EDT",
    ]  # fmt: skip


def test_the_same_rules_hold_where_the_change_is_at_another_hour() -> None:
    schedule = scheduled(days_of_week="all", start_times="01:30")
    assert locally(schedule, utc(2026, 3, 28, 12), LONDON, 1) == ["03-29 02:00:30 BST"]
    assert locally(schedule, utc(2026, 10, 24, 12), LONDON, 1) == ["10-25 01:30:00 GMT"]


def test_the_zone_of_the_job_goes_before_that_of_the_server() -> None:
    schedule = scheduled(days_of_week="all", start_times="18:30", timezone="america/new_york")
    assert next_start(schedule, utc(2026, 7, 1), LONDON).at == utc(2026, 7, 1, 22, 30)


def test_run_calendar_and_exclude_calendar() -> None:
    calendars = {
        "RUN": Standard("RUN", {date(2026, 12, day): () for day in (24, 25, 28)}),
        "OFF": Standard("OFF", {date(2026, 12, 25): ()}),
        "TIMED": Standard("TIMED", {date(2026, 12, 24): (time(7, 30), time(19))}),
        "MONDAYS": ExtendedCalendar("MONDAYS", {"condition": ("MON",)}),
    }
    clock = Clock(UTC, calendars)  # type: ignore[arg-type]
    both = scheduled(run_calendar="RUN", exclude_calendar="OFF", start_times="10:00")
    assert locally(both, utc(2026, 12, 1), clock, 9) == ["12-24 10:00:00 UTC", "12-28 10:00:00 UTC"]
    assert locally(scheduled(run_calendar="TIMED"), utc(2026, 12, 1), clock, 9) == [
        "12-24 07:30:00 UTC", "12-24 19:00:00 UTC",
    ]  # fmt: skip
    mondays = scheduled(run_calendar="MONDAYS", exclude_calendar="RUN", start_times="10:00")
    assert locally(mondays, utc(2026, 12, 20), clock, 2) == ["12-21 10:00:00 UTC", "01-04 10:00:00 UTC"]
    with pytest.raises(NoStartError, match="its last date is 2026-12-28"):
        next_start(both, utc(2026, 12, 28, 10), clock)
    with pytest.raises(NoStartError, match="XMAS is not among the exports"):
        next_start(scheduled(run_calendar="XMAS"), utc(2026, 12, 1), clock)


# A start outside the window goes to the next opening when that is nearer than the last close, else it is left out.
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("09:00-11:00", "12-01 10:00:00 UTC"),
        ("12:00-14:00", "12-01 12:00:00 UTC"),
        ("22:00-11:00", "12-01 10:00:00 UTC"),
        ("22:00-02:00", None),
        ("06:00-08:00", None),
    ],
)
def test_a_run_window_lets_start_moves_or_leaves_out(window: Any, expected: Any) -> None:
    schedule = scheduled(days_of_week="tu", start_times="10:00", run_window=window)
    assert locally(schedule, utc(2026, 12, 1), Clock(UTC), 1) == ([expected] if expected else [])


def test_must_times_are_due_by_the_slot() -> None:
    schedule = scheduled(
        days_of_week="all",
        start_times="10:00, 11:00",
        must_start_times="+5",
        must_complete_times="10:30, 34:00",
    )
    first, second = islice(starts(schedule, utc(2026, 12, 1), Clock(UTC)), 2)
    assert (first.must_start, first.must_complete) == (utc(2026, 12, 1, 10, 5), utc(2026, 12, 1, 10, 30))
    assert (second.must_start, second.must_complete) == (utc(2026, 12, 1, 11, 5), utc(2026, 12, 2, 10))


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ({"start_times": "10:00"}, "date_conditions is not 1"),
        ({"date_conditions": "1"}, "no days, calendar or start times"),
        ({"date_conditions": "1", "start_times": "10:00", "start_mins": "1"}, "exclude each other"),
        ({"date_conditions": "1", "start_times": "10:00", "timezone": "Nowhere"}, "not in the zone database"),
    ],
)
def test_why_there_is_no_start(written: Any, reason: Any) -> None:
    with pytest.raises(NoStartError, match=reason):
        next_start(reading(**written)[0], utc(2026, 12, 1), Clock(UTC))


ZONES = st.sampled_from(["America/New_York", "Europe/London", "Australia/Lord_Howe", "UTC", "Asia/Kolkata"])


@settings(deadline=None)
@given(
    st.lists(st.times(), min_size=1, max_size=3, unique_by=lambda at: (at.hour, at.minute)),
    st.integers(0, 365 * 24 * 60).map(lambda minutes: utc(2026, 1, 1) + timedelta(minutes=minutes)),
    ZONES,
)
def test_starts_go_forward_and_match_the_wall_clock_but_for_the_day_of_a_gap(
    times: Any, after: Any, zone: Any
) -> None:
    schedule = scheduled(days_of_week="all", start_times=",".join(f"{at:%H:%M}" for at in times))
    found = list(islice(starts(schedule, after, Clock(ZoneInfo(zone))), 5))
    assert [each.at for each in found] == sorted({each.at for each in found})
    assert all(each.at > after for each in found)
    for each in found:
        written = each.local.time().replace(second=0) in schedule.start_times
        assert written or any("does not exist" in line for line in each.why)
