"""The graph as GraphML and as OpenLineage lines, read back by networkx, by OpenLineage's client and by the catalog."""

from __future__ import annotations

import importlib
import io
import json
from typing import Any
from uuid import uuid4

import networkx as nx
import pytest
from openlineage.client import event_v2
from openlineage.client.serde import Serde

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports.graphml import write_graphml
from headrace.exports.openlineage import write_lines
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.openlineage.parsing import parse
from tests.platform.exports.conftest import LONG, Filled

OURS = "headrace://default"
MODULES = {
    "SchemaDatasetFacet": "schema_dataset",
    "DocumentationDatasetFacet": "documentation_dataset",
    "OwnershipDatasetFacet": "ownership_dataset",
    "DatasetVersionDatasetFacet": "dataset_version_dataset",
    "TagsDatasetFacet": "tags_dataset",
    "ColumnLineageDatasetFacet": "column_lineage_dataset",
    "JobTypeJobFacet": "job_type_job",
    "DocumentationJobFacet": "documentation_job",
    "OwnershipJobFacet": "ownership_job",
    "LineageJobFacet": "lineage",
    "LineageDatasetFacet": "lineage",
}


def graph_of(filled: Filled) -> nx.MultiDiGraph:
    out = io.BytesIO()
    counted = write_graphml(filled.engine, current_context().organisation_id, out)
    graph = nx.read_graphml(io.BytesIO(out.getvalue()), force_multigraph=True)
    assert counted == (graph.number_of_nodes(), graph.number_of_edges())
    return graph  # type: ignore[return-value]


def lines_of(filled: Filled) -> list[dict[str, Any]]:
    out = io.BytesIO()
    counted = write_lines(filled.engine, current_context().organisation_id, out)
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert sum(counted) == len(found)
    return found


def test_graphml_has_datasets_processes_columns_and_what_joins_them(filled: Filled) -> None:
    graph = graph_of(filled)
    keys = {node: (data["kind"], data["key"]) for node, data in graph.nodes(data=True)}
    orders, sales = f"s3://lake#{LONG}", "postgres://db:5432#dwh.sales"
    assert set(keys.values()) == {
        ("dataset", "raw/flights"), ("dataset", "mart/delays"), ("dataset", "mart/report"),
        ("process", "mart/delays"), ("process", "mart/report"),
        ("dataset", orders), ("dataset", sales), ("process", "etl#load"),
        ("column", f"{orders}#amount"), ("column", f"{orders}#day"), ("column", f"{sales}#amount"),
        ("column", f"{sales}#*"),
    }  # fmt: skip
    joined = {(data["role"], keys[a], keys[b]) for a, b, data in graph.edges(data=True)}
    assert {edge for edge in joined if edge[0] != "HAS" and "dwh" in edge[2][1]} == {
        ("PRODUCES", ("process", "etl#load"), ("dataset", sales)),
        ("DERIVES", ("dataset", orders), ("dataset", sales)),
        ("DERIVES", ("column", f"{orders}#amount"), ("column", f"{sales}#amount")),
        ("DERIVES", ("column", f"{orders}#day"), ("column", f"{sales}#*")),
    }
    assert ("CONSUMES", ("dataset", "raw/flights"), ("process", "mart/delays")) in joined
    delays = next(
        data
        for _, data in graph.nodes(data=True)
        if data["key"] == "mart/delays" and data["kind"] == "dataset"
    )
    assert (delays["tags"], delays["description"], delays["name"]) == (
        "tier=gold",
        "Delays by day",
        "mart/delays",
    )


def test_text_that_xml_cannot_have_is_left_out_of_graphml(filled: Filled) -> None:
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "UPDATE catalog.dataset SET description = E'a\\x01<b> & \\uFFFE\"c\"\\n\\U0001F600', owners = '{x,y}' "
            "WHERE dataset_id = %s",
            [filled.sales],
        )
    sales = graph_of(filled).nodes[str(filled.sales)]
    assert (sales["description"], sales["owners"]) == ('a<b> & "c"\n\U0001f600', "x, y")


def test_lines_say_the_whole_graph(filled: Filled) -> None:
    events = lines_of(filled)
    datasets = {each["dataset"]["name"]: each["dataset"] for each in events if "dataset" in each}
    jobs = {each["job"]["name"]: each for each in events if "job" in each}
    assert set(datasets) == {"raw/flights", "mart/delays", "mart/report", LONG, "dwh.sales"}
    assert set(jobs) == {"mart/delays", "mart/report", "load"}
    delays = datasets["mart/delays"]["facets"]
    assert delays["schema"]["fields"] == [
        {"name": "id", "type": "bigint"}, {"name": "delay", "type": "double", "description": "minutes"},
    ]  # fmt: skip
    assert delays["tags"]["tags"] == [{"key": "tier", "value": "gold"}]
    assert delays["documentation"]["description"] == "Delays by day"
    assert datasets["raw/flights"]["facets"]["ownership"]["owners"] == [{"name": "ops@example.com"}]
    load = jobs["load"]
    source = {"namespace": "s3://lake", "name": LONG}
    assert load["inputs"] == [source]
    (written,) = load["outputs"]
    assert (written["namespace"], written["name"]) == ("postgres://db:5432", "dwh.sales")
    assert load["job"]["facets"]["lineage"]["entries"] == [
        {
            "namespace": "postgres://db:5432", "name": "dwh.sales", "type": "DATASET",
            "inputs": [{**source, "type": "DATASET"}],
        }
    ]  # fmt: skip
    columns = written["facets"]["columnLineage"]
    assert columns["fields"] == {
        "amount": {
            "inputFields": [
                {
                    **source, "field": "amount",
                    "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION", "masking": False}],
                }
            ]
        }
    }  # fmt: skip
    assert [each["field"] for each in columns["dataset"]] == ["day"]
    assert {each["namespace"] for each in jobs["mart/delays"]["inputs"]} == {OURS}


def test_nothing_sensitive_is_in_the_exports(filled: Filled) -> None:
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.process SET source = 'SELECT secret_text'")
    message = json.dumps([*lines_of(filled), nx.node_link_data(graph_of(filled))])
    for secret in ("secret_text", "sum(amount)", "file:/warehouse"):
        assert secret not in message


def test_no_password_is_in_the_exports(filled: Filled) -> None:
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET description = 'see jdbc:db2://bob:hunter2@host'")
    message = json.dumps([*lines_of(filled), nx.node_link_data(graph_of(filled))])
    assert "bob:***@host" in message
    assert "hunter2" not in message


def test_every_line_is_what_the_spec_allows(filled: Filled) -> None:
    for event in lines_of(filled):
        parse(event)


def test_openlineages_own_classes_take_every_line_and_say_the_same(filled: Filled) -> None:
    for event in lines_of(filled):
        kind = event["schemaURL"].rpartition("/")[2]
        given = {name: value for name, value in event.items() if name != "schemaURL"}
        if kind == "DatasetEvent":
            given["dataset"] = dataset(event_v2.StaticDataset, given["dataset"])
        else:
            job = given["job"]
            given["job"] = event_v2.Job(**{**job, "facets": facets(job["facets"])})
            given["inputs"] = [dataset(event_v2.InputDataset, each) for each in given["inputs"]]
            given["outputs"] = [dataset(event_v2.OutputDataset, each) for each in given["outputs"]]
        made = getattr(event_v2, kind)(**given)
        assert without_empty(Serde.to_dict(made)) == without_empty(event)


def test_another_catalog_that_takes_the_lines_draws_the_same_graph(filled: Filled) -> None:
    other = uuid4()
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, 'other')", [other]
        )
    sent = lines_of(filled)
    assert {each.result for each in ingest(filled.engine, other, sent)} == {Result.STORED}
    out = io.BytesIO()
    write_lines(filled.engine, other, out)
    assert essence([json.loads(line) for line in out.getvalue().splitlines()]) == essence(sent)


def essence(events: list[dict[str, Any]]) -> dict[tuple[str, ...], Any]:
    """By entity, the contents of the graph, in a defined order."""
    found = {}
    for each in events:
        if "dataset" in each:
            schema = each["dataset"]["facets"].get("schema", {}).get("fields")
            found["dataset", each["dataset"]["namespace"], each["dataset"]["name"]] = schema
        else:
            lineage = each["job"]["facets"].get("lineage", {}).get("entries", [])
            parts = [each["inputs"], without_empty(each["outputs"]), lineage]
            found["job", each["job"]["namespace"], each["job"]["name"]] = [
                sorted(part, key=json.dumps) for part in parts
            ]
    return found  # type: ignore[return-value]


def dataset(kind: type, given: dict[str, Any]) -> Any:
    return kind(**{**given, "facets": facets(given.get("facets", {}))})


def facets(given: dict[str, Any]) -> dict[str, Any]:
    """Parse each facet as the class that its schema names; nested content stays JSON, which they accept."""
    made = {}
    for name, content in given.items():
        kind = content["_schemaURL"].rpartition("/")[2]
        module = importlib.import_module(f"openlineage.client.generated.{MODULES[kind]}")
        fields = {key.removeprefix("_"): value for key, value in content.items() if key != "_schemaURL"}
        made[name] = getattr(module, kind)(**fields)
        assert made[name]._schemaURL.rpartition("/")[2] == kind
    return made


def without_empty(value: Any) -> Any:
    """Without empty lists and objects, which the client adds, and the versions of facets, which are its own."""
    if isinstance(value, dict):
        kept = {key: without_empty(each) for key, each in value.items() if key != "_schemaURL"}
        return {key: each for key, each in kept.items() if each not in ({}, [], None)}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("page", [1, 2])
def test_pages_are_put_together(filled: Filled, page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lines_of(filled)
    edges = set(graph_of(filled).edges)
    monkeypatch.setattr("headrace.exports.graph.PAGE", page)
    monkeypatch.setattr("headrace.exports.openlineage.PAGE", page)
    for one, other in zip(whole, lines_of(filled), strict=True):
        assert {**one, "eventTime": ""} == {**other, "eventTime": ""}
    assert set(graph_of(filled).edges) == edges
