"""A catalog with both kinds of lineage: declared and run here, and reported by an OpenLineage producer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from neo4j import Driver
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports.neo4j import connected
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import attempt
from headrace.settings import settings
from tests.platform.conftest import Draft
from tests.platform.exports import janusgraph_server, neo4j_server

RUN = UUID("0190aaaa-0000-7000-8000-000000000001")
EARLIER = UUID("0190aaaa-0000-7000-8000-000000000002")
LONG = "s3/" + "verylong/" * 60 + "ends"


@dataclass(frozen=True)
class Filled:
    """run: the one that published mart/delays here. orders, sales: datasets that etl/load (loading) reports."""

    engine: Engine
    run: UUID
    orders: UUID
    sales: UUID
    loading: UUID


@pytest.fixture
def filled(catalog: Engine, draft: Draft) -> Filled:
    run = uuid4()
    (landed,) = publish(catalog, None, [draft("raw/flights", partition="2013-01-01")])
    with attempt(
        catalog, run_id=run, process_key="mart/delays", root_dagster_run_id=None, dagster_run_id=None,
        partitions=[], log_location=None,
    ):  # fmt: skip
        before = generations(catalog, [("mart/delays", None)])
        made = draft(
            "mart/delays", generation=before["mart/delays", None], inputs=(landed.version.version_id,)
        )
        publish(catalog, run, [made])
    outcomes = ingest(catalog, current_context().organisation_id, reported_events())
    assert {outcome.result for outcome in outcomes} == {Result.STORED}
    with transaction(catalog) as cursor:
        ids = [
            cursor.execute(
                "SELECT dataset_id AS id FROM catalog.dataset_name WHERE name = %s", [name]
            ).fetchone()["id"]
            for name in (LONG, "dwh.sales")
        ]
        loading = cursor.execute(
            "SELECT process_id AS id FROM catalog.process WHERE job_name = 'load'"
        ).fetchone()["id"]
    return Filled(catalog, run, *ids, loading)  # type: ignore[call-arg]


def reported_events() -> list[dict[str, Any]]:
    """Two runs of the job etl/load: orders (of a long name) -> sales. The second no longer reads cents, and fails."""
    first = event(
        "START", EARLIER, "2026-11-27T01:00:00Z", columns(("cents", "amount", "DIRECT", "TRANSFORMATION"))
    )
    first["outputs"][0]["facets"]["schema"] = facet(
        "SchemaDatasetFacet", fields=[{"name": "amount", "type": "int"}]
    )
    now = columns(("amount", "amount", "DIRECT", "AGGREGATION"))
    now["dataset"] = columns(("day", "rows", "INDIRECT", "FILTER"))["fields"]["rows"]["inputFields"]
    second = event("START", RUN, "2026-11-28T01:00:00Z", now)
    second["run"]["facets"] = {
        "nominalTime": facet("NominalTimeRunFacet", nominalStartTime="2026-11-28T00:00:00Z")
    }
    return [first, second, event("FAIL", RUN, "2026-11-28T01:05:00.5Z")]


def event(kind: str, run: UUID, at: str, lineage: dict[str, Any] | None = None) -> dict[str, Any]:
    written = {"columnLineage": facet("ColumnLineageDatasetFacet", **lineage)} if lineage else {}
    return {
        "eventType": kind,
        "eventTime": at,
        "run": {"runId": str(run)},
        "job": {"namespace": "etl", "name": "load"},
        "inputs": [{"namespace": "s3://lake", "name": LONG}],
        "outputs": [{"namespace": "postgres://db:5432", "name": "dwh.sales", "facets": written}],
        "producer": "https://example.com/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


def facet(kind: str, **content: Any) -> dict[str, Any]:
    schema = f"https://openlineage.io/spec/facets/1-0-0/{kind}.json#/$defs/{kind}"
    return {"_producer": "https://example.com/spark", "_schemaURL": schema, **content}


def columns(*pairs: tuple[str, str, str, str]) -> dict[str, Any]:
    """Column of orders, column of sales, how."""
    return {
        "fields": {
            target: {
                "inputFields": [
                    {
                        "namespace": "s3://lake", "name": LONG, "field": source,
                        "transformations": [{"type": kind, "subtype": subtype, "description": "sum(amount)"}],
                    }
                ]
            }
            for source, target, kind, subtype in pairs
        }
    }  # fmt: skip


@pytest.fixture(scope="session")
def neo4j_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with neo4j_server.running(tmp_path_factory.mktemp("neo4j")) as uri:
        if uri is None:
            pytest.skip(neo4j_server.MISSING)
        yield uri


@pytest.fixture
def driver(neo4j_uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """An empty Neo4j, which the settings name."""
    monkeypatch.setenv("HEADRACE_NEO4J__URI", neo4j_uri)
    settings.cache_clear()
    with connected(neo4j_uri, "neo4j", "neo4j") as found:
        found.execute_query("MATCH (n) DETACH DELETE n")
        yield found
    settings.cache_clear()


@pytest.fixture(scope="session")
def janusgraph_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("gremlin_python", reason=janusgraph_server.MISSING)
    with janusgraph_server.running(tmp_path_factory.mktemp("janusgraph")) as uri:
        if uri is None:
            pytest.skip(janusgraph_server.MISSING)
        yield uri
