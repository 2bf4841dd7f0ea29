"""From alert events in the catalog to real receivers on this machine, with a simulated clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from benchmarks.receivers import Receiver
from headrace.alerts import sending
from headrace.alerts.outbox import acknowledge, decide_next
from headrace.alerts.records import AlertState, NotDelivered, RenderedNotification
from headrace.alerts.rules import AlertRules, Destination, Limit
from headrace.alerts.sending import SendingResult, send_due
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.errors import UnknownAlert
from headrace.slas.events import Kind
from tests.platform.alerts.making import OFTEN, alert_event, at, incident, rules

Tick = Callable[[AlertRules, float], SendingResult]
Opened = Callable[[], UUID]
Happen = Callable[..., None]


def posting(http: Receiver, **given: Any) -> AlertRules:
    return rules(url=f"json://localhost:{http.port}/{{}}", **given)


def notifications(engine: Engine) -> list[dict[str, Any]]:
    with transaction(engine) as cursor:
        return cursor.execute(
            "SELECT * FROM catalog.notification ORDER BY decided_at, step, destination"
        ).fetchall()


def test_at_risk_then_late_then_there(
    engine: Engine, http: Receiver, mail: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    """The owner by mail, the lead by HTTP after 30 minutes, no one after it closes; each once, in any ticks."""
    base = posting(http)
    address = f"mailto://127.0.0.1:{mail.port}?from=headrace@example.com&to={{owner}}"
    late = replace(
        base,
        destinations={**base.destinations, "mail": Destination("mail", address, OFTEN)},
        owners={"*": ("mail",)},
    )
    found = opened()
    who = ("alice@example.com",)
    happen(alert_event(Kind.AT_RISK, found, 0, owners=who, reason="It will be late."))
    for minute in (0, 1, 2):
        tick(late, minute)
    happen(alert_event(Kind.LATE, found, 10, owners=who, partition="2026-11-01"))
    for minute in (10, 11, 39, 40, 41):
        tick(late, minute)
    happen(
        alert_event(Kind.MET_LATE, found, 50, owners=who),
        alert_event(Kind.INCIDENT_CLOSED, found, 50, owners=who),
    )
    for minute in (50, 51, 70, 600):
        tick(late, minute)

    assert [(each.to, each.title) for each in mail.received] == [
        ("alice@example.com", "AT_RISK mart/delays"),
        ("alice@example.com", "Now LATE mart/delays [2026-11-01]"),
        ("alice@example.com", "Recovered: LATE mart/delays [2026-11-01]"),
    ]
    assert "Cause: It will be late." in mail.received[0].body
    assert len({each.message["References"] for each in mail.received}) == 1
    assert [(each.to, each.title, each.message["state"]) for each in http.received] == [
        ("/lead", "Not acknowledged: LATE mart/delays [2026-11-01]", "firing"),
        ("/lead", "Recovered: LATE mart/delays [2026-11-01]", "recovered"),
    ]
    states = [
        (row["purpose"], row["destination"], row["state"], row["reason"]) for row in notifications(engine)
    ]
    assert states == [
        ("RAISED", "mail", "SENT", None),
        ("WORSENED", "mail", "SENT", None),
        ("ESCALATED", "lead", "SENT", None),
        ("ESCALATED", "on_call", "DROPPED", "resolved"),
        ("RECOVERED", "lead", "SENT", None),
        ("RECOVERED", "mail", "SENT", None),
    ]


def test_an_acknowledgement_stops_the_steps_that_follow(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    found = opened()
    happen(alert_event(Kind.LATE, found))
    tick(posting(http), 0)
    first = acknowledge(engine, found, "user:alice", at(5), "looking")
    again = acknowledge(engine, found, "user:bob", at(6))
    tick(posting(http), 600)
    assert [each.to for each in http.received] == ["/data"]
    assert (first.state, again.acknowledged_by, again.comment) == (
        AlertState.ACKNOWLEDGED,
        "user:alice",
        "looking",
    )
    with pytest.raises(UnknownAlert, match="headrace alerts list"):
        acknowledge(engine, incident(), "user:alice", at(5))


def test_a_receiver_that_is_away_is_tried_again_with_pauses_and_gets_the_same_message_once(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(alert_event(Kind.AT_RISK, opened()), alert_event(Kind.AT_RISK, opened()))
    http.refuses = True
    first = tick(posting(http), 0)
    assert first.notifications == 0
    assert len(first.failed) == 1
    assert first.failed[0].startswith("data: ")
    assert "503" in first.failed[0]
    rows = notifications(engine)
    assert [row["tries"] for row in rows].count(1) == 1, "one failed, and the other was not even tried"
    assert tick(posting(http), 4 / 60).failed == [], "it is not tried again within 5 seconds"
    assert tick(posting(http), 6 / 60).failed != []
    http.refuses = False
    assert tick(posting(http), 1).notifications == 2
    assert len({each.key for each in http.received}) == len(http.received) == 2


def test_an_undeliverable_notification_fails_after_a_day(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(alert_event(Kind.AT_RISK, opened()))
    http.refuses = True
    for hours in range(26):
        tick(posting(http), hours * 60)
    (row,) = notifications(engine)
    assert row["state"] == "FAILED"
    assert "503" in row["reason"]


def test_what_was_due_while_nothing_was_sent_is_not_given_up_at_the_first_refusal(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    """Two days without a sensor, and then a receiver that is away for a moment."""
    happen(alert_event(Kind.AT_RISK, opened()))
    decide_next(engine, posting(http), at(0))
    http.refuses = True
    assert tick(posting(http), 48 * 60).failed != []
    http.refuses = False
    assert tick(posting(http), 48 * 60 + 1).notifications == 1


def test_an_undeliverable_address_does_not_delay_others(
    engine: Engine, opened: Opened, happen: Happen
) -> None:
    base = rules()
    mail = Destination("mail", "mailto://mail.example.com?to={owner}", OFTEN)
    sent = replace(base, destinations={**base.destinations, "mail": mail}, owners={"*": ("mail",)})
    everyone = {f"{name}@example.com" for name in ("a", "b", "c", "d", "e")}
    happen(*(alert_event(Kind.AT_RISK, opened(), owners=(who,)) for who in sorted(everyone)))
    decide_next(engine, sent, at(0))
    taken: list[str] = []

    def send(_: Destination, address: str, __: RenderedNotification) -> None:
        if address in ("a@example.com", "d@example.com"):
            raise NotDelivered("550 no such user")
        taken.append(address)

    for minute in range(3):
        send_due(engine, sent, lambda minute=minute: at(minute), timedelta(seconds=60), send)  # type: ignore[misc]
    assert sorted(taken) == ["b@example.com", "c@example.com", "e@example.com"]


def test_one_receiver_that_is_away_keeps_no_other_waiting(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    base = posting(http)
    nowhere = Destination("lead", "json://localhost:1/lead", OFTEN)
    both = replace(
        base, destinations={**base.destinations, "lead": nowhere}, owners={"team:data": ("lead", "data")}
    )
    happen(*(alert_event(Kind.AT_RISK, opened()) for _ in range(5)))
    sent = tick(both, 0)
    assert sent.notifications == 5
    assert [each.split(":")[0] for each in sent.failed] == ["lead"]


def test_a_flood_of_alerts_respects_the_rate_limit_and_loses_nothing(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    limited = posting(http, limit=Limit(3, timedelta(hours=1)))
    incidents = [opened() for _ in range(40)]
    happen(*(alert_event(Kind.AT_RISK, found, key=f"mart/t{n}") for n, found in enumerate(incidents)))
    tick(limited, 0)
    titles = [each.title for each in http.received]
    assert len(titles) == 3
    assert titles[2] == "38 more alerts"
    digest = next(number for number in range(40) if f"AT_RISK mart/t{number}" not in titles)
    happen(alert_event(Kind.AT_RISK, opened(), key="mart/later"))
    assert tick(limited, 30).held == 1
    assert len(http.received) == 3
    tick(limited, 61)
    assert http.received[-1].title == "AT_RISK mart/later"
    assert {row["state"] for row in notifications(engine)} == {"SENT", "MERGED"}
    happen(alert_event(Kind.INCIDENT_CLOSED, incidents[digest], 130))
    tick(limited, 130)
    assert http.received[-1].title == f"Recovered: AT_RISK mart/t{digest}", "the digest told of it"


def test_a_digest_counts_what_is_beyond_one_batch(
    engine: Engine,
    http: Receiver,
    opened: Opened,
    happen: Happen,
    tick: Tick,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "BATCH_SIZE", 10)
    limited = posting(http, limit=Limit(3, timedelta(hours=1)))
    happen(*(alert_event(Kind.AT_RISK, opened(), key=f"mart/t{n}") for n in range(24)))
    tick(limited, 0)
    assert [each.title for each in http.received][2:] == ["22 more alerts"]


def test_a_refused_message_counts_its_age_when_it_is_delivered(
    http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(alert_event(Kind.AT_RISK, opened(), 0))
    http.refuses = True
    tick(posting(http), 1)
    http.refuses = False
    tick(posting(http), 65)
    assert ", 65 min ago" in http.received[-1].body


def test_a_delayed_digest_is_sent(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    """An unavailable receiver, and more events before it is back: no digest contains another digest only."""
    limited = posting(http, limit=Limit(3, timedelta(hours=1)))
    happen(*(alert_event(Kind.AT_RISK, opened(), key=f"mart/a{n}") for n in range(9)))
    http.refuses = True
    tick(limited, 0)
    http.refuses = False
    happen(*(alert_event(Kind.AT_RISK, opened(), key=f"mart/b{n}") for n in range(9)))
    for minute in (1, 62, 63):
        tick(limited, minute)
    sent = "\n".join(f"{each.title}\n{each.body}" for each in http.received)
    assert [key for key in (f"mart/{a}{n}" for a in "ab" for n in range(9)) if key not in sent] == []


def test_notifications_in_a_given_up_digest_are_given_up(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    limited = posting(http, limit=Limit(2, timedelta(hours=1)))
    happen(*(alert_event(Kind.AT_RISK, opened(), key=f"mart/t{n}") for n in range(5)))
    http.refuses = True
    for quarter in range(3 * 24 * 4):
        tick(limited, 15 * quarter)
    assert Counter(row["state"] for row in notifications(engine)) == {"FAILED": 6}
    assert {row["reason"] for row in notifications(engine)} != {None}


def test_words_are_those_of_when_a_message_leaves(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(*(alert_event(Kind.AT_RISK, opened(), key=f"mart/t{n}") for n in range(3)))
    http.refuses = True
    tick(posting(http), 0)
    http.refuses = False
    acknowledge(
        engine,
        next(row["alert_id"] for row in notifications(engine) if not row["tries"]),
        "user:alice",
        at(5),
    )
    tick(posting(http), 10)
    assert sum("Acknowledged: by user:alice" in each.body for each in http.received) == 1


def test_a_destination_removed_from_the_rules_is_reported_missing(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen
) -> None:
    happen(alert_event(Kind.AT_RISK, opened()))
    decide_next(engine, posting(http), at(0))
    sent = send_due(engine, AlertRules(), lambda: at(0), timedelta(seconds=5))
    assert sent.failed == ["data: alerts.yaml no longer has this destination"]


def test_only_one_process_sends(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(alert_event(Kind.AT_RISK, opened()))
    with alone(engine, "sending alerts") as mine:
        assert mine
        assert tick(posting(http), 0).busy
    assert http.received == []
    assert tick(posting(http), 1).notifications == 1


def test_a_process_that_dies_while_it_sends_is_followed_up_under_the_same_id(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    happen(alert_event(Kind.AT_RISK, opened()))
    decide_next(engine, posting(http), at(0))
    keys = []

    def send_and_die(_: Destination, __: str, rendered: RenderedNotification) -> None:
        keys.append(str(rendered.notification_id))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_due(engine, posting(http), lambda: at(0), timedelta(seconds=5), send_and_die)
    tick(posting(http), 1)
    assert [each.key for each in http.received] == keys


def test_a_tick_that_runs_out_of_time_leaves_the_rest_untried(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen
) -> None:
    happen(*(alert_event(Kind.AT_RISK, opened()) for _ in range(4)))
    decide_next(engine, posting(http), at(0))
    sent = send_due(engine, posting(http), lambda: at(0), timedelta(seconds=-1))
    assert sent.notifications == 0

    def never(*_: object) -> None:
        raise NotDelivered("no")

    send_due(engine, posting(http), lambda: at(0), timedelta(seconds=5), never)
    assert sorted(row["tries"] for row in notifications(engine)) == [0, 0, 0, 1]


def test_secrets_in_failure_messages_are_not_sent(
    http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    message = "cannot connect to postgresql://etl:hunter2@db.example.com/sales"
    happen(alert_event(Kind.RUN_FAILED, opened(), reason=message))
    tick(posting(http), 0)
    assert "cannot connect to postgresql://etl:" in http.received[0].body
    assert "hunter2" not in http.received[0].body


def test_values_that_a_run_met_do_not_leave(
    http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    message = "[CAST_INVALID_INPUT] The value 'Flann O'Brien' of the type \"STRING\" cannot be cast\nrow: (Flann, 1911)"
    happen(alert_event(Kind.RUN_FAILED, opened(), reason=message))
    tick(posting(http), 0)
    assert "Cause: [CAST_INVALID_INPUT] The value '***' of the type" in http.received[0].body
    assert "Brien" not in http.received[0].body
    assert "Flann" not in http.received[0].body
