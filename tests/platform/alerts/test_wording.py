"""Text of notifications."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.alerts.decisions import decide
from headrace.alerts.records import Alert, Breach, Notification, Purpose
from headrace.alerts.rules import Links
from headrace.alerts.wording import AffectedSubject, AffectedSubjects, digest, render
from headrace.severity import Severity
from headrace.slas.events import Kind
from headrace.slas.status import SlaStatus
from tests.platform.alerts.making import START, alert_event, at, incident, rules

INCIDENT = incident()
LINKS = Links("https://dagster.example.com", "https://catalog.example.com")


def sent(kind: Kind, **facts: Any) -> tuple[Alert, Notification]:
    event = replace(alert_event(kind, INCIDENT, **facts), severity=Severity.ERROR)
    decision = decide(INCIDENT, None, (), event, rules(), at(12))
    assert decision is not None
    return decision.alert, decision.send[0]


def test_an_alert_says_what_since_when_why_who_is_hit_what_to_do_and_where_to_look() -> None:
    alert, notification = sent(
        Kind.LATE,
        partition="2026-11-01",
        deadline="2026-11-02T08:30:00+00:00",
        timezone="Asia/Tokyo",
        reason="The partition 2026-11-01 was due at 08:30",
        waits_for="autosys/LOAD_FLIGHTS",
        by_minutes=41.7,
        expected_at="2026-11-02T10:00:00+00:00",
        expected_from="2026-11-02T09:50:00Z",
        expected_to="2026-11-02T10:10:00Z",
        miss_probability=0.97,
        dagster_run_id="3f9c21d0",
        run_id="8a4c1f0e",
    )
    affected = AffectedSubjects(
        (
            AffectedSubject("mart/report", ("team:bi",), at(180), "Europe/Berlin", SlaStatus.ON_TRACK),
            AffectedSubject("mart/x", (), at(-60), None, SlaStatus.LATE),
        ),
        14,
        "https://wiki.example.com/delays",
    )
    message = render(
        alert,
        notification,
        LINKS,
        at(12),
        affected=affected,
        link="https://catalog.example.com/alert?t=t",
    )
    assert message.title == "LATE mart/delays [2026-11-01]"
    assert message.body == (
        "What: mart/delays [2026-11-01] is late.\n"
        "Since: 2026-11-02 09:00Z (18:00 Asia/Tokyo), 12 min ago, due 2026-11-02 08:30Z (17:30 Asia/Tokyo)\n"
        "Cause: The partition 2026-11-01 was due at 08:30. Waiting for autosys/LOAD_FLIGHTS, for 42 minutes.\n"
        "Expected: 2026-11-02 10:00Z (19:00 Asia/Tokyo), between 2026-11-02 09:50Z (18:50 Asia/Tokyo) "
        "and 2026-11-02 10:10Z (19:10 Asia/Tokyo); "
        "the probability of missing the deadline is 97%\n"
        "Owners: team:data\n"
        "Also affected: mart/report (team:bi), mart/x and 12 more\n"
        "Deadlines: mart/report by 2026-11-02 12:00Z (13:00 Europe/Berlin); mart/x late since 2026-11-02 08:00Z\n"
        "Runbook: https://wiki.example.com/delays\n"
        "Next: `headrace sla explain mart/delays` shows what it waits for. `headrace why 8a4c1f0e` explains its run.\n"
        "\n"
        "Run: https://dagster.example.com/runs/3f9c21d0\n"
        "Asset: https://dagster.example.com/assets/mart/delays\n"
        "SLA: https://catalog.example.com/slas/mart/delays\n"
        "Acknowledge: https://catalog.example.com/alert?t=t"
    )


def test_a_broken_deadline_behind_an_incident_is_named_with_its_cause() -> None:
    alert, notification = sent(Kind.RUN_FAILED, key="core/load")
    breaches = tuple(
        Breach(
            key,
            ("team:bi",),
            Kind.LATE,
            "DELIVERY",
            at(60),
            at(60),
            "Europe/Berlin",
            "2026-11-01" if first else None,
        )
        for key, first in (("mart/report", True), ("mart/x", False))
    )
    alert = replace(alert, breaches=breaches)
    breached = replace(notification, purpose=Purpose.BREACHED, subjects=("mart/report", "mart/x"))
    message = render(alert, breached, LINKS, at(60))
    assert message.title == "LATE mart/report [2026-11-01] and 1 more"
    assert message.body.splitlines()[:3] == [
        "What: mart/report [2026-11-01] is late; it was due 2026-11-02 10:00Z (11:00 Europe/Berlin). "
        "mart/x is late; it was due 2026-11-02 10:00Z (11:00 Europe/Berlin).",
        "Cause: core/load failed, since 2026-11-02 09:00Z, 60 min ago.",
        "Owners: team:bi",
    ]
    assert "Asset: https://dagster.example.com/assets/mart/report" in message.body
    assert "SLA: https://catalog.example.com/slas/mart/report" in message.body
    several = digest([(alert, breached)], LINKS, at(60))
    assert "LATE mart/report [2026-11-01] and 1 more" in several.body
    assert "Alerts: https://catalog.example.com/alerts" in several.body
    joined = replace(alert, facts={"part_of": "core/input", "part_of_id": "3f"})
    body = render(joined, replace(breached, purpose=Purpose.JOINED), LINKS, at(61)).body
    assert "It is now part of core/input." in body
    assert "`headrace alerts ack 3f` acknowledges it" in body
    assert "Part of: https://catalog.example.com/alerts/3f" in body


def test_a_recovery_asks_for_nothing() -> None:
    alert, notification = sent(Kind.LATE)
    over = replace(notification, purpose=Purpose.RECOVERED)
    message = render(replace(alert, closed_at=at(30)), over, Links(), at(30))
    assert message.title == "Recovered: LATE mart/delays"
    assert "What: mart/delays was late. Resolved at 2026-11-02 09:30Z." in message.body
    assert "Next" not in message.body
    assert "Acknowledge" not in message.body


def test_ages_are_those_of_the_moment_of_sending() -> None:
    alert, notification = sent(Kind.LATE)
    late = replace(notification, purpose=Purpose.ESCALATED)
    assert "Since: 2026-11-02 09:00Z, 65 min ago" in render(alert, late, Links(), at(65)).body
    assert ", 65 min ago" in digest([(alert, late)], LINKS, at(65)).body


def test_a_pause_and_a_changed_sla_are_no_recovery() -> None:
    alert, notification = sent(Kind.LATE)
    over = replace(notification, purpose=Purpose.RECOVERED)
    pause = "planned outage until 2026-11-02 12:00 UTC: the cluster moves"
    paused = replace(alert, closed_at=at(30), facts={"ended_by": "PAUSED", "pause": pause})
    message = render(paused, over, Links(), at(30))
    assert message.title == "Paused: LATE mart/delays"
    assert "Paused by the planned outage until 2026-11-02 12:00 UTC: the cluster moves." in message.body
    assert "Resolved" not in message.body
    held = replace(paused, facts={"ended_by": "PAUSED", "pause": "on hold"})
    assert "Paused (on hold)." in render(held, over, Links(), at(30)).body
    changed = render(replace(paused, facts={"ended_by": "SLA_CHANGED"}), over, Links(), at(30))
    assert changed.title == "SLA changed: LATE mart/delays"
    assert "the SLA was changed; the former deadline was not met" in changed.body
    retired = render(replace(paused, facts={"ended_by": "RETIRED"}), over, Links(), at(30))
    assert retired.title == "Retired: LATE mart/delays"
    assert "mart/delays was retired; its SLA no longer applies" in retired.body


def test_a_recovery_of_what_was_never_delivered_says_so() -> None:
    alert, notification = sent(Kind.LATE)
    over = replace(notification, purpose=Purpose.UNDELIVERED)
    body = render(replace(alert, closed_at=at(30)), over, Links(), at(30)).body
    assert "Note: This is the first notification about this alert that reached you." in body


def test_a_digest_of_recoveries_says_that_they_have_ended() -> None:
    alert, notification = sent(Kind.LATE)
    over = (alert, replace(notification, purpose=Purpose.RECOVERED))
    assert digest([over] * 1481, LINKS, at(30)).title == "1,481 more alerts have ended"


def test_without_a_link_it_says_the_command() -> None:
    alert, notification = sent(Kind.RUN_FAILED)
    assert f"Acknowledge: headrace alerts ack {INCIDENT}" in render(alert, notification, Links(), at(12)).body


def test_a_name_begins_no_other_header() -> None:
    alert, notification = sent(Kind.LATE, partition="x\r\nBcc: all@example.com")
    title = render(alert, notification, Links(), at(12)).title
    assert "\r" not in title
    assert "\n" not in title


def test_a_reason_begins_no_other_line_and_is_not_as_long_as_a_log() -> None:
    """A reason is external text: it must not be able to insert a link into the alert."""
    alert, notification = sent(
        Kind.LATE, reason="no\n\nAcknowledge: https://evil.example.com\r\n" + "x" * 100_000
    )
    body = render(alert, notification, LINKS, at(12)).body
    assert [line for line in body.splitlines() if line.startswith("Acknowledge: ")] == [
        f"Acknowledge: headrace alerts ack {INCIDENT}"
    ]
    assert len(body) < 3000


def test_a_digest_names_the_first_and_counts_the_rest() -> None:
    message = digest([sent(Kind.LATE, partition=str(number)) for number in range(14)], Links(), at(12))
    assert message.title == "14 more alerts"
    assert message.body.count("LATE mart/delays") == 10
    assert "and 4 more" in message.body


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
JSON = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)
FACTS = (
    "partition",
    "deadline",
    "timezone",
    "reason",
    "waits_for",
    "by_minutes",
    "log_location",
    "expected_at",
    "expected_from",
    "expected_to",
    "miss_probability",
    "run_id",
    "dagster_run_id",
    "ended_by",
    "pause",
)


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # the first text of a run takes a busy machine seconds
@given(
    st.sampled_from(Kind),
    st.sampled_from([each for each in Purpose if each is not Purpose.DIGEST]),
    st.fixed_dictionaries({}, optional=dict.fromkeys(FACTS, JSON)),
)
def test_whatever_the_facts_are_the_alert_has_words(
    kind: Kind, purpose: Purpose, facts: dict[str, object]
) -> None:
    alert, notification = sent(Kind.LATE)
    message = render(
        replace(alert, kind=kind, facts=facts),
        replace(notification, purpose=purpose, decided_at=START),
        LINKS,
        START,
    )
    assert message.title.isprintable()
    assert message.body
