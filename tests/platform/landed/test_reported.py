"""Datasets with observed files whose versions are reported by their writer as well: one version, reported once."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import DatasetRecord, RunState
from headrace.job_reports.ingestion import ingest
from headrace.landed.observation import observe
from headrace.orchestration.completions.folder import LocalFolder
from headrace.orchestration.completions.intake import take_in
from headrace.orchestration.sensors.landing import landing_sensor
from headrace.registration.declarations import register
from headrace.settings import settings
from tests.platform.events.run_events import job_event, output

LINES = '{"id": 1}\n{"id": 2}\n'


@pytest.fixture
def orders(external: Any, landing: Any) -> Any:
    (landing / "2013-01-01.json").write_text(LINES)
    plan = external("orders", "landing/{partition}.json", "json", {"id": "int"}, daily=True)
    metadata = {"external": True, "location": plan.location}
    return replace(plan, record=replace(plan.record, partitions="daily", metadata=metadata))


def reported(**given: Any) -> Any:
    event = job_event(
        "LOAD", RunState.SUCCESS, 5, partition="2013-01-01", outputs=(output("landed/orders", **given),)
    )
    return replace(event, at=datetime.now(UTC))


def test_a_reported_version_is_the_files_that_lie_there(engine: Engine, orders: Any, landing: Any) -> None:
    register(engine, [orders.record])
    ingest(engine, [reported(row_count=2)])
    (row,) = queries.published(engine, ["landed/orders"])
    assert row.version.location == f"file://{landing}/2013-01-01.json"
    assert row.version.columns == orders.record.columns
    looked = observe(engine, [orders])
    assert (looked.new, looked.problems) == ((), ())
    with dg.instance_for_test() as instance, dg.build_sensor_context(instance=instance) as context:
        assert not landing_sensor([orders])(context).asset_events
    changed = time.time() + 10
    (landing / "2013-01-01.json").write_text(LINES + '{"id": 3}\n')
    os.utime(landing / "2013-01-01.json", (changed, changed))
    (version,) = observe(engine, [orders]).new
    assert version.row_count == 3


def test_a_report_of_files_that_were_seen_already_moves_nothing(engine: Engine, orders: Any) -> None:
    before = replace(reported(), at=datetime.now(UTC) - timedelta(minutes=1))
    (version,) = observe(engine, [orders]).new
    ingest(engine, [before])
    (row,) = queries.published(engine, ["landed/orders"])
    assert row.version.tag == version.tag


@pytest.mark.parametrize("declared", [True, False])
def test_what_a_report_asks_for_is_measured(engine: Engine, landing: Any, declared: Any) -> None:
    file = landing / "orders.json"
    file.write_text(LINES)
    if declared:
        register(engine, [DatasetRecord("ops/orders", "json")])
    folder = LocalFolder(settings().home / "completions")
    document = {
        "dataset": "ops/orders", "version": "v1", "status": "SUCCESS", "location": str(file), "format": "json",
        "measure": True, "schema": [{"name": "id", "type": "int"}],
    }  # fmt: skip
    dropped = settings().home / "completions" / "orders.json"
    dropped.write_text(json.dumps(document))
    os.utime(dropped, (time.time() - 60, time.time() - 60))
    assert take_in(engine, folder, timedelta(seconds=5)).problems == []
    (row,) = queries.published(engine, ["ops/orders"])
    assert (row.version.row_count, row.version.byte_size) == (2, len(LINES))
    assert row.version.checksum
