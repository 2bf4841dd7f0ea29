"""Edges from events: inputs to outputs, pairs of lineage facets, columns; nothing that was not reported."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.context import current_context
from headrace.openlineage import runs
from headrace.queries import names as asking
from headrace.queries.rows import Direction
from headrace.registration.declarations import register
from headrace.retention.rebuild import rebuild
from headrace.retention.run_reports import why as explain_run
from tests.platform.openlineage.events import (
    START,
    contents,
    dataset,
    dataset_event,
    edges,
    facet,
    ingest_valid,
    job_event,
    run_event,
    wipe,
)


def source(name: str, field: str | None = None, **more: Any) -> dict:
    return {"type": "DATASET", "namespace": "db", "name": name, **({"field": field} if field else {}), **more}


def entry(name: str, *sources: dict, **fields: Any) -> dict:
    of_fields = {column: {"inputs": inputs} for column, inputs in fields.items()}
    return {
        "type": "DATASET",
        "namespace": "db",
        "name": name,
        "inputs": list(sources),
        **({"fields": of_fields} if fields else {}),
    }


PAIRS = facet(entries=[entry("x", source("a")), entry("y", source("b"))])


def test_every_input_leads_to_every_output_over_the_events_of_a_run(engine: Engine) -> None:
    ingest_valid(
        engine, run_event("START", inputs=["a", "b"]), run_event("COMPLETE", outputs=["x"], minutes=5)
    )
    assert edges(engine) == {("db#a", "db#x"), ("db#b", "db#x")}
    assert edges(engine, "CONSUMES") == {("db#a", "airflow#load"), ("db#b", "airflow#load")}
    assert edges(engine, "PRODUCES") == {("airflow#load", "db#x")}
    since = {row[5] for row in contents(engine)["edges"] if row[2] == "DERIVES"}
    assert since == {START + timedelta(minutes=5)}


REPORTED = [
    run_event("START", inputs=["a", "b"], outputs=["x", "y"]),
    run_event("RUNNING", job_facets={"lineage": PAIRS}, minutes=1),
    run_event("COMPLETE", outputs=["x"], minutes=2),
]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_pairs_of_a_lineage_facet_are_all_that_is_claimed_in_any_order(
    engine: Engine, order: Any
) -> None:
    for index in order:
        ingest_valid(engine, REPORTED[index])
    assert edges(engine) == {("db#a", "db#x"), ("db#b", "db#y")}


def test_an_edge_that_another_run_shows_stays_with_its_time(engine: Engine) -> None:
    crossing = run_event(run=2, inputs=["a"], outputs=["y"], minutes=30)
    ingest_valid(engine, REPORTED[0], crossing)
    ingest_valid(engine, REPORTED[1])
    assert edges(engine) == {("db#a", "db#x"), ("db#b", "db#y"), ("db#a", "db#y")}
    late = contents(engine)
    wipe(engine)
    ingest_valid(engine, REPORTED[1], REPORTED[0])
    ingest_valid(engine, crossing)
    assert contents(engine)["edges"] == late["edges"]
    rebuild(engine)
    assert contents(engine)["edges"] == late["edges"]


def test_an_input_of_an_earlier_facet_counts_from_the_run_that_reports_it(engine: Engine) -> None:
    message = [
        run_event("START", outputs=[dataset("x", lineage=facet(inputs=[source("a")]))]),
        run_event(minutes=5, inputs=["a"], outputs=[dataset("x", lineage=facet(inputs=[source("b")]))]),
    ]
    found = []
    for order in (message, message[::-1]):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        found.append(contents(engine)["edges"])
    assert found[0] == found[1]
    since = {row[5] for row in found[0] if (row[0], row[2]) == ("db#a", "CONSUMES")}
    assert since == {START + timedelta(minutes=5)}


def test_a_job_that_ran_often_claims_no_more_than_another(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_MAX_DOCUMENTS", 4)
    pairs = {(f"db#{one}", f"db#{other}") for one, other in ("ax", "by")}
    for run in range(8):
        ingest_valid(engine, run_event("START", run=run, minutes=run, inputs=["a", "b"], outputs=["x", "y"]))
        ingest_valid(engine, run_event(run=run, minutes=run + 0.5, job_facets={"lineage": PAIRS}))
        assert edges(engine) == pairs
    since = {row[5] for row in contents(engine)["edges"]}
    assert since == {START}


def test_a_generated_dataset_has_no_source_whatever_the_job_read(engine: Engine) -> None:
    facets = {"lineage": facet(entries=[entry("x")])}
    ingest_valid(engine, run_event(inputs=["a"], outputs=["x"], job_facets=facets))
    assert edges(engine) == set()
    assert edges(engine, "PRODUCES") == {("airflow#load", "db#x")}


def test_jobs_feed_datasets_and_jobs(engine: Engine) -> None:
    other = {"type": "JOB", "namespace": "airflow", "name": "extract"}
    facets = {
        "lineage": facet(
            entries=[
                {**entry("x"), "inputs": [other]},
                {"type": "JOB", "inputs": [source("t")]},
                {"type": "JOB", "namespace": "airflow", "name": "load", "inputs": [other]},
            ]
        )
    }
    ingest_valid(engine, run_event(job_facets=facets))
    assert edges(engine, "PRODUCES") == {("airflow#extract", "db#x")}
    assert edges(engine, "CONSUMES") == {("db#t", "airflow#load")}
    assert edges(engine) == {("airflow#extract", "airflow#load")}


def test_lineage_from_dataset_events_has_no_job(engine: Engine) -> None:
    reported = facet(inputs=[source("a")], fields={"id": {"inputs": [source("b", "key")]}})
    ingest_valid(engine, dataset_event(dataset("x", lineage=reported)))
    assert edges(engine) == {("db#a", "db#x"), ("db#b", "db#x")}
    (column,) = asking.column_lineage(
        engine,
        asking.locate(engine, current_context().organisation_id, "db", "x"),  # type: ignore[arg-type]
    )
    assert (column.source_key, column.source_field, column.target_field, column.process) == (
        "db#b",
        "key",
        "id",
        None,
    )


def test_a_job_says_by_design_what_it_reads_and_writes(engine: Engine) -> None:
    ingest_valid(engine, job_event("load", ["a"], ["x"]))
    assert edges(engine) == {("db#a", "db#x")}
    assert contents(engine)["runs"] == []


def test_loops_and_circles_are_harmless(engine: Engine) -> None:
    ingest_valid(
        engine,
        run_event(inputs=["a"], outputs=["a", "b"]),
        run_event(run=2, job="back", inputs=["b"], outputs=["a"], minutes=1),
    )
    assert edges(engine) == {("db#a", "db#a"), ("db#a", "db#b"), ("db#b", "db#a")}
    found = queries.lineage(engine, "db#a", Direction.DOWN, depth=10)
    assert {node.key for node in found.nodes} == {"db#a", "db#b"}


def test_a_declared_process_reads_and_writes_what_its_declaration_says(engine: Engine) -> None:
    register(
        engine,
        [DatasetRecord("mart/a", "parquet"), DatasetRecord("mart/b", "parquet")],
        [ProcessRecord("mart/b", Technology.SPARK, inputs=("mart/a",), outputs=("mart/b",))],
    )
    before = contents(engine)["edges"]
    event = run_event(job="mart/b", namespace="headrace://default", inputs=["stray"], outputs=["other"])
    ingest_valid(engine, event)
    assert contents(engine)["edges"] == before


def test_child_runs_of_a_headrace_run_have_no_edges(engine: Engine) -> None:
    parent = facet(
        run={"runId": "00000000-0000-0000-0000-000000000009"},
        job={"namespace": "headrace://default", "name": "mart/b"},
    )
    first = run_event("START", inputs=["a"], outputs=["x"])
    second = run_event("COMPLETE", run_facets={"parent": parent}, minutes=1)
    for order in ((first, second), (second, first)):
        wipe(engine)
        ingest_valid(engine, order[0])
        ingest_valid(engine, order[1])
        assert edges(engine) == edges(engine, "PRODUCES") == set()


def columns(engine: Engine, name: Any = "x", direction: Any = Direction.UP, **given: Any) -> Any:
    found = asking.column_lineage(
        engine,
        asking.locate(engine, current_context().organisation_id, "db", name),  # type: ignore[arg-type]
        direction,
        **given,
    )
    return {
        (each.source_key, each.source_field, each.target_key, each.target_field, each.subtype)
        for each in found
    }


def column_facet(**fields: Any) -> dict:
    def inputs(stated: Any) -> Any:
        name, column, subtype = stated
        how = [{"type": "DIRECT", "subtype": subtype, "masking": subtype == "MASKED"}] if subtype else []
        return {"namespace": "db", "name": name, "field": column, "transformations": how}

    return facet(
        fields={
            column: {"inputFields": [inputs(each) for each in message]} for column, message in fields.items()
        }
    )


def test_columns_are_followed_through_datasets_up_and_down(engine: Engine) -> None:
    first = column_facet(id=[("a", "key", "IDENTITY")], total=[("a", "amount", "AGGREGATION")])
    second = column_facet(id=[("m", "id", "IDENTITY")])
    ingest_valid(
        engine,
        run_event(inputs=["a"], outputs=[dataset("m", columnLineage=first)]),
        run_event(run=2, job="b", inputs=["m"], outputs=[dataset("x", columnLineage=second)], minutes=1),
    )
    near = {("db#m", "id", "db#x", "id", "IDENTITY")}
    assert columns(engine) == near
    assert columns(engine, depth=3) == near | {("db#a", "key", "db#m", "id", "IDENTITY")}
    assert columns(engine, "a", Direction.DOWN, depth=3, field="key") == near | {
        ("db#a", "key", "db#m", "id", "IDENTITY")
    }
    assert columns(engine, "a", Direction.DOWN, depth=3, field="amount") == {
        ("db#a", "amount", "db#m", "total", "AGGREGATION")
    }


def test_column_lineage_no_longer_reported_is_not_current_but_found_as_of_then(engine: Engine) -> None:
    old = column_facet(id=[("a", "old", "IDENTITY")])
    new = column_facet(id=[("a", "new", "IDENTITY")])
    ingest_valid(
        engine, run_event(run=2, inputs=["a"], outputs=[dataset("x", columnLineage=new)], minutes=10)
    )
    ingest_valid(engine, run_event(inputs=["a"], outputs=[dataset("x", columnLineage=old)]))
    assert columns(engine) == {("db#a", "new", "db#x", "id", "IDENTITY")}
    assert columns(engine, as_of=START) == {("db#a", "old", "db#x", "id", "IDENTITY")}


def test_the_first_version_of_the_column_facet_is_understood(engine: Engine) -> None:
    old = facet(
        fields={
            "id": {
                "inputFields": [{"namespace": "db", "name": "a", "field": "key"}],
                "transformationType": "MASKED",
                "transformationDescription": "sha256",
            }
        }
    )
    ingest_valid(engine, run_event(inputs=["a"], outputs=[dataset("x", columnLineage=old)]))
    (found,) = asking.column_lineage(
        engine,
        asking.locate(engine, current_context().organisation_id, "db", "x"),  # type: ignore[arg-type]
    )
    assert (found.type, found.description, found.masking) == ("DIRECT", "sha256", True)


def test_a_filter_is_followed_from_each_of_its_columns(engine: Engine) -> None:
    whole = facet(
        fields={},
        dataset=[
            {
                "namespace": "db",
                "name": "a",
                "field": "day",
                "transformations": [{"type": "INDIRECT", "subtype": "FILTER"}],
            }
        ],
    )
    ingest_valid(engine, run_event(inputs=["a"], outputs=[dataset("x", columnLineage=whole)]))
    assert columns(engine, field="anything") == {("db#a", "day", "db#x", "", "FILTER")}


def test_a_headrace_run_reports_itself(engine: Engine) -> None:
    register(engine, [DatasetRecord("mart/b", "parquet")], [ProcessRecord("mart/b", Technology.SPARK)])
    from uuid import UUID

    from headrace.publishing.runs import attempt
    from tests.platform.openlineage.events import uuid

    run = UUID(uuid(1))
    with attempt(engine, run_id=run, process_key="mart/b"):
        ingest_valid(engine, run_event("FAIL", inputs=["a"], outputs=["x"]))
    (found,) = explain_run(engine, run)
    assert found.state.value == "SUCCESS"
    assert edges(engine) == set()
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM catalog.process_run")) == 1
