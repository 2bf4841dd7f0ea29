"""Facets name datasets and jobs of any domain: callers do not learn about hidden ones from a facet."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine

from headrace.context import act_as, current_context
from headrace.database.connection import transaction
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.queries.facets import facets
from headrace.queries.names import locate
from tests.platform.access.conftest import principal_of

OWN = "headrace://default"
PEOPLE = {"namespace": OWN, "name": "crm/people"}
PLANES = {"namespace": "db2://host", "name": "PLANES"}
DELAYS = {"namespace": OWN, "name": "mart/delays"}
REPORT = {"namespace": OWN, "name": "mart/report"}


def facet(kind: str, version: str = "1-0-0", **content: Any) -> dict[str, Any]:
    url = f"https://openlineage.io/spec/facets/{version}/{kind}.json"
    return {"_producer": "https://example.com", "_schemaURL": url, **content}


def naming_event() -> dict[str, Any]:
    """An event of a job that makes mart/delays, with everything in it that names others."""
    sources = [{**each, "type": "DATASET"} for each in (PEOPLE, PLANES, REPORT)]
    columns = [{**each, "field": "email"} for each in (PEOPLE, PLANES, REPORT)]
    entries = [
        {
            **DELAYS,
            "type": "DATASET",
            "inputs": [*sources, {"type": "JOB"}],
            "fields": {"id": {"inputs": sources}},
        },
        {**PEOPLE, "type": "DATASET", "inputs": []},
        {"type": "JOB", "namespace": "hr", "name": "secret", "inputs": sources[:1]},
    ]
    fields = {"id": {"inputFields": columns}}
    message = {
        "columnLineage": facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields, dataset=columns),
        "lineage": facet("LineageFacet", inputs=[*sources, {"type": "JOB"}]),
    }
    return {
        "eventType": "RUNNING",
        "eventTime": "2026-11-28T12:00:00Z",
        "producer": "https://example.com/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid4())},
        "job": {
            "namespace": "spark",
            "name": "app",
            "facets": {"lineage": facet("LineageFacet", entries=entries)},
        },
        "outputs": [{**DELAYS, "facets": message}],
    }


def shown(engine: Engine) -> dict[str, Any]:
    """The facets of mart/delays and of the job."""
    dataset = locate(engine, current_context().organisation_id, OWN, "mart/delays")
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT process_id FROM catalog.process WHERE process_key = 'spark#app'"
        ).fetchone()
    assert dataset is not None
    assert row is not None
    found = {
        **facets(engine, "DATASET", dataset),
        "job": facets(engine, "PROCESS", row["process_id"])["lineage"],
    }
    return {name: row.content for name, row in found.items()}


def names(value: object) -> list[str]:
    return [each["name"] for each in value if "name" in each] if isinstance(value, list) else []


def test_narrow_callers_see_no_names_of_other_domains(two: Engine) -> None:
    [outcome] = ingest(two, current_context().organisation_id, [naming_event()])
    assert outcome.result is Result.STORED, outcome.reason
    with act_as(principal_of("default", domains=frozenset({"mart"}))):
        found = shown(two)
    for word in ("crm", "people", "PLANES", "hr", "secret"):
        assert word not in json.dumps(found), word
    assert names(found["columnLineage"]["fields"]["id"]["inputFields"]) == ["mart/report"]
    assert names(found["columnLineage"]["dataset"]) == ["mart/report"]
    assert found["lineage"]["inputs"] == [{**REPORT, "type": "DATASET"}, {"type": "JOB"}]
    [entry] = found["job"]["entries"]
    assert (entry["name"], names(entry["inputs"])) == ("mart/delays", ["mart/report"])


def test_unrestricted_callers_see_facets_unchanged(two: Engine) -> None:
    event = naming_event()
    ingest(two, current_context().organisation_id, [event])
    output, job = event["outputs"][0]["facets"], event["job"]["facets"]
    for caller in (None, principal_of("default")):
        with act_as(caller):
            assert shown(two) == {**output, "job": job["lineage"]}
    with act_as(principal_of("default", domains=frozenset({"mart", "db2://host"}))):
        assert names(shown(two)["lineage"]["inputs"]) == ["PLANES", "mart/report"]
