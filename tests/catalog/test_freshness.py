"""Freshness against SLAs: tables of moments, and the nights on which clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.freshness import Freshness, FreshnessState, deadlines, freshness

NEW_YORK = "America/New_York"
SIX = {"deadline": "0 6 * * *", "timezone": NEW_YORK, "within_seconds": 5 * 3600, "warn_before_seconds": 3600}
AGED = {"max_age_seconds": 26 * 3600.0, "warn_after_seconds": 24 * 3600.0}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# 6:00 in New York is 11:00 UTC in winter; what is published from 1:00 (6:00 UTC) on counts for that day's deadline.
@pytest.mark.parametrize(
    ("published", "now", "state", "deadline"),
    [
        ("2026-01-10T07:00", "2026-01-10T08:00", "FRESH", "2026-01-10T11:00"),  # early for today's, before it
        ("2026-01-10T07:00", "2026-01-10T10:30", "FRESH", "2026-01-10T11:00"),  # so that no warning is due
        ("2026-01-10T07:00", "2026-01-10T11:00", "FRESH", "2026-01-11T11:00"),
        ("2026-01-09T07:00", "2026-01-10T09:59", "FRESH", "2026-01-10T11:00"),
        ("2026-01-09T07:00", "2026-01-10T10:00", "DUE", "2026-01-10T11:00"),
        ("2026-01-09T07:00", "2026-01-10T10:59", "DUE", "2026-01-10T11:00"),
        ("2026-01-09T07:00", "2026-01-10T11:00", "LATE", "2026-01-10T11:00"),
        (
            "2026-01-10T05:59",
            "2026-01-10T11:00",
            "LATE",
            "2026-01-10T11:00",
        ),  # too early to hold the day's data
        ("2026-01-10T06:00", "2026-01-10T11:00", "FRESH", "2026-01-11T11:00"),
        ("2026-01-10T12:00", "2026-01-10T12:01", "FRESH", "2026-01-11T11:00"),  # late, and there now
        ("2025-12-01T07:00", "2026-01-10T12:00", "LATE", "2026-01-10T11:00"),
        (None, "2026-01-10T12:00", "NEVER", "2026-01-10T11:00"),
    ],
)
def test_deadline(published: str | None, now: str, state: str, deadline: str) -> None:
    published_at = at(published) if published else None
    assert freshness(SIX, published_at, at(now)) == Freshness(FreshnessState(state), at(deadline))


@pytest.mark.parametrize(
    ("published", "state"),
    [
        ("2026-01-09T11:00", "FRESH"),  # right at the deadline before: made for today's
        ("2026-01-09T10:59", "LATE"),  # before it: yesterday's
        ("2026-01-10T10:59", "FRESH"),
    ],
)
def test_without_within_a_publish_since_the_deadline_before_counts(published: str, state: str) -> None:
    sla = {"deadline": "0 6 * * *", "timezone": NEW_YORK}
    found = freshness(sla, at(published), at("2026-01-10T11:30"))
    assert found is not None
    assert found.state == state


@pytest.mark.parametrize(
    ("now", "state"),
    [
        ("2026-01-10T07:00", "FRESH"),
        ("2026-01-11T06:59", "FRESH"),
        ("2026-01-11T07:00", "DUE"),
        ("2026-01-11T08:59", "DUE"),
        ("2026-01-11T09:00", "LATE"),
        ("2026-02-11T09:00", "LATE"),
    ],
)
def test_age(now: str, state: str) -> None:
    found = freshness(AGED, at("2026-01-10T07:00"), at(now))
    assert found == Freshness(FreshnessState(state), at("2026-01-11T09:00"))


def test_age_of_nothing() -> None:
    assert freshness(AGED, None, at("2026-01-10T07:00")) == Freshness(
        FreshnessState.NEVER, at("2026-01-10T07:00")
    )


@pytest.mark.parametrize("sla", [{}, {"timezone": "UTC"}])
def test_an_sla_without_promise_has_no_freshness(sla: dict[str, str]) -> None:
    assert freshness(sla, at("2026-01-10T07:00"), at("2026-01-10T09:30")) is None


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
    assert deadlines(cron, NEW_YORK, at(now)) == (at(passed), at(upcoming))


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
    passed, upcoming = deadlines(cron, zone, now)
    assert passed <= now < upcoming
    assert deadlines(cron, zone, passed) == (passed, upcoming)
    assert deadlines(cron, zone, upcoming - timedelta(seconds=1)) == (passed, upcoming)


@given(minutes=st.integers(0, 365 * 24 * 60))
def test_away_from_clock_changes_a_daily_deadline_is_the_wall_clock(minutes: int) -> None:
    now = at("2026-01-01T00:00") + timedelta(minutes=minutes)
    zone = ZoneInfo(NEW_YORK)
    today = now.astimezone(zone).replace(hour=12, minute=0, second=0, microsecond=0)
    days = [today + timedelta(days=step) for step in (-1, 0, 1)]  # wall-clock arithmetic
    passed, upcoming = deadlines("0 12 * * *", NEW_YORK, now)
    assert passed == max(day for day in days if day.astimezone(UTC) <= now).astimezone(UTC)
    assert upcoming == min(day for day in days if day.astimezone(UTC) > now).astimezone(UTC)
