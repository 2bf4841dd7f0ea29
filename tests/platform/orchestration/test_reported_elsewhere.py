"""Completions reported through the API and by OpenLineage producers: reported to Dagster, and firing triggers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.naming import own_namespace
from headrace.context import current_context
from headrace.declarations.loading.project import load, records
from headrace.http.openlineage_adapters import AdapterEvent, openlineage_events
from headrace.openlineage import ingestion
from headrace.openlineage.model import Result
from headrace.orchestration.completions.materializations import report_completions
from headrace.orchestration.sensors.process_triggers import process_trigger_sensor
from headrace.registration.declarations import register
from headrace.retention.rebuild import rebuild
from headrace.settings import settings
from tests.platform.openlineage.events import contents, facet, ingest_valid, run_event, uuid
from tests.platform.projects import write_project

SOON = timedelta(seconds=20)
ORDERS = dg.AssetKey(["shop", "orders"])
PROJECT = """
type: headrace.ExternalDataset
attributes:
  key: shop/orders
---
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT orders.id FROM orders
  trigger: {process: %s}
---
type: headrace.Dataset
attributes:
  key: shop/daily
  sql: SELECT 1 AS id
  partitions: {type: daily, start: "2026-01-01", end: "2027-01-01"}
  trigger: {process: %s}
---
type: headrace.Dataset
attributes:
  key: shop/copy
  sql: SELECT orders.id FROM orders
  trigger: all_inputs
"""


class Platform:
    """A project in Dagster: its materializations, and the runs that its sensor requests."""

    def __init__(self, engine: Engine, instance: dg.DagsterInstance, root: Path, process: str) -> None:
        loaded = load(write_project(root, "shop", PROJECT % (process, process)))
        assert not loaded.problems, "\n".join(map(str, loaded.problems))
        register(engine, *records(loaded.plans))
        self.engine, self.instance = engine, instance
        self.sensor = process_trigger_sensor(loaded.plans)
        resources = {"spark": dg.ResourceDefinition.none_resource()}
        self.definitions = dg.Definitions.merge(
            loaded.definitions, dg.Definitions(resources=resources, sensors=[self.sensor])
        )
        self.repository = self.definitions.get_repository_def()
        self.cursor: str | None = None

    def starts(self) -> list[tuple[str, str | None]]:
        """Runs that the triggers start now, with the partition."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.repository
        )
        found = self.sensor.evaluate_tick(context)
        self.cursor = found.cursor
        return sorted(
            (request.asset_selection[0].to_user_string(), request.partition_key)
            for request in found.run_requests or ()
            if request.asset_selection
        )

    def materialized(self, key: dg.AssetKey = ORDERS) -> list[dict[str, Any]]:
        """Materializations of the asset, after all pending ones were reported."""
        report_completions(self.engine, self.instance, SOON)
        events = self.instance.fetch_materializations(key, limit=100).records
        return [
            {name: value.value for name, value in event.asset_materialization.metadata.items()}
            for event in events
            if event.asset_materialization
        ]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def orders() -> dict[str, Any]:
    return {"namespace": own_namespace(settings().organisation), "name": "shop/orders"}


def adapter(**changes: Any) -> list[dict[str, Any]]:
    """The events of a completion in the adapters' form."""
    body = {
        "eventType": "COMPLETE",
        "run": {
            "runId": str(uuid4()),
            "startTime": "2026-03-02T01:00:00Z",
            "endTime": "2026-03-02T01:30:00Z",
        },
        "job": {"namespace": "AUTOSYS", "name": "NIGHT/LOAD"},
        "outputs": [orders() | {"facets": {"version": "v1", "rows": 7}}],
    } | changes
    return openlineage_events(AdapterEvent.model_validate(body))


def history(engine: Engine, *events: object) -> None:
    outcomes = ingestion.ingest(engine, current_context().organisation_id, events, historical=True)
    assert all(each.result is Result.STORED for each in outcomes), outcomes


def test_adapter_reports_are_materialized_and_trigger_runs(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "LOAD")
    events = adapter()
    ingest_valid(engine, *events)
    assert platform.starts() == [("shop/daily", "2026-03-01"), ("shop/sales", None)]
    (message,) = platform.materialized()
    assert (message["version"], message["dagster/row_count"], message["process"]) == ("v1", 7, "AUTOSYS/LOAD")
    assert message["seconds"] == 1800
    (ended,) = platform.materialized(dg.AssetKey(["autosys", "LOAD"]))
    assert ended["run"] == events[-1]["run"]["runId"]
    ingest_valid(engine, *events)
    assert platform.starts() == []
    assert (len(platform.materialized()), len(platform.materialized(dg.AssetKey(["autosys", "LOAD"])))) == (
        1,
        1,
    )


def test_an_adapter_may_state_the_business_date(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "LOAD")
    run = {"runId": str(uuid4()), "endTime": "2026-03-02T01:30:00Z"}
    run["facets"] = {"nominalTime": {"nominalStartTime": "2026-02-20T00:00:00Z"}}  # type: ignore[assignment]
    ingest_valid(engine, *adapter(run=run))
    assert ("shop/daily", "2026-02-20") in platform.starts()


@pytest.mark.parametrize("name", ["load", "airflow#load"])
def test_openlineage_completions_are_materialized_and_trigger_runs(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path, name: str
) -> None:
    platform = Platform(engine, instance, tmp_path, f'"{name}"')
    ingest_valid(engine, run_event("START", outputs=[orders()]))
    assert (platform.starts(), platform.materialized()) == ([], [])
    ingest_valid(engine, run_event(minutes=5, outputs=[orders()]))
    assert ("shop/sales", None) in platform.starts()
    (message,) = platform.materialized()
    assert (message["process"], message["run"]) == ("airflow#load", uuid(1))
    ingest_valid(
        engine, run_event("OTHER", minutes=6, outputs=[orders()]), run_event(minutes=5, outputs=[orders()])
    )
    assert platform.starts() == []
    assert len(platform.materialized()) == 1


def test_a_new_version_elsewhere_starts_what_waits_for_its_inputs(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "LOAD")
    asked = dg.evaluate_automation_conditions(defs=platform.definitions, instance=instance)
    ingest_valid(engine, run_event(outputs=[orders()]))
    assert len(platform.materialized()) == 1
    asked = dg.evaluate_automation_conditions(
        defs=platform.definitions, instance=instance, cursor=asked.cursor
    )
    assert asked.get_num_requested(dg.AssetKey(["shop", "copy"])) == 1


def test_outputs_reported_later_are_materialized_then(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "load")
    ingest_valid(engine, run_event(minutes=5))
    assert platform.materialized() == []
    ingest_valid(engine, run_event("START", outputs=[orders()]))
    assert len(platform.materialized()) == 1


@pytest.mark.parametrize("kind", ["FAIL", "ABORT", "START", "RUNNING", "OTHER"])
def test_what_did_not_complete_starts_nothing(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path, kind: str
) -> None:
    platform = Platform(engine, instance, tmp_path, "load")
    ingest_valid(engine, run_event(kind, outputs=[orders()]))
    assert (platform.starts(), platform.materialized()) == ([], [])


def test_a_child_of_an_internal_run_is_reported_by_its_token(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "load")
    parent = facet(run={"runId": uuid("ours")}, job=orders() | {"name": "shop/sales"})
    parent["_schemaURL"] = "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json"
    ingest_valid(engine, run_event(outputs=[orders()], run_facets={"parent": parent}))
    assert platform.starts() == []


def test_history_starts_nothing_until_it_is_reported_live(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "load")
    events = [run_event("START", outputs=[orders()]), run_event(minutes=5, outputs=[orders()])]
    history(engine, *events)
    assert (platform.starts(), platform.materialized()) == ([], [])
    assert {row[-1] for row in contents(engine)["runs"]} == {True}
    again = ingestion.ingest(engine, current_context().organisation_id, events, historical=True)
    assert {each.result for each in again} == {Result.REPEATED}
    before = contents(engine)
    rebuild(engine)
    assert contents(engine) == before
    ingest_valid(engine, *events)
    assert ("shop/sales", None) in platform.starts()
    assert len(platform.materialized()) == 1
    assert {row[-1] for row in contents(engine)["runs"]} == {False}


def test_rebuilding_materializes_nothing(
    engine: Engine, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    platform = Platform(engine, instance, tmp_path, "load")
    ingest_valid(engine, run_event(outputs=[orders()]))
    assert len(platform.materialized()) == 1
    platform.starts()
    rebuild(engine)
    assert contents(engine)["to tell"] == []
    assert platform.starts() == []


def test_a_scan_takes_over_a_job_that_was_reported_first(engine: Engine, tmp_path: Path) -> None:
    from headrace.estates.estates import scan

    ingest_valid(engine, *adapter())
    (tmp_path / "night.jil").write_text(
        "insert_job: NIGHT job_type: b\ninsert_job: LOAD job_type: c\nbox_name: NIGHT\ncommand: a\nmachine: m\n"
    )
    scan(engine, [tmp_path / "night.jil"])
    ingest_valid(engine, *adapter())
    keys = {row[1] for row in contents(engine)["processes"]}
    assert {key for key in keys if key.startswith("AUTOSYS")} == {"AUTOSYS/NIGHT", "AUTOSYS/NIGHT/LOAD"}
    assert datetime.now(UTC) > datetime.fromisoformat(adapter()[0]["eventTime"])
