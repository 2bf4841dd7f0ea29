"""Deadlines of crons in zones: tables of moments, and nights with clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.slas.calendars import Calendars
from headrace.slas.deadlines import following, preceding
from headrace.slas.objectives import Clock

NEW_YORK = "America/New_York"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def around(cron: str, zone: str, now: datetime) -> tuple[datetime, datetime]:
    """The last deadline at or before a moment and the first after it."""
    clock = Clock(deadline=cron, timezone=zone)
    return preceding(clock, Calendars(), now), following(clock, Calendars(), now)


# In 2026 New York's clocks go from 1:59 to 3:00 on 8 March (7:00 UTC) and from 1:59 to 1:00 on 1 November (6:00 UTC).
@pytest.mark.parametrize(
    ("cron", "now", "passed", "upcoming"),
    [
        (
            "0 6 * * *",
            "2026-03-07T12:00",
            "2026-03-07T11:00",
            "2026-03-08T10:00",
        ),  # an hour earlier from then on
        ("0 6 * * *", "2026-03-08T12:00", "2026-03-08T10:00", "2026-03-09T10:00"),
        ("30 2 * * *", "2026-03-08T06:59", "2026-03-07T07:30", "2026-03-08T07:00"),  # 2:30 is left out
        ("30 2 * * *", "2026-03-08T07:00", "2026-03-08T07:00", "2026-03-09T06:30"),
        ("30 1 * * *", "2026-11-01T05:29", "2026-10-31T05:30", "2026-11-01T05:30"),  # 1:30 comes twice
        ("30 1 * * *", "2026-11-01T05:30", "2026-11-01T05:30", "2026-11-02T06:30"),
        ("30 1 * * *", "2026-11-01T06:10", "2026-11-01T05:30", "2026-11-02T06:30"),
        ("30 1 * * *", "2026-11-01T06:30", "2026-11-01T05:30", "2026-11-02T06:30"),
        (
            "*/30 * * * *",
            "2026-11-01T06:29",
            "2026-11-01T06:00",
            "2026-11-01T06:30",
        ),  # every half-hour, both times
        ("@daily", "2026-11-01T12:00", "2026-11-01T04:00", "2026-11-02T05:00"),
        (
            "0 6 * * 1-5",
            "2026-11-01T12:00",
            "2026-10-30T10:00",
            "2026-11-02T11:00",
        ),  # Friday to Monday, across it
        ("0 6 29 2 *", "2026-11-01T12:00", "2024-02-29T11:00", "2028-02-29T11:00"),
    ],
)
def test_deadlines(cron: str, now: str, passed: str, upcoming: str) -> None:
    assert around(cron, NEW_YORK, at(now)) == (at(passed), at(upcoming))


@given(
    minutes=st.integers(0, 366 * 24 * 60),
    seconds=st.integers(0, 59),
    cron=st.sampled_from(
        ["30 1 * * *", "30 2 * * *", "0 * * * *", "15,45 1-3 * * *", "0 6 * * 1-5", "0 0 1 * *"]
    ),
    zone=st.sampled_from([NEW_YORK, "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
)
def test_deadlines_enclose_the_moment_and_agree_with_each_other(
    minutes: int, seconds: int, cron: str, zone: str
) -> None:
    now = at("2026-01-01T00:00") + timedelta(minutes=minutes, seconds=seconds)
    passed, upcoming = around(cron, zone, now)
    assert passed <= now < upcoming
    assert around(cron, zone, passed) == (passed, upcoming)
    assert around(cron, zone, upcoming - timedelta(seconds=1)) == (passed, upcoming)


@given(minutes=st.integers(0, 365 * 24 * 60))
def test_away_from_clock_changes_a_daily_deadline_is_the_wall_clock(minutes: int) -> None:
    now = at("2026-01-01T00:00") + timedelta(minutes=minutes)
    zone = ZoneInfo(NEW_YORK)
    today = now.astimezone(zone).replace(hour=12, minute=0, second=0, microsecond=0)
    days = [today + timedelta(days=step) for step in (-1, 0, 1)]  # wall-clock arithmetic
    passed, upcoming = around("0 12 * * *", NEW_YORK, now)
    assert passed == max(day for day in days if day.astimezone(UTC) <= now).astimezone(UTC)
    assert upcoming == min(day for day in days if day.astimezone(UTC) > now).astimezone(UTC)
