"""End to end with a simulated clock: a deadline nears and passes, two people are notified, the file arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from benchmarks.receivers import Receiver
from headrace.alerts.outbox import acknowledge, decide_due, decide_next
from headrace.alerts.queries import alerts, history
from headrace.alerts.records import AlertState, NotificationState
from headrace.alerts.rules import AlertRules, Destination
from headrace.alerts.sending import send_due
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.registration.declarations import register
from headrace.slas.outages import plan_outage
from headrace.slas.tick import evaluate
from tests.platform.alerts.making import OFTEN, rules
from tests.platform.slas.building import declare, published, ran

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
    sent = [each.sent_at for each in found.notifications if each.state is NotificationState.SENT]  # type: ignore[assignment]
    assert sent == [  # type: ignore[comparison-overlap]
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


def test_a_failed_run_names_the_deadlines_at_stake_and_their_owners_learn_of_the_breach(
    engine: Engine, http: Receiver
) -> None:
    base = rules(url=f"json://localhost:{http.port}/{{}}")
    mart = Destination("mart", f"json://localhost:{http.port}/mart", OFTEN)
    sent = replace(
        base,
        destinations={**base.destinations, "mart": mart},
        owners={"team:data": ("data",), "team:mart": ("mart",)},
    )
    morning = {"deadline": "0 7 * * *", "timezone": "Europe/Berlin"}
    register(
        engine,
        [
            DatasetRecord(
                "core/b", "parquet", owners=("team:data",), metadata={"runbook": "Ask the operations desk."}
            ),
            DatasetRecord("mart/c", "parquet", owners=("team:mart",), sla=morning),
        ],
        [
            ProcessRecord("core/b", Technology.SPARK, outputs=("core/b",), owners=("team:data",)),
            ProcessRecord(
                "mart/c", Technology.SPARK, inputs=("core/b",), outputs=("mart/c",), owners=("team:mart",)
            ),
        ],
    )
    tick = ticking(engine, sent)
    published(engine, "mart/c", at("2026-11-09T05:30"))
    tick(at("2026-11-09T12:00"))
    tick(at("2026-11-10T03:00"))
    ran(engine, "core/b", at("2026-11-10T02:00"), at("2026-11-10T03:00"), "FAILED")
    tick(at("2026-11-10T03:01"))
    (failed,) = http.received
    assert (failed.to, failed.title) == ("/data", "RUN_FAILED process core/b")
    assert "Also affected: mart/c (team:mart), core/b (team:data)\n" in failed.body
    assert "Deadlines: mart/c by 2026-11-10 06:00Z (07:00 Europe/Berlin)\n" in failed.body
    assert "Runbook: Ask the operations desk.\n" in failed.body

    (listed,) = alerts(engine)
    acknowledge(engine, listed.alert.alert_id, "alice", at("2026-11-10T03:05"), lasts=timedelta(hours=9))
    for minute in every(30, "2026-11-10T03:30", "2026-11-10T08:00"):
        tick(minute)
    (breach,) = http.received[1:]
    assert (breach.to, breach.title) == ("/mart", "LATE mart/c")
    assert "What: mart/c is late; it was due 2026-11-10 06:00Z (07:00 Europe/Berlin).\n" in breach.body
    assert "Cause: process core/b failed, since 2026-11-10 03:00Z" in breach.body
    assert "Owners: team:mart\nAcknowledged: by alice until 2026-11-10 12:05Z\n" in breach.body

    ran(engine, "core/b", at("2026-11-10T08:00"), at("2026-11-10T08:10"), "SUCCESS")
    published(engine, "mart/c", at("2026-11-10T08:30"))
    tick(at("2026-11-10T08:31"))
    assert sorted((each.to, each.title) for each in http.received[2:]) == [
        ("/data", "Recovered: RUN_FAILED process core/b"),
        ("/mart", "Recovered: LATE mart/c"),
    ]


def test_an_alert_that_no_one_acknowledges_repeats_and_an_acknowledgement_expires(
    engine: Engine, http: Receiver
) -> None:
    declare(engine, {"core/b": DAILY})
    tick = ticking(engine, rules(url=f"json://localhost:{http.port}/{{}}"))
    published(engine, "core/b", at("2026-11-09T05:30"))
    tick(at("2026-11-09T12:00"))
    for minute in every(10, "2026-11-10T06:00", "2026-11-10T11:00"):
        tick(minute)
    first = ["/data", "/lead", "/on_call"]
    assert [each.to for each in http.received] == [*first, "/data"]
    assert http.received[-1].title == "Still unresolved: LATE core/b"
    (listed,) = alerts(engine)
    acknowledge(engine, listed.alert.alert_id, "alice", at("2026-11-10T11:05"))
    for minute in every(10, "2026-11-10T11:10", "2026-11-10T19:00"):
        tick(minute)
    assert len(http.received) == 4
    for minute in every(10, "2026-11-10T19:10", "2026-11-10T19:40"):
        tick(minute)
    assert [each.to for each in http.received[4:]] == ["/data", "/lead"]
    assert (
        "Acknowledged: no longer; the acknowledgement of alice expired at 2026-11-10 19:05Z"
        in http.received[4].body
    )


def ticking(engine: Engine, sent: AlertRules) -> Callable[[datetime], None]:
    """One tick of both sensors at a moment."""

    def tick(moment: datetime) -> None:
        evaluate(engine, moment)
        decide_next(engine, sent, moment)
        decide_due(engine, sent, moment)
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
