"""Routing: matching routes, recipients of steps, and ends of quiet hours across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.alerts.rules import AlertRules, Destination, Hours, Quiet, Recipient, Route, Step
from headrace.severity import Severity
from tests.platform.alerts.making import OFTEN, START

LONDON = ZoneInfo("Europe/London")
ZONES = st.sampled_from(["UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CLOCKS = st.times().map(lambda clock: clock.replace(second=0, microsecond=0))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_first_route_that_fits_is_taken() -> None:
    step = (Step(("a",)),)
    rules = AlertRules(
        routes=(
            Route(
                "flights at night",
                step,
                domains=frozenset({"flights"}),
                hours=Hours(time(18), time(8), LONDON),
            ),
            Route("grave flights", step, domains=frozenset({"flights"}), least=Severity.ERROR),
            Route("of the team", step, owners=frozenset({"team:data"})),
        )
    )

    def taken(domain: str, owner: str, severity: Severity, at: str) -> str | None:
        route = rules.route(domain, [owner], severity, utc(at))
        return route and route.name  # type: ignore[return-value]

    assert taken("flights", "team:x", Severity.INFO, "2026-11-02T19:00") == "flights at night"
    assert taken("flights", "team:x", Severity.ERROR, "2026-11-02T12:00") == "grave flights"
    assert taken("flights", "team:data", Severity.WARNING, "2026-11-02T12:00") == "of the team"
    assert taken("flights", "team:x", Severity.WARNING, "2026-11-02T12:00") is None
    assert taken("mart", "team:data", Severity.INFO, "2026-11-02T03:00") == "of the team"


def test_owners_are_notified_by_their_entry_or_their_address() -> None:
    rules = AlertRules(
        destinations={
            "channel": Destination("channel", "slack://x", OFTEN),
            "mail": Destination("mail", "mailto://smtp.example.com?to={owner}", OFTEN),
            "lead": Destination("lead", "mailto://smtp.example.com?to=lead@example.com", OFTEN),
        },
        owners={"team:data": ("channel", "lead"), "*": ("mail",)},
    )
    sent = rules.recipients(
        Step(("owners", "lead")), ["team:data", "alice@example.com", "team:nobody", "alice@example.com"]
    )
    assert sent == (
        Recipient("channel"),
        Recipient("lead"),
        Recipient("mail", "alice@example.com"),
    )


@pytest.mark.parametrize(
    ("now", "leaves"),
    [
        ("2026-11-02T21:59", "2026-11-02T21:59"),
        ("2026-11-02T22:00", "2026-11-03T07:00"),
        ("2026-11-03T06:59", "2026-11-03T07:00"),
        ("2026-11-03T07:00", "2026-11-03T07:00"),
        # Clocks go back on 25 October at 01:00 UTC: the night is an hour longer. 22:00 is 21:00 UTC before it.
        ("2026-10-24T21:30", "2026-10-25T07:00"),
        ("2026-10-24T20:59", "2026-10-24T20:59"),
        # And forward on 29 March: 07:00 is 06:00 UTC.
        ("2026-03-28T22:30", "2026-03-29T06:00"),
        ("2026-03-29T05:59", "2026-03-29T06:00"),
        # Year end.
        ("2026-12-31T23:59", "2027-01-01T07:00"),
    ],
)
def test_what_is_not_grave_waits_for_the_end_of_the_night(now: str, leaves: str) -> None:
    rules = AlertRules(quiet=(Quiet(Hours(time(22), time(7), LONDON), Severity.ERROR),))
    assert rules.not_before(Severity.WARNING, utc(now)) == utc(leaves)
    assert rules.not_before(Severity.ERROR, utc(now)) == utc(now)


def test_quiet_hours_that_follow_upon_one_another_are_waited_for_together() -> None:
    weekend = Hours(time(0), time(0), LONDON, frozenset({5, 6}))
    nights = Hours(time(22), time(7), LONDON)
    rules = AlertRules(quiet=(Quiet(weekend, Severity.ERROR), Quiet(nights, Severity.ERROR)))
    friday = utc("2026-11-06T23:00")
    assert rules.not_before(Severity.INFO, friday) == utc("2026-11-09T07:00")  # on Monday


@given(MOMENTS, CLOCKS, CLOCKS, ZONES, st.frozensets(st.integers(0, 6), min_size=1))
def test_quiet_hours_only_ever_delay_and_end_outside_of_them(
    now: datetime, start: time, end: time, zone: str, days: frozenset[int]
) -> None:
    hours = Hours(start, end, ZoneInfo(zone), days)
    leaves = AlertRules(quiet=(Quiet(hours, Severity.ERROR),)).not_before(Severity.INFO, now)
    assert leaves >= now
    assert (leaves == now) == (hours.until(now) is None)
    if start != end:  # round the clock, on all days, it never ends
        assert hours.until(leaves) is None


def test_quiet_hours_round_the_clock_do_not_hang() -> None:
    always = Quiet(Hours(time(0), time(0), ZoneInfo("UTC")), Severity.ERROR)
    leaves = AlertRules(quiet=(always,)).not_before(Severity.INFO, START)
    assert leaves - START < timedelta(days=30)
