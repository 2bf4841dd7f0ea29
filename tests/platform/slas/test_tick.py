"""The engine on a database: ticks at chosen moments, one transaction each."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.queries.datasets import dataset
from headrace.registration.retirement import restore, retire
from headrace.slas.calendar_feed import deadline_feed
from headrace.slas.events import Kind
from headrace.slas.queries import sla_statuses
from headrace.slas.tick import evaluate
from tests.platform.slas.building import alert_events, declare, published, ran


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def states(engine: Engine) -> dict[str, str]:
    with transaction(engine) as cursor:
        cursor.execute(
            "SELECT coalesce(full_name, process_key) || ' ' || kind AS what, state "
            "FROM catalog.sla_objective objective "
            "LEFT JOIN catalog.dataset USING (dataset_id) "
            "LEFT JOIN catalog.process ON process.process_id = objective.process_id"
        )
        return {row["what"]: row["state"] for row in cursor}


def events(engine: Engine) -> list[tuple[str, str]]:
    return [(each.subject.key, each.kind.value) for each in alert_events(engine)]


def incidents(engine: Engine) -> list[tuple[str, bool]]:
    with transaction(engine) as cursor:
        cursor.execute(
            "SELECT cause_key, closed_at IS NULL AS open FROM catalog.incident ORDER BY opened_at, cause_key"
        )
        return [(row["cause_key"], row["open"]) for row in cursor]


DAILY = {"deadline": "0 6 * * *", "timezone": "UTC", "warn_before_seconds": 3600.0}


def test_a_dataset_at_risk_late_and_back(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    assert states(engine) == {"sales/orders DELIVERY": "UNKNOWN"}
    evaluate(engine, at("2026-11-10T05:10"))
    evaluate(engine, at("2026-11-10T05:11"))
    assert states(engine) == {"sales/orders DELIVERY": "AT_RISK"}
    evaluate(engine, at("2026-11-10T06:00:30"))
    assert states(engine) == {"sales/orders DELIVERY": "LATE"}
    published(engine, "sales/orders", at("2026-11-10T06:20"))
    evaluate(engine, at("2026-11-10T06:21"))
    assert states(engine) == {"sales/orders DELIVERY": "MET_LATE"}
    assert events(engine) == [
        ("sales/orders", "AT_RISK"),
        ("sales/orders", "LATE"),
        ("sales/orders", "MET_LATE"),
        ("sales/orders", "INCIDENT_CLOSED"),
    ]
    assert incidents(engine) == [("sales/orders", False)]


def test_a_tick_that_finds_nothing_new_writes_nothing(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    assert evaluate(engine, at("2026-11-10T00:01")).evaluated == 0


def test_one_failure_is_one_incident_with_all_that_waits_for_it(engine: Engine) -> None:
    chain = {"raw/a": None, "core/b": DAILY, "core/c": DAILY, "mart/d": DAILY, "other/x": DAILY}
    declare(engine, chain, edges=[("raw/a", "core/b"), ("core/b", "core/c"), ("core/c", "mart/d")])
    evaluate(engine, at("2026-11-10T00:00"))
    ran(engine, "raw/a", at("2026-11-10T03:00"), at("2026-11-10T03:05"), "FAILED")
    evaluate(engine, at("2026-11-10T03:06"))
    published(engine, "other/x", at("2026-11-10T04:00"))
    evaluate(engine, at("2026-11-10T06:01"))
    assert incidents(engine) == [("raw/a", True)]
    assert [each for each in events(engine) if each[1] == "LATE"] == [
        (key, "LATE") for key in sorted(("core/b", "core/c", "mart/d"))
    ] or {each for each in events(engine) if each[1] == "LATE"} == {
        (key, "LATE") for key in ("core/b", "core/c", "mart/d")
    }
    assert len({each.incident_id for each in alert_events(engine)}) == 1
    ran(engine, "raw/a", at("2026-11-10T07:00"), at("2026-11-10T07:05"), "SUCCESS")
    for key in ("core/b", "core/c", "mart/d"):
        published(engine, key, at("2026-11-10T07:30"))
    evaluate(engine, at("2026-11-10T07:31"))
    assert incidents(engine) == [("raw/a", False)]
    assert events(engine)[-1] == ("raw/a", "INCIDENT_CLOSED")


def test_six_hours_without_a_daemon_come_to_the_same_history(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY, "sales/lines": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    published(engine, "sales/orders", at("2026-11-10T05:30"))
    published(engine, "sales/lines", at("2026-11-10T06:45"))
    evaluate(engine, at("2026-11-10T10:00"))
    with transaction(engine) as cursor:
        cursor.execute(
            "SELECT full_name, state, at FROM catalog.sla_change JOIN catalog.dataset USING (dataset_id) "
            "ORDER BY full_name, change_id"
        )
        changes = [(row["full_name"], row["state"], row["at"]) for row in cursor]
    assert changes == [
        ("sales/lines", "AT_RISK", at("2026-11-10T05:00")),
        ("sales/lines", "LATE", at("2026-11-10T06:00")),
        ("sales/lines", "MET_LATE", at("2026-11-10T06:45")),
        ("sales/orders", "AT_RISK", at("2026-11-10T05:00")),
        ("sales/orders", "ON_TRACK", at("2026-11-10T05:30")),
    ]


@pytest.mark.parametrize("status", ["HELD", "SKIPPED"])
def test_a_job_on_hold_pauses_its_slas_and_those_of_its_outputs(engine: Engine, status: str) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    ran(engine, "sales/orders", at("2026-11-10T04:30"), None, status)
    evaluate(engine, at("2026-11-10T05:30"))
    assert states(engine) == {"sales/orders DELIVERY": "PAUSED"}
    ran(engine, "sales/orders", at("2026-11-10T06:30"), None, "RUNNING")
    evaluate(engine, at("2026-11-10T06:31"))
    evaluate(engine, at("2026-11-10T07:00"))
    assert states(engine) == {"sales/orders DELIVERY": "UNKNOWN"}


def test_a_declaration_that_changes_is_asked_from_then_on(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    declare(engine, {"sales/orders": {**DAILY, "deadline": "0 8 * * *"}})
    evaluate(engine, at("2026-11-10T06:01"))
    assert states(engine) == {"sales/orders DELIVERY": "UNKNOWN"}
    declare(engine, {"sales/orders": None})
    evaluate(engine, at("2026-11-10T06:02"))
    assert states(engine) == {}


def test_an_alert_event_has_its_facts_and_is_recorded_once(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    evaluate(engine, at("2026-11-10T05:10"))
    evaluate(engine, at("2026-11-10T05:20"))
    (first,) = alert_events(engine)
    assert first.facts["deadline"] == "2026-11-10T06:00:00+00:00"
    assert first.at == at("2026-11-10T05:00"), "when it happened, not when it was noticed"


def test_a_catalog_that_knows_nothing_is_judged_as_well(engine: Engine) -> None:
    assert evaluate(engine, at("2026-11-10T00:00")).evaluated == 0


def redeclared(engine: Engine, key: str, definition: str) -> None:
    """Replace the stored SLA of a dataset, as an older version may have left it."""
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.sla SET definition = %s, updated_at = now() WHERE dataset_id = "
            "(SELECT dataset_id FROM catalog.dataset WHERE full_name = %s)",
            [definition, key],
        )


@pytest.mark.parametrize(
    "stored",
    [
        '{"deadline": "0 6 * * sat-sun"}',
        '{"deadline": "0 22-2 * * *"}',
        '{"deadline": "0 6 * * *", "timezone": "Mars/Olympus"}',
        '{"deadline": "0 6 * * *", "partition": {"days_before": 9999999}}',
        '{"deadline": "0 6 * * *", "within_seconds": "soon"}',
        '{"max_age_seconds": 1e300}',
    ],
)
def test_an_sla_that_cannot_be_evaluated_does_not_stop_the_others(engine: Engine, stored: str) -> None:
    declare(engine, {"sales/good": DAILY, "sales/bad": DAILY})
    redeclared(engine, "sales/bad", stored)
    evaluate(engine, at("2026-11-10T00:00"))
    evaluate(engine, at("2026-11-10T06:01"))
    found = states(engine)
    assert found.pop("sales/good DELIVERY") == "LATE"
    assert list(found.values()) == ["UNKNOWN"]


def test_a_stored_objective_that_is_no_longer_readable_is_unknown_with_the_reason(engine: Engine) -> None:
    declare(engine, {"sales/good": DAILY, "sales/bad": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.sla_objective SET definition = definition || %s WHERE dataset_id = "
            "(SELECT dataset_id FROM catalog.dataset WHERE full_name = 'sales/bad')",
            ['{"deadline": "0 6 * * L5", "timezone": "Nowhere"}'],
        )
    evaluate(engine, at("2026-11-10T06:01"))
    assert states(engine) == {"sales/good DELIVERY": "LATE", "sales/bad DELIVERY": "UNKNOWN"}
    bad = next(each for each in sla_statuses(engine) if each.key == "sales/bad")
    assert "'Nowhere' is unknown" in bad.reason


def test_a_calendar_feed_leaves_out_an_sla_that_cannot_be_evaluated(engine: Engine) -> None:
    declare(engine, {"sales/good": DAILY, "sales/bad": DAILY})
    redeclared(engine, "sales/bad", '{"deadline": "0 6 * * sat-sun"}')
    evaluate(engine, at("2026-11-10T00:00"))
    feed = deadline_feed(engine, at("2026-11-10T00:00"), timedelta(days=1)).decode()
    assert "sales/good due" in feed
    assert "sales/bad due" not in feed


def outcomes(engine: Engine) -> list[tuple[datetime, str]]:
    with transaction(engine) as cursor:
        cursor.execute("SELECT deadline, outcome FROM catalog.sla_outcome ORDER BY deadline")
        return [(row["deadline"], row["outcome"]) for row in cursor]


@pytest.mark.parametrize(
    "edited", [{**DAILY, "deadline": "0 5 * * *"}, {**DAILY, "deadline": "0 9 * * *"}, None]
)
def test_an_edit_does_not_erase_a_breach(engine: Engine, edited: dict[str, object] | None) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    evaluate(engine, at("2026-11-10T06:00:30"))
    declare(engine, {"sales/orders": edited})
    evaluate(engine, at("2026-11-10T06:30"))
    assert outcomes(engine) == [(at("2026-11-10T06:00"), "MISSED")]
    assert states(engine) == ({"sales/orders DELIVERY": "UNKNOWN"} if edited else {})
    with transaction(engine) as cursor:
        cursor.execute("SELECT reason FROM catalog.sla_change ORDER BY change_id DESC LIMIT 1")
        (row,) = cursor.fetchall()
    assert row["reason"] == "the SLA was changed 00:30:00 after this deadline"


def test_a_breach_before_an_edit_is_found_after_a_downtime(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    declare(engine, {"sales/orders": None})
    evaluate(engine, at("2026-11-10T06:30"))
    assert outcomes(engine) == [(at("2026-11-10T06:00"), "MISSED")]


def test_an_edit_that_keeps_the_deadline_keeps_its_status(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    evaluate(engine, at("2026-11-10T06:00:30"))
    declare(engine, {"sales/orders": {**DAILY, "warn_before_seconds": 600.0}})
    evaluate(engine, at("2026-11-10T06:30"))
    assert states(engine) == {"sales/orders DELIVERY": "LATE"}
    published(engine, "sales/orders", at("2026-11-10T06:40"))
    evaluate(engine, at("2026-11-10T06:41"))
    assert outcomes(engine) == [(at("2026-11-10T06:00"), "MET_LATE")]
    assert incidents(engine) == [("sales/orders", False)]


def test_an_edit_between_a_delivery_and_its_deadline_keeps_the_delivery(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    published(engine, "sales/orders", at("2026-11-10T05:30"))
    evaluate(engine, at("2026-11-10T05:40"))
    declare(engine, {"sales/orders": {**DAILY, "warn_before_seconds": 600.0}})
    evaluate(engine, at("2026-11-10T05:45"))
    evaluate(engine, at("2026-11-10T06:01"))
    assert states(engine) == {"sales/orders DELIVERY": "ON_TRACK"}
    assert outcomes(engine) == [(at("2026-11-10T06:00"), "MET")]


def test_a_removed_sla_is_gone_after_the_next_tick(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T00:00"))
    declare(engine, {"sales/orders": None})
    assert dataset(engine, "sales/orders").sla is None
    evaluate(engine, at("2026-11-10T00:01"))
    with transaction(engine) as cursor:
        assert cursor.execute("SELECT FROM catalog.sla").fetchall() == []


def test_the_sla_of_a_retired_dataset_is_withdrawn_and_its_incident_closes(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY, "sales/lines": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    evaluate(engine, at("2026-11-10T06:30"))
    assert states(engine)["sales/orders DELIVERY"] == "LATE"
    retire(engine, "sales/orders", by="user:alice", reason="replaced")
    evaluate(engine, at("2026-11-10T06:40"))
    assert states(engine) == {"sales/lines DELIVERY": "LATE"}
    assert incidents(engine) == [("sales/lines", True), ("sales/orders", False)]
    [closed] = [each for each in alert_events(engine) if each.kind is Kind.INCIDENT_CLOSED]
    assert (closed.subject.key, closed.facts["ended_by"]) == ("sales/orders", "RETIRED")
    evaluate(engine, at("2026-11-11T06:30"))
    assert {"sales/orders DELIVERY"}.isdisjoint(states(engine))
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT outcome FROM catalog.sla_outcome JOIN catalog.dataset USING (dataset_id) "
            "WHERE full_name = 'sales/orders'"
        ).fetchall()
        change = cursor.execute("SELECT reason FROM catalog.sla_change ORDER BY change_id").fetchall()
    assert [row["outcome"] for row in rows] == ["MISSED"]
    assert "the dataset was retired 00:40:00 after this deadline" in {row["reason"] for row in change}


def test_the_sla_of_a_restored_dataset_is_evaluated_again(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    retire(engine, "sales/orders", by="user:alice", reason="replaced")
    evaluate(engine, at("2026-11-10T04:10"))
    assert states(engine) == {}
    restore(engine, "sales/orders", by="user:alice", reason="not yet")
    evaluate(engine, at("2026-11-11T04:00"))
    evaluate(engine, at("2026-11-11T06:30"))
    assert states(engine) == {"sales/orders DELIVERY": "LATE"}


def test_a_failed_run_of_a_retired_dataset_does_not_keep_its_incident_open(engine: Engine) -> None:
    declare(engine, {"sales/orders": DAILY})
    evaluate(engine, at("2026-11-10T04:00"))
    ran(engine, "sales/orders", at("2026-11-10T05:00"), at("2026-11-10T05:05"), "FAILED")
    evaluate(engine, at("2026-11-10T05:06"))
    assert incidents(engine) == [("sales/orders", True)]
    retire(engine, "sales/orders", by="user:alice", reason="replaced")
    evaluate(engine, at("2026-11-10T05:10"))
    assert incidents(engine) == [("sales/orders", False)]
