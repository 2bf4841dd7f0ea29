"""A run that a scheduler and OpenLineage events report is one run, in any order of arrival."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.catalog.run_events import RunEvent
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.ids import external_run_id
from headrace.events.completions import completions
from headrace.events.pending_materializations import delete_delivered, pending_materializations
from headrace.job_reports.ingestion import ingest
from headrace.openlineage import ingestion as openlineage
from headrace.retention.rebuild import rebuild
from headrace.retention.run_reports import why as explain_run
from tests.platform.events.run_events import START as SCHEDULED
from tests.platform.events.run_events import histories, job_event, output
from tests.platform.openlineage.events import (
    START,
    contents,
    dataset,
    everything,
    facet,
    ingest_valid,
    run_event,
    uuid,
    wipe,
)

Source = RunEvent | dict[str, Any]


def minutes(of: float) -> float:
    """Return minutes after START, as in `job_event`."""
    return of + (START - SCHEDULED) / timedelta(minutes=1)


def send(engine: Engine, *events: Source) -> None:
    for event in events:
        if isinstance(event, RunEvent):
            ingest(engine, [event])
        else:
            ingest_valid(engine, event)


def reported(state: RunState, at: float, run: str | None = "7", **more: Any) -> RunEvent:
    return job_event("LOAD", state, minutes(at), run, **more)


def observed(
    kind: str, at: float, run: object = 1, number: str | None = None, job: str = "LOAD", **more: Any
) -> dict[str, Any]:
    """Return an event of a run with this id, or with the id of this scheduler run."""
    facets = {"headrace_scheduler": facet(run=number)} if number else {}
    event = run_event(kind, run=run, job=job, namespace="AUTOSYS", minutes=at, run_facets=facets, **more)
    if isinstance(run, UUID):
        event["run"]["runId"] = str(run)
    return event


def run_of(job: str, number: str) -> UUID:
    return external_run_id("AUTOSYS", "", job, number)


FILE = [reported(RunState.SUCCESS, 10, started_at=START, exit_code=0, outputs=(output("ops/raw"),))]
EVENTS = [observed("START", 1, inputs=["in"]), observed("COMPLETE", 9, outputs=["out"])]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_overlapping_times_make_them_one(engine: Engine, order: Sequence[int]) -> None:
    sources: list[Source] = [*FILE, *EVENTS]
    send(engine, *(sources[index] for index in order))
    (run,) = contents(engine)["runs"]
    assert (run[0], run[1], run[4]) == (
        run_of("LOAD", "7"),
        "AUTOSYS/LOAD",
        "SUCCESS",
    )
    (report,) = explain_run(engine, run[0])
    assert (report.external_run, report.started_at) == ("7", START)
    assert report.ended_at == START + timedelta(minutes=10)
    assert [each.number for each in report.attempts] == [1]
    assert {version.version.dataset for version in report.outputs} == {"ops/raw", "db#out"}
    assert {(row[1], row[3]) for row in contents(engine)["used"]} == {
        ("db#in", "INPUT"),
        ("db#out", "OUTPUT"),
    }
    (completion,) = completions(engine, ["LOAD"], after=0, to=10**6, limit=10)
    assert completion.run == "7"
    with transaction(engine) as cursor:
        pending = cursor.execute(
            "SELECT subject_type, run_id FROM catalog.pending_materialization"
        ).fetchall()
    assert sorted(row["subject_type"] for row in pending) == ["DATASET", "PROCESS"]
    assert {row["run_id"] for row in pending} == {run[0]}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_so_does_the_run_number_whatever_the_clocks_say(engine: Engine, order: Sequence[int]) -> None:
    sources: list[Source] = [
        reported(RunState.SUCCESS, 500),
        observed("START", 1, number="7"),
        observed("COMPLETE", 9, number="7", outputs=["out"]),
    ]
    send(engine, *(sources[index] for index in order))
    (run,) = contents(engine)["runs"]
    assert (run[0], run[4]) == (run_of("LOAD", "7"), "SUCCESS")
    assert {explain_run(engine, name)[0].run_id for name in ("7", UUID(uuid(1)), run[0])} == {run[0]}


def test_what_only_the_number_is_known_of_has_the_schedulers_id(engine: Engine) -> None:
    send(engine, observed("COMPLETE", 9, number="7"))
    (run,) = contents(engine)["runs"]
    assert run[0] == run_of("LOAD", "7")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_scheduler_says_how_the_job_ended(engine: Engine, order: Sequence[int]) -> None:
    """A program that a job runs may fail, and the job succeed at its second try."""
    sources: list[Source] = [*FILE, observed("START", 1), observed("FAIL", 2, outputs=["out"])]
    send(engine, *(sources[index] for index in order))
    (run,) = contents(engine)["runs"]
    assert run[4] == "SUCCESS"
    assert "db#out" not in {row[1] for row in contents(engine)["versions"]}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_two_tries_the_first_is_the_run_and_the_other_one_stays_its_own(
    engine: Engine, order: Sequence[int]
) -> None:
    sources: list[Source] = [
        *FILE,
        observed("FAIL", 2),
        observed("START", 3, run=2),
        observed("COMPLETE", 9, run=2, outputs=["out"]),
    ]
    send(engine, *(sources[index] for index in order))
    assert {row[0] for row in contents(engine)["runs"]} == {
        run_of("LOAD", "7"),
        UUID(uuid(2)),
    }


@pytest.mark.parametrize(
    "others",
    [
        [reported(RunState.SUCCESS, 30, "8", started_at=START + timedelta(minutes=5))],
        [reported(RunState.SUCCESS, -20, "7")],
        [job_event("OTHER", RunState.SUCCESS, minutes(10), "7", started_at=START)],
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_what_overlaps_with_several_or_none_stays_a_run_of_its_own(
    engine: Engine, others: Sequence[RunEvent], before: bool
) -> None:
    known = [*others, *(FILE if others[0].run == "8" else [])]
    send(engine, *(known if before else ()), *EVENTS, *(() if before else known))
    assert UUID(uuid(1)) in {row[0] for row in contents(engine)["runs"]}
    assert len(contents(engine)["runs"]) == len(known) + 1


OWN = "headrace://default"
SPECIFIED = "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json"


def own(name: str, rows: int | None = None, tag: str | None = None) -> dict[str, Any]:
    """Return a dataset with this Headrace key, as an event names it."""
    counted = {"outputFacets": {"outputStatistics": facet(rowCount=rows)}} if rows else None
    named = {"version": {**facet(datasetVersion=tag), "_schemaURL": SPECIFIED}} if tag else {}
    return dataset(name, OWN, counted, **named)


def published(engine: Engine) -> list[tuple[str, str | None]]:
    """Return the published version of each dataset with a Headrace key."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT full_name, version_tag FROM catalog.published_pointer JOIN catalog.dataset USING (dataset_id)"
            " LEFT JOIN catalog.dataset_version USING (dataset_version_id) WHERE position('#' IN full_name) = 0"
        ).fetchall()
    return sorted((row["full_name"], row["version_tag"]) for row in rows)


def waiting(engine: Engine) -> list[str]:
    """Return what waits for Dagster."""
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT subject_type FROM catalog.pending_materialization").fetchall()
    return sorted(row["subject_type"] for row in rows)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("reported_tag", "observed_tag"), [(None, None), ("r", None), (None, "o"), ("r", "r")]
)
def test_an_output_that_both_report_is_one_version(
    engine: Engine, order: Sequence[int], reported_tag: str | None, observed_tag: str | None
) -> None:
    sources: list[Source] = [
        reported(RunState.SUCCESS, 10, started_at=START, outputs=(output("ops/raw", tag=reported_tag),)),
        observed("START", 1),
        observed("COMPLETE", 9, outputs=[own("ops/raw", 5, observed_tag), own("ops/other")]),
    ]
    send(engine, *(sources[index] for index in order))
    for again in (False, True):
        if again:
            rebuild(engine)
        versions = {row[1]: row for row in contents(engine)["versions"]}
        assert len(contents(engine)["versions"]) == 2
        assert {row[9] for row in versions.values()} == {run_of("LOAD", "7")}
        assert versions["ops/raw"][10] == START + timedelta(minutes=10)
        if reported_tag:
            assert versions["ops/raw"][2] == reported_tag
        assert published(engine) == [(name, versions[name][2]) for name in ("ops/other", "ops/raw")]
        assert waiting(engine) == ["DATASET", "DATASET", "PROCESS"]


def test_what_dagster_has_of_one_source_it_does_not_get_of_the_other(engine: Engine) -> None:
    send(engine, observed("COMPLETE", 9, outputs=[own("ops/raw")]))
    assert waiting(engine) == ["DATASET", "PROCESS"]
    delete_delivered(engine, pending_materializations(engine, 10))
    send(engine, *FILE)
    assert len(contents(engine)["versions"]) == 1
    assert waiting(engine) == []


def test_a_run_that_turned_out_to_be_its_own_has_its_own_version(engine: Engine) -> None:
    send(engine, *FILE, observed("COMPLETE", 9, outputs=[own("ops/raw")]))
    delete_delivered(engine, pending_materializations(engine, 10))
    send(engine, reported(RunState.SUCCESS, 11, "8", started_at=START))
    assert {row[9] for row in contents(engine)["versions"]} == {run_of("LOAD", "7"), UUID(uuid(1))}
    assert waiting(engine) == ["DATASET", "PROCESS"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
def test_what_a_run_turned_out_not_to_have_written_is_not_published(
    engine: Engine, order: Sequence[int]
) -> None:
    sources: list[Source] = [
        observed("COMPLETE", 9, outputs=[own("ops/raw", tag="1")]),
        observed("COMPLETE", 19, run=2, outputs=[own("ops/raw", tag="2")]),
        observed("FAIL", 20, run=2),
    ]
    send(engine, *(sources[index] for index in order))
    assert [row[2] for row in contents(engine)["versions"]] == ["1"]
    assert published(engine) == [("ops/raw", "1")]
    assert waiting(engine) == ["DATASET", "PROCESS"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_version_that_turned_out_to_be_another_runs_is_reported_by_that(
    engine: Engine, order: Sequence[int]
) -> None:
    sources: list[Source] = [
        observed("COMPLETE", 1, outputs=[own("ops/raw", tag="v")]),
        observed("COMPLETE", 18, run=2, job="CHECK", outputs=[own("ops/raw", tag="v")]),
        observed("FAIL", 19),
    ]
    send(engine, *(sources[index] for index in order))
    with transaction(engine) as cursor:
        pending = cursor.execute(
            "SELECT run_id FROM catalog.pending_materialization WHERE version_id IS NOT NULL"
        ).fetchall()
    assert [row["run_id"] for row in pending] == [UUID(uuid(2))]
    assert [row[2] for row in contents(engine)["completions"]] == ["AUTOSYS/CHECK"]


def versions_in_outbox(engine: Engine) -> list[tuple[str, str]]:
    """Return the dataset and tag of each published version in the outbox."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT payload_json FROM catalog.outbox WHERE topic = 'version.published' ORDER BY outbox_id"
        ).fetchall()
    return [(row["payload_json"]["dataset"], row["payload_json"]["tag"]) for row in rows]


def test_a_published_version_is_in_the_outbox_whichever_source_reports_it(engine: Engine) -> None:
    report = reported(RunState.SUCCESS, 10, started_at=START, outputs=(output("ops/raw", tag="r"),))
    send(engine, report, observed("COMPLETE", 30, outputs=[own("ops/raw", tag="o"), "out"]))
    assert versions_in_outbox(engine) == [("ops/raw", "r"), ("ops/raw", "o")]
    rebuild(engine)
    assert versions_in_outbox(engine) == [("ops/raw", "r"), ("ops/raw", "o")]


def test_a_version_that_is_loaded_as_history_is_not_in_the_outbox(engine: Engine) -> None:
    send(engine, replace(FILE[0], historical=True))
    event = observed("COMPLETE", 30, outputs=[own("ops/raw", tag="o")])
    openlineage.ingest(engine, current_context().organisation_id, [event], historical=True)
    assert published(engine) == [("ops/raw", "o")]
    assert versions_in_outbox(engine) == []


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_tag_that_several_runs_report_is_the_version_of_the_first(
    engine: Engine, order: Sequence[int]
) -> None:
    sources = [
        reported(RunState.SUCCESS, at, run, outputs=(output("ops/raw", tag="v1", row_count=rows),))
        for at, run, rows in ((10, "1", 5), (13, "2", 9), (12, "3", 7))
    ]
    send(engine, *(sources[index] for index in order))
    (version,) = versions_of(engine, "ops/raw")
    assert (version["row_count"], version["produced_by_run_id"]) == (5, run_of("LOAD", "1"))
    first = comparable(engine)
    rebuild(engine)
    assert comparable(engine) == first


def versions_of(engine: Engine, dataset: str) -> list[dict[str, Any]]:
    with transaction(engine) as cursor:
        return cursor.execute(
            "SELECT version.* FROM catalog.dataset_version version JOIN catalog.dataset USING (dataset_id)"
            " WHERE full_name = %s",
            [dataset],
        ).fetchall()


def streams() -> st.SearchStrategy[list[Source]]:
    """Reports of jobs' runs, and events of runs of the same jobs: some number them, some overlap with one or more.

    Some have the id of a scheduler's run, of the same job or another one.
    """
    shift = START - SCHEDULED
    shifted = histories().map(
        lambda history: [
            replace(
                each, at=each.at + shift, started_at=each.started_at and min(each.started_at, each.at) + shift
            )
            for each in history
        ]
    )
    observation = st.builds(
        observed,
        st.sampled_from(["START", "COMPLETE", "COMPLETE", "FAIL"]),
        st.integers(0, 20),
        st.sampled_from([1, 2, 3, *(run_of("LOAD", number) for number in "12")]),
        st.sampled_from([None, None, "1", "2"]),
        st.sampled_from(["LOAD", "LOAD", "LOAD", "CHECK"]),
        outputs=st.sampled_from(
            [
                [],
                ["out"],
                ["out", "other"],
                [own("ops/raw")],
                [own("ops/raw", 5, "v1"), "out"],
                [own("ops/other"), own("ops/raw", 7)],
            ]
        ),
        inputs=st.sampled_from([[], ["in"]]),
    )
    return st.tuples(shifted, st.lists(observation, min_size=1, max_size=6)).map(
        lambda both: [*both[0], *both[1]]
    )


@settings(
    max_examples=40,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
@given(st.data())
def test_any_order_of_both_comes_to_the_same(engine: Engine, data: st.DataObject) -> None:
    sources = data.draw(streams())
    wipe(engine)
    send(engine, *sources)
    first = comparable(engine)
    rebuild(engine)
    assert comparable(engine) == first
    wipe(engine, but="process")  # their ids are drawn, and in the tags of versions
    send(engine, *data.draw(st.permutations(sources)), *sources)
    again = comparable(engine)
    assert again == first


def comparable(engine: Engine) -> dict[str, list[str]]:
    """Every row but of histories by arrival and what Dagster gets first; keys in place of ids that are drawn."""
    apart = {"pointer_move", "published_pointer", "pending_materialization"}
    with transaction(engine) as cursor:
        keys = {
            str(row["id"]): row["key"]
            for row in cursor.execute(
                "SELECT process_id AS id, process_key AS key FROM catalog.process"
                " UNION ALL SELECT dataset_id, full_name FROM catalog.dataset"
                " UNION ALL SELECT name_id, full_name FROM catalog.dataset_name JOIN catalog.dataset USING (dataset_id)"
            )
        }
    known = re.compile("|".join(keys) or "nothing")
    return {
        table: sorted(known.sub(lambda found: keys[found[0]], row) for row in rows)
        for table, rows in everything(engine).items()
        if table not in apart
    }


ENGINE = facet(version="4.3.0", name="spark")


def facets_of(engine: Engine) -> dict[UUID, list[str]]:
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT run_id, facets_json FROM catalog.process_run").fetchall()
    return {row["run_id"]: sorted(row["facets_json"]) for row in rows}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_run_has_the_facets_of_its_events(engine: Engine, order: Sequence[int]) -> None:
    start = observed("START", 1)
    start["run"]["facets"]["processing_engine"] = ENGINE
    sources: list[Source] = [*FILE, start, observed("COMPLETE", 9)]
    send(engine, *(sources[index] for index in order))
    assert facets_of(engine) == {run_of("LOAD", "7"): ["external_run", "processing_engine"]}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_run_that_may_be_either_of_two_lends_its_facets_to_neither(
    engine: Engine, order: Sequence[int]
) -> None:
    start = observed("START", 1)
    start["run"]["facets"]["processing_engine"] = ENGINE
    sources: list[Source] = [
        *FILE,
        reported(RunState.SUCCESS, 11, "8", started_at=START),
        start,
    ]
    send(engine, *(sources[index] for index in order))
    assert facets_of(engine) == {
        run_of("LOAD", "7"): ["external_run"],
        run_of("LOAD", "8"): ["external_run"],
        UUID(uuid(1)): ["processing_engine"],
    }
