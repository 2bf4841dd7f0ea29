"""`headrace sla`: status, history, the critical path, outages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from icalendar import Calendar
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.slas.calendar_feed import deadline_feed
from headrace.slas.tick import evaluate
from tests.platform.slas.building import declare, published, ran


def at(text: Any) -> Any:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_what_is_out_of_order_comes_first(engine: Engine, invoke: Any, ask: Any) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(engine, {"a/fine": objective, "b/late": objective, "c/none": None})
    evaluate(engine, at("2026-11-09T07:00"))
    published(engine, "a/fine", at("2026-11-10T05:00"))
    evaluate(engine, at("2026-11-10T06:30"))
    assert [(row["key"], row["state"]) for row in ask("sla", "status")] == [
        ("b/late", "LATE"),
        ("a/fine", "ON_TRACK"),
    ]
    assert [row["key"] for row in ask("sla", "status", "--state", "LATE", "--domain", "b")] == ["b/late"]
    assert "nothing arrived by 2026-11-10 06:00 UTC" in invoke("sla", "status").output
    explained = invoke("sla", "explain", "b/late")
    assert explained.exit_code == 0, explained.output
    assert "LATE" in explained.output
    assert invoke("sla", "explain", "c/none").exit_code == 1


def test_how_often_and_by_how_much(engine: Engine, invoke: Any, ask: Any) -> None:
    declare(engine, {"a/daily": {"deadline": "0 6 * * *", "timezone": "UTC"}})
    evaluate(engine, at("2026-11-01T07:00"))
    for day, minutes in ((2, -30), (3, -60), (4, 15), (5, None), (6, -45)):
        if minutes is not None:
            published(engine, "a/daily", at(f"2026-11-0{day}T06:00") + timedelta(minutes=minutes))
    evaluate(engine, at("2026-11-06T12:00"))
    found = ask("sla", "history", "a/daily", "--since", "2026-11-01", "--until", "2026-11-07")
    [record] = found["records"]
    assert (record["met"], record["met_late"], record["missed"], record["kept"]) == (3, 1, 1, 0.6)
    assert (record["earlier"], record["late"], record["latest"]) == (45 * 60, 15 * 60, 15 * 60)
    assert (
        "60.0%"
        in invoke("sla", "history", "a/daily", "--since", "2026-11-01", "--until", "2026-11-07").output
    )


def test_an_explanation_names_the_path_that_is_waited_for(engine: Engine, ask: Any) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(engine, {"raw/a": None, "mart/c": objective}, [("raw/a", "mart/c")])
    now = datetime.now(UTC)
    for day in range(1, 40):
        arrived = now - timedelta(days=day, hours=-2)
        ran(engine, "raw/a", arrived - timedelta(hours=1), arrived, "SUCCESS")
        ran(engine, "mart/c", arrived, arrived + timedelta(hours=1), "SUCCESS")
        published(engine, "raw/a", arrived)
        published(engine, "mart/c", arrived + timedelta(hours=1))
    evaluate(engine, now - timedelta(days=1))
    path = ask("sla", "explain", "mart/c")["critical_path"]
    assert [step["key"] for step in path][-1] == "mart/c"
    assert path[0]["key"] == "raw/a"


def test_an_explanation_says_that_there_are_more_rows_than_usual(
    engine: Engine, invoke: Any, ask: Any
) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(engine, {"raw/a": None, "mart/c": objective}, [("raw/a", "mart/c")])
    now = datetime.now(UTC)
    for day in range(1, 40):  # a minute for each thousand rows, of which there are 20,000 to 69,000
        arrived, thousands = now - timedelta(days=day, minutes=5), 20 + 13 * day % 50
        published(engine, "raw/a", arrived, 1000 * thousands)
        ran(engine, "mart/c", arrived, arrived + timedelta(minutes=thousands), "SUCCESS")
        published(engine, "mart/c", arrived + timedelta(minutes=thousands))
    published(engine, "raw/a", now - timedelta(minutes=5), 135_000)
    ran(engine, "mart/c", now - timedelta(minutes=4), None, "RUNNING")
    evaluate(engine, now - timedelta(days=1))
    run, version = ask("sla", "explain", "mart/c")["critical_path"]
    assert 2.4 < run["times_usual_rows"] < 3.6
    expected = datetime.fromisoformat(version["expected"])
    assert timedelta(minutes=125) < expected - now < timedelta(minutes=137)
    assert "times the usual rows" in " ".join(invoke("sla", "explain", "mart/c").output.split())


def test_an_outage_pauses_what_fits(engine: Engine, invoke: Any, ask: Any) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(engine, {"a/one": objective, "b/one": objective})
    evaluate(engine, at("2026-11-09T07:00"))
    planned = invoke("sla", "outage", "a/*", "2026-11-10T00:00", "2026-11-10T12:00", "--reason", "a move")
    assert planned.exit_code == 0, planned.output
    evaluate(engine, at("2026-11-10T06:30"))
    assert {row["key"]: row["state"] for row in ask("sla", "status")} == {"a/one": "PAUSED", "b/one": "LATE"}
    assert invoke("sla", "outage", "a/*", "2026-11-10", "2026-11-09", "--reason", "x").exit_code == 1


def test_deadlines_are_a_calendar(engine: Engine) -> None:
    declare(engine, {"a/one": {"deadline": "0 6 * * 1-5", "timezone": "Europe/London"}})
    evaluate(engine, at("2026-10-22T07:00"))
    feed = Calendar.from_ical(deadline_feed(engine, at("2026-10-22T07:00"), timedelta(days=5)))
    events = [(event.decoded("dtstart"), str(event["summary"])) for event in feed.walk("VEVENT")]
    # Friday in summer time, Monday and Tuesday in winter time.
    assert events == [(at(f"2026-10-{day}"), "a/one due") for day in ("23T05:00", "26T06:00", "27T06:00")]


def test_the_calendar_has_no_password(engine: Engine) -> None:
    declare(engine, {"a/one": {"deadline": "0 6 * * 1-5", "timezone": "UTC"}})
    evaluate(engine, at("2026-10-22T07:00"))
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.sla_objective SET reason = 'see jdbc:db2://bob:hunter2@a-rather-long-host-name/x'"
        )
    feed = Calendar.from_ical(deadline_feed(engine, at("2026-10-22T07:00"), timedelta(days=5)))
    events = " ".join(str(event["description"]) for event in feed.walk("VEVENT"))
    assert "bob:***@" in events
    assert "hunter2" not in events
