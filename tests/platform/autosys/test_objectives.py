"""SLAs from must-times and alarms of jobs, in the catalog's form."""

from datetime import date
from typing import Any

import pytest

from headrace.autosys.calendars import read_calendars
from headrace.autosys.objectives import business_calendars, sla_of, unsupported_must_times
from headrace.autosys.schedules import read_schedule


def sla_with(**attributes: str) -> Any:
    schedule, problems = read_schedule({"date_conditions": "1", **attributes})
    assert not problems
    return sla_of(schedule, "PRD", "America/New_York")


def test_must_times_become_deadlines_of_their_start_times() -> None:
    found = sla_with(
        days_of_week="mo,fr",
        start_times='"22:00, 23:30"',
        must_start_times='"22:10, 23:40"',
        must_complete_times='"23:00, 25:15"',
        timezone="Europe/London",
    )
    assert found["start_by"] == [
        {"deadline": "10 22 * * 1,5", "timezone": "Europe/London", "within_seconds": 600},
        {"deadline": "40 23 * * 1,5", "timezone": "Europe/London", "within_seconds": 600},
    ]
    # 25:15 is a quarter past one of the day after: Tuesday and Saturday.
    assert found["complete_by"] == [
        {"deadline": "0 23 * * 1,5", "timezone": "Europe/London", "within_seconds": 3600},
        {"deadline": "15 1 * * 2,6", "timezone": "Europe/London", "days_after": 1, "within_seconds": 6300},
    ]


def test_relative_must_times_hold_for_every_start_on_the_days_of_the_calendar() -> None:
    found = sla_with(run_calendar="BUSINESS", start_times='"06:00, 18:00"', must_complete_times="+90")
    assert [each["deadline"] for each in found["complete_by"]] == ["30 7 * * *", "30 19 * * *"]
    assert {each["calendar"] for each in found["complete_by"]} == {"BUSINESS"}
    assert {each["timezone"] for each in found["complete_by"]} == {"America/New_York"}


def test_alarms_become_run_times() -> None:
    assert sla_with(max_run_alarm="90", min_run_alarm="5") == {
        "max_run_seconds": 5400,
        "min_run_seconds": 300,
    }


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"days_of_week": "all", "start_times": '"06:00"'},
        {"days_of_week": "all", "start_mins": "0,30", "must_complete_times": '"06:00, 07:00"'},
    ],
)
def test_must_times_without_a_start_have_no_objective(attributes: Any) -> None:
    assert sla_with(**attributes) is None


@pytest.mark.parametrize(
    ("offset", "crons"),
    [
        ("+5", ["5 * * * *", "35 * * * *"]),
        ("+45", ["45 * * * *", "15 * * * *"]),  # every hour of every day, whichever hour it began in
    ],
)
def test_jobs_that_start_by_minutes_have_a_deadline_after_each_start(offset: Any, crons: Any) -> None:
    found = sla_with(days_of_week="all", start_mins="0,30", must_complete_times=offset)
    assert [each["deadline"] for each in found["complete_by"]] == crons
    assert {each["within_seconds"] for each in found["complete_by"]} == {60.0 * int(offset)}


def test_what_starts_before_midnight_by_minutes_is_due_on_the_day_after() -> None:
    found = sla_with(days_of_week="mo", start_mins="50", must_start_times="+20", exclude_calendar="HOLIDAYS")
    # On Monday 0:50 to 22:50 by 1:10 to 23:10; on Monday 23:50 by 0:10 on Tuesday, unless Monday is a holiday.
    assert found["start_by"] == [
        {
            "deadline": "10 1-23 * * 1",
            "timezone": "America/New_York",
            "exclude_calendar": "HOLIDAYS",
            "instance": "PRD",
            "within_seconds": 1200,
        },
        {
            "deadline": "10 0 * * 2",
            "timezone": "America/New_York",
            "exclude_calendar": "HOLIDAYS",
            "instance": "PRD",
            "days_after": 1,
            "within_seconds": 1200,
        },
    ]


_EXTENDED = """\
extended_calendar: FRIDAYS
workday: mo,tu,we,th,fr
condition: FRI

extended_calendar: ODD
workday: mo,tu,we,th,fr
condition: SOMETHING#9
"""


def test_unsupported_must_times_are_findings() -> None:
    calendars = read_calendars(_EXTENDED, "calendars.txt")

    def unsupported(**attributes: str) -> list[str]:
        schedule, _ = read_schedule({"date_conditions": "1", **attributes})
        return [attribute for attribute, _ in unsupported_must_times(schedule, calendars, date(2026, 1, 1))]

    of_day = {"start_times": '"06:00"', "must_complete_times": "+5"}
    assert unsupported(run_calendar="FRIDAYS", **of_day) == []
    assert unsupported(run_calendar="ODD", **of_day) == ["run_calendar"]
    assert unsupported(run_calendar="FRIDAYS", exclude_calendar="ODD", **of_day) == ["exclude_calendar"]
    assert unsupported(days_of_week="all", start_mins="5", must_complete_times='"06:00"') == [
        "must_complete_times"
    ]
    assert unsupported(run_calendar="ODD", start_times='"06:00"') == []


def test_the_days_of_extended_calendars_that_are_certain() -> None:
    found = business_calendars(read_calendars(_EXTENDED, "calendars.txt"), date(2026, 6, 1))
    assert found.keys() == {"FRIDAYS"}
    assert {date(2026, 1, 2), date(2028, 2, 25)} <= set(found["FRIDAYS"])
    assert all(day.weekday() == 4 for day in found["FRIDAYS"])


def test_the_days_of_standard_calendars() -> None:
    text = "calendar: BUSINESS\ndescription: x\n01/05/2026 00:00:00\n01/06/2026 00:00:00\n"
    found = business_calendars(read_calendars(text, "calendars.txt"), date(2026, 1, 1))
    assert found == {"BUSINESS": (date(2026, 1, 5), date(2026, 1, 6))}
