"""End to end with a simulated clock: a deadline nears and passes, two people are notified, the file arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from benchmarks.receivers import Receiver
from headrace.alerts.outbox import decide_next
from headrace.alerts.queries import alerts, history
from headrace.alerts.records import AlertState, NotificationState
from headrace.alerts.rules import AlertRules, Destination
from headrace.alerts.sending import send_due
from headrace.slas.outages import plan_outage
from headrace.slas.tick import evaluate
from tests.platform.alerts.making import OFTEN, rules
from tests.platform.slas.building import declare, published

DAILY = {"deadline": "0 6 * * *", "timezone": "UTC", "warn_before_seconds": 3600.0}


def test_a_completion_is_held_back_and_comes_late(engine: Engine, http: Receiver, mail: Receiver) -> None:
    """The owner has it by mail at risk and late, the lead by HTTP half an hour on, on-call never; one notice each."""
    sent = replace(
        rules(url=f"json://localhost:{http.port}/{{}}"),
        owners={"team:data": ("owner",)},
    )
    owner = f"mailto://127.0.0.1:{mail.port}?from=headrace@example.com&to=owner@example.com"
    sent = replace(sent, destinations={**sent.destinations, "owner": Destination("owner", owner, OFTEN)})
    declare(
        engine,
        {"raw/orders": None, "sales/orders": DAILY, "sales/report": None},
        [("raw/orders", "sales/orders"), ("sales/orders", "sales/report")],
    )
    tick = ticking(engine, sent)

    published(engine, "sales/orders", at("2026-11-09T05:30"))
    for minute in every(180, "2026-11-09T05:40", "2026-11-10T04:55"):
        tick(minute)
    assert mail.received == http.received == []
    for minute in every(5, "2026-11-10T04:55", "2026-11-10T06:45"):
        tick(minute)
    published(engine, "sales/orders", at("2026-11-10T06:45"))
    for minute in every(5, "2026-11-10T06:50", "2026-11-10T07:30"):
        tick(minute)

    assert [(each.to, each.title.split()[:2]) for each in mail.received] == [
        ("owner@example.com", ["AT_RISK", "sales/orders"]),
        ("owner@example.com", ["Now", "LATE"]),
        ("owner@example.com", ["Recovered:", "LATE"]),
    ]
    assert [(each.to, each.message["state"]) for each in http.received] == [
        ("/lead", "firing"),
        ("/lead", "recovered"),
    ]
    assert "Also affected: sales/report (team:data)" in mail.received[1].body
    assert "headrace sla explain sales/orders" in mail.received[1].body

    (listed,) = alerts(engine)
    assert (listed.alert.state, listed.sent, listed.pending) == (AlertState.CLOSED, 5, 0)
    found = history(engine, listed.alert.alert_id)
    happened = [each.alert_event.kind.value for each in found.alert_events]
    assert happened[:2] == ["AT_RISK", "LATE"]
    assert happened[-1] == "INCIDENT_CLOSED"
    sent = [each.sent_at for each in found.notifications if each.state is NotificationState.SENT]
    assert sent == [
        at("2026-11-10T05:00"),
        at("2026-11-10T06:00"),
        at("2026-11-10T06:30"),
        at("2026-11-10T06:50"),
        at("2026-11-10T06:50"),
    ]


def test_neither_an_outage_nor_an_edit_is_a_recovery(engine: Engine, http: Receiver) -> None:
    sent = rules(url=f"json://localhost:{http.port}/{{}}")
    declare(engine, {"core/paused": DAILY, "core/edited": DAILY, "core/removed": DAILY})
    tick = ticking(engine, sent)
    for key in ("core/paused", "core/edited", "core/removed"):
        published(engine, key, at("2026-11-09T05:30"))
    tick(at("2026-11-09T12:00"))
    tick(at("2026-11-10T06:01"))
    plan_outage(
        engine,
        "core/paused",
        at("2026-11-10T06:10"),
        at("2026-11-10T09:00"),
        "the cluster moves",
        "user:alice",
    )
    tick(at("2026-11-10T06:10"))
    declare(engine, {"core/edited": {**DAILY, "deadline": "0 5 * * *"}, "core/removed": None})
    tick(at("2026-11-10T06:30"))
    found = {each.title: each.body for each in http.received if "Now" not in each.title}
    assert "Paused by the planned outage until 2026-11-10 09:00 UTC" in found["Paused: LATE core/paused"]
    assert "the SLA was changed" in found["SLA changed: LATE core/edited"]
    assert "the SLA was changed" in found["SLA changed: LATE core/removed"]
    assert not any(title.startswith("Recovered") for title in found)


def ticking(engine: Engine, sent: AlertRules) -> Callable[[datetime], None]:
    """One tick of both sensors at a moment."""

    def tick(moment: datetime) -> None:
        evaluate(engine, moment)
        decide_next(engine, sent, moment)
        send_due(engine, sent, lambda: moment, timedelta(seconds=60))

    return tick


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def every(minutes: int, first: str, last: str) -> list[datetime]:
    found, moment = [], at(first)
    while moment <= at(last):
        found.append(moment)
        moment += timedelta(minutes=minutes)
    return found
