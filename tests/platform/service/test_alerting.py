"""Alerts over HTTP: listed and acknowledged with the permission, and by the link in a notification."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.alerts import heartbeat, links
from headrace.alerts.outbox import decide_next
from headrace.alerts.queries import history
from headrace.alerts.records import AlertState
from headrace.alerts.sending import send_due
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.settings import settings
from headrace.severity import Severity
from headrace.slas.events import (
    AlertEvent,
    Kind,
    Subject,
    SubjectType,
    record,
)
from tests.platform.alerts.making import rules

NOW = datetime.now(UTC).replace(microsecond=0)
HITS = ("mart/delays", "raw/flights", "raw/nothing")


def raised(engine: Engine, key: str, *affected: str, minutes: int = 0) -> UUID:
    """An alert about a dataset, and those that it hits."""
    found = uuid4()
    with transaction(engine) as cursor:
        ids = {
            row["full_name"]: row["dataset_id"]
            for row in cursor.execute("SELECT full_name, dataset_id FROM catalog.dataset").fetchall()
        }
        cursor.execute(
            "INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, reason, severity, "
            "opened_at) VALUES (%s, %s, 'DATASET', %s, 'It was due.', 'ERROR', now())",
            [found, current_context().organisation_id, str(found)],
        )
        at = NOW + timedelta(minutes=minutes)
        happened = [
            AlertEvent(
                Kind.LATE,
                Severity.ERROR,
                Subject(SubjectType.DATASET, each, ids[each], ("team:data",)),
                at,
                found,
                {"reason": "It was due."},
            )
            for each in (key, *affected)
        ]
        record(cursor, happened, at)
    decide_next(engine, rules(), at)
    return found


def test_alerts_are_listed_page_by_page_and_by_what_they_are_about(ask: Any, catalog: Engine) -> None:
    first = raised(catalog, "raw/flights", "mart/report")
    second = raised(catalog, "mart/delays", minutes=1)
    client = ask(Permission.READ)
    page = client.get("/api/v1/alert", params={"limit": 1}).json()
    assert [each["alert_id"] for each in page["items"]] == [str(second)]
    rest = client.get("/api/v1/alert", params={"limit": 1, "cursor": page["next"]}).json()
    assert [each["alert_id"] for each in rest["items"]] == [str(first)]
    assert rest["next"] is None
    affected = client.get("/api/v1/alert", params={"subject": "mart/report", "state": "OPEN"}).json()["items"]
    assert [(each["key"], each["affected"], each["reason"]) for each in affected] == [
        ("raw/flights", ["mart/report"], "It was due.")
    ]
    assert client.get("/api/v1/alert", params={"state": "CLOSED"}).json()["items"] == []


def test_an_alert_shows_its_events_and_notifications(ask: Any, catalog: Engine) -> None:
    found = ask(Permission.READ).get(f"/api/v1/alert/{raised(catalog, 'mart/delays', 'mart/report')}").json()
    assert [each["key"] for each in found["alert_events"]] == ["mart/delays", "mart/report"]
    assert [(each["destination"], each["purpose"], each["state"]) for each in found["notifications"]] == [
        ("data", "RAISED", "PENDING"),
        ("lead", "ESCALATED", "PENDING"),
        ("on_call", "ESCALATED", "PENDING"),
    ]


def test_acknowledging_takes_the_permission_for_the_domain(ask: Any, catalog: Engine) -> None:
    alert = raised(catalog, "mart/delays")
    path = f"/api/v1/alert/{alert}/acknowledge"
    assert ask(Permission.READ).post(path, json={}).status_code == 403
    elsewhere = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="raw")
    assert elsewhere.post(path, json={}).status_code == 404, "what one does not see is not there"
    taken = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="mart").post(
        path, json={"comment": "looking"}
    )
    assert taken.status_code == 200, taken.text
    assert taken.json()["state"] == "ACKNOWLEDGED"
    assert taken.json()["acknowledged_by"].startswith("service:")
    states = {each.recipient.destination: each.state for each in history(catalog, alert).notifications}
    assert states == {"data": "PENDING", "lead": "DROPPED", "on_call": "DROPPED"}


def test_who_sees_one_domain_sees_its_alerts_and_no_names_of_others(ask: Any, catalog: Engine) -> None:
    raised(catalog, "raw/flights", "mart/report")
    alert = raised(catalog, "mart/delays", "raw/flights")
    client = ask(Permission.READ, domain="mart")
    listed = client.get("/api/v1/alert").json()["items"]
    assert [(each["key"], each["affected"]) for each in listed] == [("mart/delays", [])]
    shown = client.get(f"/api/v1/alert/{alert}").text
    assert "raw/flights" not in shown
    asked = {key: client.get("/api/v1/alert", params={"subject": key}).json()["items"] for key in HITS}
    assert [len(items) for items in asked.values()] == [1, 0, 0], "nor is it told by what is found"
    assert ask(Permission.READ, organisation="elsewhere").get("/api/v1/alert").json()["items"] == []


def test_a_run_that_failed_is_an_alert_of_those_whose_datasets_it_touches(ask: Any, catalog: Engine) -> None:
    """They see it, and when they say that they are at it, it escalates no further."""
    alert = uuid4()
    with transaction(catalog) as cursor:
        row = cursor.execute(
            "SELECT process_id FROM catalog.process WHERE process_key = 'mart/delays'"
        ).fetchone()
        assert row is not None
        cursor.execute(
            "INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, process_id, reason, "
            "severity, opened_at) VALUES (%s, %s, 'PROCESS', 'mart/delays', %s, 'no', 'ERROR', now())",
            [alert, current_context().organisation_id, row["process_id"]],
        )
        process = Subject(SubjectType.PROCESS, "mart/delays", row["process_id"], ("team:data",))
        failed = AlertEvent(Kind.RUN_FAILED, Severity.ERROR, process, NOW, alert, {"reason": "no"})
        record(cursor, [failed], NOW)
    decide_next(catalog, rules(), NOW)
    owner = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="mart")
    assert [each["key"] for each in owner.get("/api/v1/alert").json()["items"]] == ["mart/delays"]
    shown = owner.get(f"/api/v1/alert/{alert}").json()
    assert [each["kind"] for each in shown["alert_events"]] == ["RUN_FAILED"]
    assert [each["state"] for each in shown["notifications"]] == ["PENDING"] * 3
    assert owner.post(f"/api/v1/alert/{alert}/acknowledge", json={}).status_code == 200
    states = {each.recipient.destination: each.state for each in history(catalog, alert).notifications}
    assert states == {"data": "PENDING", "lead": "DROPPED", "on_call": "DROPPED"}
    stranger = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="nothing")
    assert stranger.get("/api/v1/alert").json()["items"] == []
    assert stranger.post(f"/api/v1/alert/{alert}/acknowledge", json={}).status_code == 404


def link(engine: Engine, alert: UUID, now: datetime = NOW, key: str | None = None) -> str:
    """The path of the link in the alert's first notification."""
    notification = history(engine, alert).notifications[0]
    return link_of(notification.notification_id, now, key)


def link_of(notification_id: UUID, now: datetime = NOW, key: str | None = None) -> str:
    made = key or links.secret(settings())
    assert made is not None
    return links.link("http://testserver", made, notification_id, now).removeprefix("http://testserver")


def anyone(ask: Any) -> Any:
    """A client without a token."""
    client = ask(Permission.READ)
    del client.headers["Authorization"]
    return client


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch, catalog: Engine) -> None:
    monkeypatch.setenv("HEADRACE_ALERT_SECRET", "s" * 40)
    settings.cache_clear()


@pytest.mark.usefixtures("signed")
def test_a_link_acknowledges_with_a_click_and_not_by_being_opened(ask: Any, catalog: Engine) -> None:
    alert = raised(catalog, "mart/delays")
    client = anyone(ask)
    for _ in range(2):
        page = client.get(link(catalog, alert))
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "mart/delays is late, since 2026" in page.text
    assert history(catalog, alert).alert.state is AlertState.OPEN
    address = unescape(page.text.split('action="')[1].split('"')[0])
    pressed = client.post(address)
    assert pressed.status_code == 200, pressed.text
    found = history(catalog, alert).alert
    assert (found.state, found.acknowledged_by) == (AlertState.ACKNOWLEDGED, "link/data")
    again = client.get(link(catalog, alert)).text
    assert "Already acknowledged by link/data" in again
    assert "Acknowledge</button>" not in again


@pytest.mark.usefixtures("signed")
def test_a_link_shows_the_notification_as_a_page(ask: Any, catalog: Engine) -> None:
    alert = raised(catalog, "mart/delays")
    send_due(catalog, rules(), lambda: NOW, timedelta(seconds=60), lambda *_: None)
    page = anyone(ask).get(link(catalog, alert))
    assert page.headers["content-type"].startswith("text/html")
    assert "<h2>LATE mart/delays</h2>" in page.text
    assert "<b>Cause:</b> It was due." in page.text
    assert f'href="/alerts/{alert}"' in page.text


@pytest.mark.usefixtures("signed")
def test_a_link_is_short_enough_for_a_text_message(catalog: Engine) -> None:
    assert len(link(catalog, raised(catalog, "mart/delays"))) < 60


def test_an_alert_is_acknowledged_for_a_time_and_handed_over(ask: Any, catalog: Engine) -> None:
    alert = raised(catalog, "mart/delays")
    client = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="mart")
    path = f"/api/v1/alert/{alert}"
    early = client.post(f"{path}/hand-over", json={"to": "bob"})
    assert (early.status_code, "only an acknowledged one" in early.text) == (409, True)
    taken = client.post(f"{path}/acknowledge", json={"lasts": "PT4H"}).json()
    lasts = datetime.fromisoformat(taken["acknowledged_until"]) - datetime.fromisoformat(
        taken["acknowledged_at"]
    )
    assert lasts == timedelta(hours=4)
    handed = client.post(f"{path}/hand-over", json={"to": "bob@example.com", "comment": "yours"}).json()
    assert (handed["acknowledged_by"], handed["acknowledged_until"]) == ("bob@example.com", None)
    assert [(each["action"], each["holder"]) for each in handed["acknowledgements"]] == [
        ("ACKNOWLEDGED", taken["acknowledged_by"]),
        ("HANDED_OVER", "bob@example.com"),
    ]
    stranger = ask(Permission.READ, Permission.ACKNOWLEDGE, domain="raw")
    assert stranger.post(f"{path}/hand-over", json={"to": "eve"}).status_code == 404


@pytest.mark.usefixtures("signed")
def test_links_that_are_none_open_nothing(ask: Any, catalog: Engine) -> None:
    alert = raised(catalog, "mart/delays")
    client = anyone(ask)
    old = link(catalog, alert, NOW - timedelta(days=8))
    for address in (
        link(catalog, alert)[:-3] + "abc",
        link(catalog, alert, key="x" * 40),
        old,
        "/alert",
        "/alert?t=é",
        link(catalog, alert)[:-40],
    ):
        answer = client.post(address)
        assert answer.status_code == 403, address
    expired = client.get(old)
    assert expired.status_code == 403
    assert "has expired" in expired.text
    assert 'href="/alerts"' in expired.text
    assert client.post(link_of(uuid4())).status_code == 404
    assert history(catalog, alert).alert.state is AlertState.OPEN


def test_in_production_without_a_secret_there_are_no_links(ask: Any, catalog: Engine) -> None:
    assert settings().is_production
    assert links.secret(settings()) is None
    refused = anyone(ask).post(link_of(uuid4(), key="y" * 40))
    assert refused.status_code == 403
    assert "HEADRACE_ALERT_SECRET is not set" in refused.text


def test_external_monitoring_detects_dead_alerting(ask: Any, catalog: Engine) -> None:
    client = ask(Permission.OPERATE)
    assert client.get("/health/alerts").status_code == 503
    now = datetime.now(UTC)
    heartbeat.record_heartbeat(catalog, heartbeat.JUDGING, now)
    heartbeat.record_heartbeat(catalog, heartbeat.ALERTS, now)
    assert client.get("/health/alerts").status_code == 200
    raised(catalog, "mart/delays")
    measures = client.get("/metrics").text
    assert 'headrace_alerts{state="open"} 1.0' in measures
    assert 'headrace_sensor_silence_seconds{sensor="alerts"} ' in measures
    heartbeat.record_heartbeat(catalog, heartbeat.ALERTS, now - timedelta(minutes=6))
    dead = client.get("/health/alerts")
    assert dead.status_code == 503
    assert "no heartbeat from alerts" in dead.json()["detail"]


def test_a_failing_tick_is_reported_at_once_and_cleared_by_the_next_success(
    ask: Any, catalog: Engine
) -> None:
    client, now = ask(Permission.READ), datetime.now(UTC)
    heartbeat.record_heartbeat(catalog, heartbeat.JUDGING, now)
    heartbeat.record_heartbeat(catalog, heartbeat.ALERTS, now)
    with pytest.raises(RuntimeError), heartbeat.failures_recorded(catalog, heartbeat.JUDGING):
        raise RuntimeError("bad row, password=hunter2")
    failing = client.get("/health/alerts")
    assert failing.status_code == 503
    assert "every tick of slas fails" in failing.json()["detail"]
    (problem,) = heartbeat.alerting_status(catalog, now).problems(now)
    assert "RuntimeError: bad row" in problem
    assert "hunter2" not in problem
    heartbeat.record_heartbeat(catalog, heartbeat.JUDGING, now)
    assert client.get("/health/alerts").status_code == 200
