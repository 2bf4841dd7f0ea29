"""What producers send beside the spec is stored as they meant it, with a warning."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from headrace.openlineage.model import RunEvent
from headrace.openlineage.parsing import parse
from tests.platform.openlineage.events import BASE, dataset, facet, run_event


def parsed(event: dict[str, Any]) -> RunEvent:
    found = parse(event)
    assert isinstance(found, RunEvent)
    return found


def test_a_time_without_a_zone_is_in_utc() -> None:
    """As openlineage-python's own examples send it, and Marquez reads it."""
    event = parsed({**run_event(), "eventTime": "2026-03-01T04:00:00.755703"})
    assert event.at == datetime(2026, 3, 1, 4, 0, 0, 755703, tzinfo=UTC)
    assert event.warnings == ("eventTime 2026-03-01T04:00:00.755703 has no time zone: read as UTC",)


def test_so_are_nominal_times() -> None:
    event = run_event(run_facets={"nominalTime": facet(nominalStartTime="2026-03-01T00:00:00")})
    assert parsed(event).run_facets["nominalTime"].content["nominalStartTime"] == "2026-03-01T00:00:00Z"


@pytest.mark.parametrize("given", ["run_id", "manual__2026-03-01", "0" * 31])
def test_a_run_id_that_is_no_uuid_becomes_a_stable_one(given: str) -> None:
    start, end = run_event("START"), run_event("COMPLETE")
    start["run"]["runId"] = end["run"]["runId"] = given
    child = run_event(
        run=2, run_facets={"parent": facet(run={"runId": given}, job={"namespace": "a", "name": "b"})}
    )
    ids = {parsed(start).run_id, parsed(end).run_id}
    assert len(ids) == 1
    assert parsed(child).run_facets["parent"].content["run"]["runId"] == str(*ids)
    (warning,) = parsed(start).warnings
    assert warning.startswith(f"run.runId {given!r} is not a UUID: stored as ")


def test_null_facets_and_lists_are_left_out() -> None:
    source = dataset("in")
    source["facets"]["schema"] = None
    event = run_event(run_facets={"nominalTime": None}, inputs=[source])
    event["outputs"] = None
    found = parsed(event)
    assert found.run_facets == {}
    assert found.outputs == ()
    assert found.inputs[0].facets == {}
    assert set(found.warnings) == {
        "outputs is null: read as an empty list",
        "run.facets.nominalTime is null: ignored",
        "inputs[0].facets.schema is null: ignored",
    }


def test_an_event_of_the_spec_is_stored_as_it_is() -> None:
    assert parsed(run_event(inputs=["in"], outputs=["out"])).warnings == ()
    assert parsed(run_event(run=1)).run_id == UUID(run_event(run=1)["run"]["runId"])


@pytest.mark.parametrize(
    "address",
    [
        "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetFacet",
        "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/SchemaDatasetFacet",
        "https://openlineage.io/spec/1-0-5/OpenLineage.json#/definitions/DatasetFacet",
    ],
)
def test_a_standard_facet_with_the_address_of_the_core_spec_is_read(address: str) -> None:
    """The default address of openlineage-python's base classes."""
    schema = {**BASE, "_schemaURL": address, "fields": [{"name": "id", "type": "int"}]}
    event = run_event(outputs=[dataset("out", schema=schema)])
    assert parsed(event).outputs[0].facets["schema"].modelled
