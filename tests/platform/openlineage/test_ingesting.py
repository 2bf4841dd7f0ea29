"""Ingestion of batches: valid events stored, invalid ones by index; runs, facets, quality, organisations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import RunState
from headrace.context import current_context
from headrace.database import connection as database
from headrace.errors import CatalogError
from headrace.openlineage import ingestion
from headrace.openlineage import ingestion as ingesting
from headrace.openlineage.model import Result, RunEvent
from headrace.queries import names as asking
from headrace.queries.facets import facets
from headrace.retention.run_reports import why as explain_run
from tests.platform.openlineage.events import (
    START,
    contents,
    dataset,
    dataset_event,
    edges,
    facet,
    facets_of,
    ingest,
    ingest_valid,
    run_event,
    uuid,
    wipe,
)


def report(engine: Engine, run: Any = 1) -> Any:
    (found,) = explain_run(engine, UUID(uuid(run)))
    return found


def located(engine: Engine, name: Any) -> Any:
    return asking.locate(engine, current_context().organisation_id, "db", name)


def test_valid_batch_members_are_stored_and_others_reported_by_index(engine: Engine) -> None:
    good, other = run_event(), run_event(run=2)
    bad = {**run_event(run=3), "run": {"runId": ""}}
    outcomes = ingest(engine, good, bad, 5, other, good)
    assert [(each.index, each.result, each.field) for each in outcomes] == [
        (0, Result.STORED, None),
        (1, Result.REFUSED, "run.runId"),
        (2, Result.REFUSED, ""),
        (3, Result.STORED, None),
        (4, Result.REPEATED, None),
    ]
    assert len(contents(engine)["runs"]) == 2


def test_an_unexpected_event_is_refused_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ingesting.project

    def refusing(cursor: Any, owner: Any, events: Any) -> Any:
        if any(isinstance(event, RunEvent) and event.job.name.name == "bad" for event in events):
            cursor.execute("SELECT repeat('9', 5)::smallint")
        return project(cursor, owner, events)

    monkeypatch.setattr(ingesting, "project", refusing)
    events = [run_event(run=run, job="bad" if run == 3 else "good") for run in range(6)]
    outcomes = ingest(engine, *events)
    assert [each.index for each in outcomes if each.result is Result.REFUSED] == [3]
    assert outcomes[3].reason == 'the catalog rejected it: value "99999" is out of range for type smallint'
    assert len(contents(engine)["runs"]) == 5


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        (["START"], RunState.RUNNING),
        ([None], RunState.RUNNING),
        (["START", "RUNNING", "COMPLETE"], RunState.SUCCESS),
        (["COMPLETE", "RUNNING", "OTHER"], RunState.SUCCESS),
        (["START", "FAIL"], RunState.FAILED),
        (["START", "ABORT"], RunState.TERMINATED),
        (["FAIL", "COMPLETE"], RunState.FAILED),
    ],
)
def test_a_run_is_in_the_state_that_its_events_come_to_in_any_order(
    engine: Engine, kinds: Any, state: Any
) -> None:
    events = [run_event(kind, minutes=minutes) for minutes, kind in enumerate(kinds)]
    for event in reversed(events):
        ingest_valid(engine, event)
    found = report(engine)
    assert (found.state, found.started_at) == (state, START)
    assert len(found.attempts) == 1


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        ([("COMPLETE", 0), ("FAIL", 1)], RunState.FAILED),
        ([("FAIL", 0), ("COMPLETE", 1)], RunState.FAILED),
        ([("COMPLETE", 1), ("FAIL", 1)], RunState.FAILED),
        ([("COMPLETE", 1), ("ABORT", 1)], RunState.TERMINATED),
        ([("COMPLETE", 0), ("FAIL", 1), ("COMPLETE", 2)], RunState.FAILED),
    ],
)
@pytest.mark.parametrize("namespace", ["airflow", "AUTOSYS"])
def test_a_run_that_completes_and_fails_ends_the_same_in_any_order(
    engine: Engine, ends: Any, state: Any, namespace: Any
) -> None:
    # Made before, as the id of a scheduler's job is made up.
    ingest_valid(engine, run_event("COMPLETE", run="first", outputs=["a"], namespace=namespace, minutes=-9))
    events = [run_event(kind, minutes=minutes, outputs=["a"], namespace=namespace) for kind, minutes in ends]
    found: list[Any] = []
    for order in permutations(events):
        run = len(found)
        ingest_valid(engine, *({**each, "run": {"runId": uuid(f"{run}")}} for each in order))
        for each in order:
            ingest_valid(engine, {**each, "run": {"runId": uuid(f"{run}/singly")}})
        for name in (f"{run}", f"{run}/singly"):
            assert report(engine, name).state is state
            events_of_run = {
                key: contents(engine)[key] for key in ("versions", "published", "completions", "to tell")
            }
            found.append(
                {key: sum(uuid(name) in repr(row) for row in rows) for key, rows in events_of_run.items()}
            )
    assert all(each == found[0] for each in found), found
    assert (found[0]["completions"] == 1) == (state is RunState.SUCCESS)


@pytest.mark.parametrize("order", [1, -1])
def test_a_failed_run_writes_nothing_although_its_listener_reports_a_complete(
    engine: Engine, order: Any
) -> None:
    ends = [run_event("FAIL", outputs=["a"]), run_event("COMPLETE", outputs=["a"], minutes=0.095 / 60)]
    for event in ends[::order]:
        ingest_valid(engine, event)
    assert (report(engine).state, report(engine).ended_at) == (RunState.FAILED, START)
    found = contents(engine)
    assert (found["versions"], found["published"], found["completions"]) == ([], [], [])


def test_a_withdrawn_version_has_no_pointer(engine: Engine) -> None:
    ingest_valid(engine, run_event("COMPLETE", outputs=["a"]))
    ingest_valid(engine, run_event("FAIL", outputs=["a"], minutes=1))
    found = contents(engine)
    assert (found["versions"], found["moves"], found["published"]) == ([], [], [])


def test_why_a_run_failed_and_whose_it_was(engine: Engine) -> None:
    parent = facet(run={"runId": uuid("dag")}, job={"namespace": "airflow", "name": "dag"})
    error = facet(message="no such table", programmingLanguage="SQL")
    ingest_valid(engine, run_event("START", run_facets={"parent": parent}))
    ingest_valid(engine, run_event("FAIL", run_facets={"errorMessage": error}, minutes=4))
    found = report(engine)
    assert (found.attempts[0].reason, found.parent_run_id) == ("no such table", UUID(uuid("dag")))
    assert found.ended_at == START + timedelta(minutes=4)
    assert "airflow#dag" in {row[1] for row in contents(engine)["processes"]}


def test_facets_show_on_datasets_and_processes_the_newest_of_each(engine: Engine) -> None:
    described = dataset(
        "x",
        schema=facet(fields=[{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]),
        ownership=facet(owners=[{"name": "team:air", "type": "OWNER"}]),
        tags=facet(tags=[{"key": "tier", "value": "gold"}, {"key": "pii", "value": "true", "field": "name"}]),
        documentation=facet(description="Planes"),
        storage=facet(storageLayer="delta", fileFormat="parquet"),
        mine_own=facet(a=1),
    )
    job = {
        "sql": facet(query="SELECT 1"),
        "sourceCodeLocation": facet(type="git", url="https://example.com/r", version="abc"),
        "ownership": facet(owners=[{"name": "team:air"}]),
    }
    ingest_valid(engine, run_event(outputs=[described], job_facets=job, minutes=5))
    ingest_valid(engine, run_event("START", outputs=[dataset("x", documentation=facet(description="old"))]))
    found = queries.dataset(engine, "db#x")
    assert (found.description, found.owners, found.tags, found.format) == (
        "Planes",
        ("team:air",),
        {"tier": "gold"},
        "parquet",
    )
    assert [(column.name, column.type, column.tags) for column in found.columns] == [
        ("id", "bigint", ()),
        ("name", "string", ("pii",)),
    ]
    assert facets(engine, "DATASET", found.dataset_id)["mine_own"].content == facet(a=1)
    (process,) = contents(engine)["processes"]
    assert process[5:8] == (["team:air"], "SELECT 1", "abc")
    ingest_valid(engine, dataset_event(dataset("x", documentation=facet(_deleted=True)), minutes=6))
    assert queries.dataset(engine, "db#x").description is None


def test_all_facets_of_a_run_are_there(engine: Engine) -> None:
    ingest_valid(
        engine,
        run_event(
            "START",
            run_facets={"mine": facet(a=1), "nominalTime": facet(nominalStartTime="2026-03-01T00:00:00Z")},
        ),
        run_event("COMPLETE", run_facets={"mine": facet(a=2)}, minutes=1),
    )
    found = facets_of(engine, 1).facets
    assert found["mine"].content == facet(a=2)
    assert found["nominalTime"].content["nominalStartTime"] == "2026-03-01T00:00:00Z"


def test_versions_are_those_of_completed_runs_and_the_last_one_is_published(engine: Engine) -> None:
    counted = {"outputFacets": {"outputStatistics": facet(rowCount=7, size=70, fileCount=2)}}
    named = dataset("x", use=counted, version=facet(datasetVersion="snap-2"))
    ingest_valid(engine, run_event(run=2, outputs=[named], minutes=10))
    ingest_valid(
        engine,
        run_event(run=1, outputs=["x"], minutes=5),
        run_event("FAIL", run=3, outputs=["x"], minutes=20),
    )
    found = queries.versions(engine, "db#x")
    assert [(each.version.tag, each.version.row_count, each.published) for each in found] == [
        ("snap-2", 7, True),
        (found[1].version.tag, None, False),
    ]
    moves = contents(engine)["moves"]
    assert [(row[1], row[2]) for row in moves] == [(1, found[1].version.tag), (2, "snap-2")]


def test_dated_directories_are_versions_of_one_dataset(engine: Engine) -> None:
    """The first name is that of the requirement; consumers of one day are consumers of the dataset."""
    for day in (8, 9):
        directory = dataset(f"s3://bucket/credit-out/v2025090{day}", "S3")
        ingest_valid(
            engine,
            run_event(run=day, outputs=[directory], minutes=day),
            run_event(run=day + 10, job="reader", inputs=[directory], outputs=["y"], minutes=day + 20),
        )
    found = queries.versions(engine, "S3#s3://bucket/credit-out")
    assert [(each.version.tag, each.published) for each in found] == [
        ("v20250909", True),
        ("v20250908", False),
    ]
    assert edges(engine) == {("S3#s3://bucket/credit-out", "db#y")}
    with database.transaction(engine) as cursor:
        read = cursor.execute(
            "SELECT version FROM catalog.run_dataset WHERE run_id = %s AND role = 'INPUT'", [uuid(18)]
        ).fetchall()
    assert read == [{"version": "v20250908"}]


def test_an_output_that_is_dropped_has_no_new_version(engine: Engine) -> None:
    ingest_valid(
        engine, run_event(outputs=[dataset("x", lifecycleStateChange=facet(lifecycleStateChange="DROP"))])
    )
    assert queries.versions(engine, "db#x") == []


def test_a_version_of_a_run_that_did_not_write_it_is_that_of_the_next_that_did(engine: Engine) -> None:
    stated = dataset("out", version=facet(datasetVersion="v1"))
    output = [
        run_event(run=1, outputs=[stated]),
        run_event(run=2, minutes=1, outputs=[stated]),
        run_event("FAIL", run=1, minutes=2),
    ]
    found = []
    for order in permutations(output):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        (version,) = queries.versions(engine, "db#out")
        assert (version.published, str(version.version.run_id)) == (True, uuid(2))
        found.append(contents(engine)["versions"])
    assert all(each == found[0] for each in found)


def test_the_version_that_a_run_read_is_the_last_that_it_names_whenever_it_says_so(engine: Engine) -> None:
    def read(version: Any) -> Any:
        return [dataset("a", version=facet(datasetVersion=version))]

    output = [
        *(
            run_event(run=run, minutes=run, outputs=[dataset("a", version=facet(datasetVersion=f"v{run}"))])
            for run in (1, 2)
        ),
        run_event("START", run=3, job="copy", minutes=3, inputs=read("v1")),
        run_event("RUNNING", run=3, job="copy", minutes=4, inputs=read("v2")),
        run_event(run=3, job="copy", minutes=5, inputs=["a"], outputs=["b"]),
    ]
    for order in permutations(output[2:]):
        wipe(engine)
        ingest_valid(engine, *output[:2])
        for event in order:
            ingest_valid(engine, event)
        (version,) = queries.versions(engine, "db#b")
        detail = queries.version(engine, "db#b", version.version.tag)
        assert [each.tag for each in detail.inputs] == ["v2"]


def test_input_versions_reported_later_are_recorded(engine: Engine) -> None:
    read = dataset("a", version=facet(datasetVersion="7"))
    ingest_valid(engine, run_event(run=2, job="next", inputs=[read], outputs=["x"], minutes=10))
    ingest_valid(engine, run_event(run=1, outputs=[dataset("a", version=facet(datasetVersion="7"))]))
    (version,) = queries.versions(engine, "db#x")
    detail = queries.version(engine, "db#x", version.version.tag)
    assert [(each.dataset, each.tag) for each in detail.inputs] == [("db#a", "7")]


def test_tests_and_measures_are_kept_the_later_of_what_a_run_says(engine: Engine) -> None:
    def tested(success: Any, minutes: Any) -> Any:
        assertions = facet(
            assertions=[{"assertion": "not_null", "column": "id", "success": success, "severity": "warn"}]
        )
        metrics = facet(rowCount=10 + minutes, bytes=5, columnMetrics={"id": {"nullCount": 0}})
        use = {"inputFacets": {"dataQualityAssertions": assertions, "dataQualityMetrics": metrics}}
        return run_event("RUNNING", inputs=[dataset("a", use=use)], minutes=minutes)

    ingest_valid(engine, tested(False, 3))
    ingest_valid(engine, tested(True, 1))
    found = asking.quality(engine, located(engine, "a"))
    assert [(each.assertion, each.column, each.success, each.severity) for each in found.assertions] == [
        ("not_null", "id", False, "warn")
    ]
    assert [(each.row_count, each.byte_size, each.columns) for each in found.metrics] == [
        (13, 5, {"id": {"nullCount": 0}})
    ]


def test_a_count_that_is_no_count_hides_nothing_else(engine: Engine) -> None:
    metrics = facet(rowCount=2**70, bytes=5, columnMetrics={})
    ingest_valid(
        engine, run_event(inputs=[dataset("a", use={"inputFacets": {"dataQualityMetrics": metrics}})])
    )
    (found,) = asking.quality(engine, located(engine, "a")).metrics
    assert (found.row_count, found.byte_size) == (None, 5)


def test_a_version_is_where_the_run_says_that_it_wrote(engine: Engine) -> None:
    ingest_valid(
        engine,
        run_event(run=1, outputs=[dataset("a", path=facet(value="s3://lake/a/v7"))]),
        run_event(run=2, outputs=[dataset("s3://lake/b/v8", namespace="S3")]),
    )
    where = {row[1]: row[3] for row in contents(engine)["versions"]}
    assert where == {"db#a": "s3://lake/a/v7", "S3#s3://lake/b/v8": "s3://lake/b/v8"}


def test_all_facets_of_a_use_are_there(engine: Engine) -> None:
    read = {"inputFacets": {"icebergScanReport": facet(snapshotId=1), "inputStatistics": facet(rowCount=3)}}
    ingest_valid(engine, run_event("START", inputs=[dataset("a", use=read)], outputs=["b"]))
    written = {"outputFacets": {"icebergCommitReport": facet(snapshotId=2)}}
    ingest_valid(engine, run_event("COMPLETE", outputs=[dataset("b", use=written)], minutes=1))
    found = {each.key: each.facets for each in facets_of(engine, 1).datasets}
    assert found == {"db#a": read["inputFacets"], "db#b": written["outputFacets"]}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_run_of_several_jobs_is_one_of_each(engine: Engine, order: Any) -> None:
    """As Dagster's: all assets of a run report the run's id."""
    events = [
        run_event("START", job="raw"),
        run_event(job="raw", outputs=["raw"], minutes=1),
        run_event(job="mart", inputs=["raw"], outputs=["mart"], minutes=2),
        run_event("FAIL", job="other", inputs=["mart"], outputs=["other"], minutes=3),
    ]
    for index in order:
        ingest_valid(engine, events[index])
    assert edges(engine) == {("db#raw", "db#mart"), ("db#mart", "db#other")}
    found = contents(engine)
    assert {(row[1], row[4], str(row[0]) == uuid(1)) for row in found["runs"]} == {
        ("airflow#raw", "SUCCESS", True),
        ("airflow#mart", "SUCCESS", False),
        ("airflow#other", "FAILED", False),
    }
    runs = {row[1]: row[0] for row in found["runs"]}
    made = {row[1]: row[9] for row in found["versions"]}
    assert made == {"db#raw": runs["airflow#raw"], "db#mart": runs["airflow#mart"]}
    assert len(found["attempts"]) == len(found["documents"]) == 3


def test_organisations_have_catalogs_of_their_own(engine: Engine) -> None:
    other = uuid4()
    with engine.begin() as connection:
        connection.execute(
            sa.text("INSERT INTO catalog.organisation (organisation_id, name) VALUES (:id, 'other')"),
            {"id": other},
        )
    ingest_valid(engine, run_event(outputs=["x"]))
    ingestion.ingest(engine, other, [run_event("FAIL", outputs=["x"])])
    assert asking.locate(engine, other, "db", "x") not in {None, located(engine, "x")}
    assert report(engine).state is RunState.SUCCESS
    with pytest.raises(CatalogError, match="there is no organisation"):
        ingestion.ingest(engine, uuid4(), [run_event()])


def test_many_may_report_at_once(engine: Engine) -> None:
    link = facet(identifiers=[{"namespace": "hive", "name": "t", "type": "TABLE"}])
    events = [
        run_event(
            kind,
            run=number,
            job=f"job{number % 3}",
            outputs=[dataset(f"x{number % 2}", symlinks=link)],
            minutes=m,
        )
        for number in range(12)
        for m, kind in enumerate(["START", "COMPLETE"])
    ]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda event: ingest_valid(engine, event), [*events, *events]))
    found = contents(engine)
    assert len(found["raw"]) == len(events)
    assert len(found["datasets"]) == 1
    assert {row[4] for row in found["runs"]} == {"SUCCESS"}


def test_a_repeated_report_of_one_name_is_newer_than_that_of_the_other(engine: Engine) -> None:
    def schema(column: Any) -> Any:
        content = facet(fields=[{"name": column, "type": "int"}])
        return {**content, "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json"}

    links = facet(identifiers=[{"namespace": "db", "name": "b", "type": "TABLE"}])
    links["_schemaURL"] = "https://openlineage.io/spec/facets/1-0-1/SymlinksDatasetFacet.json"
    output = [
        run_event(minutes=1, outputs=[dataset("a", schema=schema("old"), symlinks=links)]),
        run_event(run=2, minutes=2, outputs=[dataset("b", schema=schema("new"))]),
        run_event(run=3, minutes=3, outputs=[dataset("a", schema=schema("old"))]),
    ]
    ingest_valid(engine, *output)
    together = contents(engine)
    assert [row[8][0]["name"] for row in together["datasets"]] == ["old"]
    wipe(engine)
    for event in output:
        ingest_valid(engine, event)
    assert contents(engine) == together


def test_of_two_runs_that_say_the_same_of_columns_at_the_same_time_one_is_named_in_any_order(
    engine: Engine,
) -> None:
    columns = facet(fields={"id": {"inputFields": [{"namespace": "db", "name": "x", "field": "id"}]}})
    columns["_schemaURL"] = "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json"
    output = [run_event(run=run, outputs=[dataset("y", columnLineage=columns)]) for run in (1, 2, 3)]
    found = []
    for order in (output, output[::-1], [output[1], output[0], output[2]]):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        found.append(contents(engine)["columns"])
    assert found[0] == found[1] == found[2]


@pytest.mark.new_database
def test_no_table_is_read_whole_however_short_it_was_when_the_plans_were_made(engine: Engine) -> None:
    def read_whole() -> Any:
        with database.transaction(engine) as cursor:  # the pool gives the connection that was used last
            cursor.execute("SELECT pg_stat_force_next_flush()")
        with database.transaction(engine) as cursor:
            return {
                row["relname"]: row["seq_scan"]
                for row in cursor.execute(
                    "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE schemaname = 'catalog'"
                )
            }

    def events_of_run(run: Any) -> Any:
        facets = {"schema": facet(fields=[{"name": "a", "type": "int"}])}
        return [
            run_event("START", run=run, minutes=run, inputs=[dataset("in", **facets)]),  # type: ignore[arg-type]
            run_event(run=run, minutes=run, outputs=[dataset("out", **facets)]),  # type: ignore[arg-type]
        ]

    for run in range(1, 8):
        for event in events_of_run(run):
            ingest(engine, event)
    before = read_whole()
    for run in range(8, 12):
        for event in events_of_run(run):
            ingest(engine, event)
    assert read_whole() == before
