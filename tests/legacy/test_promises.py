"""What jobs promise by their must-times and alarms, in the catalog's words."""

from datetime import date

import pytest

from legacy.calendars import read_calendars
from legacy.promises import business_calendars, sla_of
from legacy.schedules import read_schedule


def promised(**attributes: str):
    schedule, problems = read_schedule({"date_conditions": "1", **attributes})
    assert not problems
    return sla_of(schedule, "PRD", "America/New_York")


def test_must_times_become_deadlines_of_their_start_times():
    found = promised(
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


def test_relative_must_times_hold_for_every_start_on_the_days_of_the_calendar():
    found = promised(run_calendar="BUSINESS", start_times='"06:00, 18:00"', must_complete_times="+90")
    assert [each["deadline"] for each in found["complete_by"]] == ["30 7 * * *", "30 19 * * *"]
    assert {each["calendar"] for each in found["complete_by"]} == {"BUSINESS"}
    assert {each["timezone"] for each in found["complete_by"]} == {"America/New_York"}


def test_alarms_become_run_times():
    assert promised(max_run_alarm="90", min_run_alarm="5") == {
        "max_run_seconds": 5400,
        "min_run_seconds": 300,
    }


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"days_of_week": "all", "start_times": '"06:00"'},
        {"days_of_week": "all", "start_mins": "0,30", "must_complete_times": "+5"},
        {
            "days_of_week": "all",
            "start_times": '"06:00"',
            "must_complete_times": "+5",
            "exclude_calendar": "HOLIDAYS",
        },
    ],
)
def test_what_a_cron_cannot_say_is_not_promised(attributes):
    assert promised(**attributes) is None


def test_the_days_of_standard_calendars():
    text = "calendar: BUSINESS\ndescription: x\n01/05/2026 00:00:00\n01/06/2026 00:00:00\n"
    found = business_calendars(read_calendars(text, "calendars.txt"))
    assert found == {"BUSINESS": (date(2026, 1, 5), date(2026, 1, 6))}
