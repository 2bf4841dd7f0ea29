"""Runs of OpenLineage events: archived with all of their events, and restored by late events."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.context import current_context
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.retention.archiving import archive
from headrace.retention.history import events, runs
from headrace.retention.registry import Kind
from headrace.service.app import create_app
from tests.platform.retention.archiving import daily, everything

NOW = datetime.now(UTC)
PRODUCER = "https://example.com/producer"
SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
PER_RUN = ("openlineage_run", "run_dataset", "dataset_assertion", "dataset_metrics")


def event(day: float, kind: str, minutes: int = 0, **facets: Any) -> dict[str, Any]:
    """Return an event of the run of so many days ago, which reads one table and writes another."""
    measured = {
        "outputStatistics": {
            "_producer": PRODUCER,
            "_schemaURL": "https://openlineage.io/spec/facets/1-0-2/OutputStatisticsOutputDatasetFacet.json",
            "rowCount": minutes,
        }
    }
    return {
        "eventType": kind,
        "eventTime": (NOW - timedelta(days=day) + timedelta(minutes=minutes)).isoformat(),
        "run": {"runId": str(run_of(day)), "facets": facets},
        "job": {"namespace": "shop", "name": "sell"},
        "inputs": [{"namespace": "db2://shop", "name": "SHOP.ORDERS"}],
        "outputs": [{"namespace": "db2://shop", "name": "SHOP.SOLD", "outputFacets": measured}]
        if minutes
        else [],
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/RunEvent",
    }


def facet(schema: str, **content: Any) -> dict[str, Any]:
    url = f"https://openlineage.io/spec/facets/{schema}.json#/$defs/{schema.partition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def run_of(day: float) -> UUID:
    return uuid5(UUID(int=0), f"run/{day}")


def night(day: float) -> list[dict[str, Any]]:
    return [event(day, "START"), event(day, "COMPLETE", 5)]


def store(engine: Engine, *reported: dict[str, Any]) -> None:
    outcomes = ingest(engine, current_context().organisation_id, reported)
    assert {outcome.result for outcome in outcomes} <= {Result.STORED, Result.REPEATED}, outcomes


def per_run(engine: Engine) -> int:
    with engine.connect() as connection:
        return sum(
            int(
                connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name, schema="catalog")))
                or 0
            )
            for name in PER_RUN
        )


def kept_run(engine: Engine, day: float) -> dict[str, Any]:
    """The run as it is, wherever it is."""
    rows = [json.loads(text) for text in everything(engine)[Kind.RUN]]
    (found,) = [row for row in rows if row["run_id"] == str(run_of(day))]
    return dict(found)


@pytest.fixture
def shop(engine: Engine) -> Engine:
    store(engine, *night(200), *night(150), *night(1))
    return engine


def test_reports_are_archived_with_their_run(shop: Engine) -> None:
    before, sums, rows = everything(shop), daily(shop), per_run(shop)

    done = archive(shop)

    assert done.rows == {Kind.EVENT: 4, Kind.RUN: 2}
    assert everything(shop) == before
    assert daily(shop) == sums
    assert per_run(shop) < rows
    assert [run.run_id for run in runs(shop)] == [run_of(1), run_of(150), run_of(200)]
    assert {each.source for each in events(shop)} == {"OPENLINEAGE"}


def test_what_comes_late_is_in_the_archive_as_if_it_had_come_in_time(shop: Engine) -> None:
    store(shop, *night(201), event(201, "FAIL", 7))
    archive(shop)
    store(shop, event(200, "FAIL", 7))

    assert archive(shop).late == 1

    late, in_time = kept_run(shop, 200), kept_run(shop, 201)
    assert late["status"] == in_time["status"] == "FAILED"
    assert [run.location is not None for run in runs(shop, run=str(run_of(200)))] == [True]
    assert len(late["attempts"]) == len(in_time["attempts"])
    assert len(events(shop, run=str(run_of(200)))) == 3
    assert all(times == 1 for rows in everything(shop).values() for times in rows.values())
    assert sum(row[4] for row in daily(shop)["run_daily"]) == 4
    assert archive(shop).late == 0


def test_a_late_repeated_event_is_stored_once(shop: Engine) -> None:
    archive(shop)
    before = everything(shop)
    store(shop, *night(200), *night(150))
    archive(shop)
    after = everything(shop)

    assert all(times == 1 for rows in after.values() for times in rows.values())
    assert {kind: set(rows) for kind, rows in after.items()} == {
        kind: set(rows) for kind, rows in before.items()
    }


def show(engine: Engine, day: float, *permissions: Permission, domain: str = "*") -> dict[str, Any]:
    """The run of so many days ago, as it is served."""
    token = issue_service_token(engine, uuid4().hex, permissions, domain=domain, by="test")
    with TestClient(create_app(engine), headers={"Authorization": f"Bearer {token}"}) as client:
        answer = client.get(f"/api/v1/run/{run_of(day)}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def test_a_run_is_served_with_its_facets_live_or_archived(engine: Engine) -> None:
    reported = {
        "nominalTime": facet("1-0-1/NominalTimeRunFacet", nominalStartTime="2026-01-01T00:00:00Z"),
        "mine": {"_producer": PRODUCER, "_schemaURL": f"{PRODUCER}/mine.json", "who": "ann@example.com"},
    }
    for day in (200, 150):  # the first is archived with its events, of the other, the newest, these only
        store(engine, event(day, "START", **reported), event(day, "COMPLETE", 5))  # type: ignore[arg-type]
    callers: list[tuple[tuple[Permission, ...], str]] = [
        ((Permission.READ, Permission.READ_SENSITIVE), "*"),
        ((Permission.READ,), "*"),
        ((Permission.READ, Permission.READ_SENSITIVE), "db2://shop"),
    ]
    before = [show(engine, day, *may, domain=domain) for day in (200, 150) for may, domain in callers]

    archive(engine)

    assert [run.location is None for run in runs(engine)] == [True, False]
    assert not [each for each in events(engine) if each.location is None]
    after = [show(engine, day, *may, domain=domain) for day in (200, 150) for may, domain in callers]
    assert after == before
    whole, plain, narrow = after[:3]
    assert set(whole["facets"]) == set(plain["facets"]) == {"mine", "nominalTime"}
    assert "ann@example.com" in str(whole)
    assert "ann@example.com" not in str(plain)
    assert whole["datasets"][1]["facets"]["outputStatistics"]["rowCount"] == 5
    assert narrow["facets"] == {}
