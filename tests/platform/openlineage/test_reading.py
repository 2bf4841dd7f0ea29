"""Parsing events: everything that the spec allows, and refused events, with the invalid field."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from headrace.openlineage.limits import InvalidEvent
from headrace.openlineage.model import DatasetEvent, JobEvent, RunEvent
from headrace.openlineage.parsing import parse
from tests.platform.openlineage.events import (
    BASE,
    SAMPLES,
    SCENARIOS,
    dataset,
    dataset_event,
    facet,
    job_event,
    recorded,
    run_event,
)

FACETS = sorted(path for path in (SAMPLES / "facets").glob("*/*.json"))
EVENT = run_event(inputs=["a"], outputs=["b"])


def changed(path: Any, value: Any) -> Any:
    event = copy.deepcopy(EVENT)
    inner = event
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return event


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_producers_sent_is_read(scenario: Any) -> None:
    for event in recorded(scenario):
        assert isinstance(parse(event), RunEvent)


@pytest.mark.parametrize("path", FACETS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_specs_own_examples_are_read_as_what_they_are(path: Any) -> None:
    example = json.loads(path.read_text())
    if path.stem == "example_full_event":
        parse(example)
        return
    kind, (name,) = path.parent.name, example
    if "RunFacet" in kind:
        facets = parse(run_event(run_facets=example)).run_facets
    elif "JobFacet" in kind or (kind == "LineageFacet" and "entries" in example["lineage"]):
        facets = parse(run_event(job_facets=example)).job.facets
    elif "InputDataset" in kind or (kind == "BaseSubsetDatasetFacet" and "inputCondition" in example[name]):
        facets = parse(run_event(inputs=[dataset("a", use={"inputFacets": example})])).inputs[0].use
    elif "OutputDataset" in kind or kind == "BaseSubsetDatasetFacet":
        facets = parse(run_event(outputs=[dataset("a", use={"outputFacets": example})])).outputs[0].use
    else:
        facets = parse(run_event(outputs=[dataset("a", **example)])).outputs[0].facets
    assert facets[name].modelled
    assert facets[name].content == example[name]


def test_the_three_kinds_are_distinguished() -> None:
    assert isinstance(parse(dataset_event(dataset("a"))), DatasetEvent)
    assert isinstance(parse(job_event("load", ["a"], ["b"])), JobEvent)
    assert isinstance(parse({**EVENT, "dataset": dataset("c")}), RunEvent)
    with pytest.raises(InvalidEvent, match="neither of the two"):
        parse({**job_event("load", [], []), "dataset": dataset("a")})


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["run", "runId"], "", "run.runId"),
        (["run", "runId"], 5, "run.runId"),
        (["run"], {}, "run.runId"),
        (["job", "name"], None, "job.name"),
        (["job", "name"], "", "job.name"),
        (["job", "name"], "a\0b", "job.name"),
        (["job", "name"], "\ud800", "job.name"),
        (["job", "name"], "a" * 1501, "job.name"),
        (["job", "namespace"], "é" * 501, "job.namespace"),
        (["eventTime"], "2026-03-01 04:00", "eventTime"),
        (["eventTime"], "yesterday", "eventTime"),
        (["eventTime"], "2026-02-30T04:00:00Z", "eventTime"),
        (["eventTime"], "1970-01-01T00:00:00Z", "eventTime"),
        (["eventTime"], "2970-01-01T00:00:00Z", "eventTime"),
        (["eventType"], "DONE", "eventType"),
        (["producer"], None, "producer"),
        (["schemaURL"], "https://openlineage.io/spec/3-0-0/OpenLineage.json#/$defs/RunEvent", "schemaURL"),
        (["inputs"], {}, "inputs"),
        (["inputs"], [{"name": "a"}], "inputs[0].namespace"),
        (
            ["inputs", 0, "facets"],
            {"schema": facet(fields=[{"name": 1}])},
            "inputs[0].facets.schema.fields[0].name",
        ),
        (["run", "facets"], {"mine": {"a": 1}}, "run.facets.mine._producer"),
        (["run", "facets"], {"my.own": 5}, 'run.facets["my.own"]'),
        (["run", "facets"], {"mine": facet(x=float("nan"))}, "run.facets.mine.x"),
        (["run", "facets"], {"mine": facet(x="a" * (9 << 20))}, "run.facets.mine"),
        (["run", "facets"], {"mine": facet(x=10**9000)}, "run.facets.mine.x"),
        (
            ["inputs", 0, "facets"],
            {"version": facet(datasetVersion="é" * 800)},
            "inputs[0].facets.version.datasetVersion",
        ),
        (
            ["run", "facets"],
            {"nominalTime": facet(nominalStartTime="2026-02-30T04:00:00Z")},
            "run.facets.nominalTime.nominalStartTime",
        ),
        (["job", "facets"], {"sql": facet(query=5)}, "job.facets.sql.query"),
        (
            ["job", "facets"],
            {
                "lineage": facet(
                    entries=[
                        {
                            "type": "DATASET",
                            "namespace": "a",
                            "name": "b",
                            "inputs": [{"type": "DATASET", "namespace": "a"}],
                        }
                    ]
                )
            },
            "job.facets.lineage.entries[0].inputs[0].name",
        ),
        (
            ["outputs", 0, "facets"],
            {"symlinks": facet(identifiers=[{"namespace": "a", "name": "b" * 3000, "type": "TABLE"}])},
            "outputs[0].facets.symlinks.identifiers[0].name",
        ),
    ],
)
def test_what_is_wrong_is_refused_by_field(path: Any, value: Any, field: Any) -> None:
    with pytest.raises(InvalidEvent) as refused:
        parse(changed(path, value))
    assert refused.value.field == field


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(InvalidEvent, match="more than 100 levels deep") as refused:
        parse(changed(["run", "facets"], {"mine": facet(x=deep)}))
    assert refused.value.field == "run.facets.mine.x"


@pytest.mark.parametrize("event", [None, 5, "a", [], True, {}, {"run": {}}, {"job": 5}, {"dataset": []}])
def test_what_is_no_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidEvent):
        parse(event)


def test_facets_of_another_model_and_of_others_are_kept_as_they_are() -> None:
    newer = {
        **BASE,
        "_schemaURL": "https://openlineage.io/spec/facets/9-0-0/SQLJobFacet.json#/$defs/SQLJobFacet",
        "query": 5,
    }
    read = parse(run_event(job_facets={"sql": newer, "mine": facet(anything=[1])}))
    assert not read.job.facets["sql"].modelled
    assert read.job.facets["sql"].content == newer
    assert not read.job.facets["mine"].modelled


def test_a_facet_that_is_taken_away_needs_no_content() -> None:
    assert parse(run_event(job_facets={"sql": facet(_deleted=True)})).job.facets["sql"].deleted


def test_the_digest_is_that_of_the_content() -> None:
    again = json.loads(json.dumps(dict(reversed(EVENT.items()))))
    assert parse(again).digest == parse(EVENT).digest
    assert parse(changed(["eventType"], "FAIL")).digest != parse(EVENT).digest


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("2026-03-01t04:00:00z", "2026-03-01T04:00:00+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
        ("2016-12-31t23:59:60.5+00:00", "2017-01-01T00:00:00.500000+00:00"),
        ("2026-03-01T04:00:00.123456789Z", "2026-03-01T04:00:00.123456+00:00"),
    ],
)
def test_times_are_read_as_rfc_3339_has_them(message: Any, meant: Any) -> None:
    assert parse({**EVENT, "eventTime": message}).at.isoformat() == meant


@pytest.mark.parametrize(
    ("condition", "field"),
    [
        ({"type": "partition", "partitions": 5}, "partitions"),
        ({"type": "partition"}, "partitions"),
        ({"type": "compare", "left": {"type": "literal", "value": 3}}, "left.value"),
        ({"type": "what", "partitions": []}, "type"),
    ],
)
def test_of_alternatives_the_one_that_is_meant_is_to_blame(condition: Any, field: Any) -> None:
    subset = {"inputFacets": {"subset": facet(inputCondition=condition)}}
    with pytest.raises(InvalidEvent) as refused:
        parse(run_event(inputs=[dataset("a", use=subset)]))
    assert refused.value.field == f"inputs[0].inputFacets.subset.inputCondition.{field}"
