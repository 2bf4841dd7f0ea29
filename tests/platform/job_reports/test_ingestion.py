"""Ingestion of external reports: any order, duplicates, late ones; boxes, retries, forced and bypassed ends,
versions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import Outcome, RunState
from headrace.catalog.run_events import Ending
from headrace.database.ids import external_run_id
from headrace.job_reports.ingestion import ingest
from headrace.publishing.publication import generations, publish
from headrace.registration.declarations import register
from headrace.retention.run_reports import why as explain_run
from tests.platform.conftest import DATASETS, PROCESSES
from tests.platform.events.run_events import at, contents, histories, job_event, output, wipe

S = RunState


def run_id(process: Any, run: Any = "1") -> Any:
    return external_run_id("AUTOSYS", "", process, run)


def report(engine: Engine, process: Any, run: Any = "1") -> Any:
    (found,) = explain_run(engine, run_id(process, run))
    return found


def attempts(engine: Engine, process: Any, run: Any = "1") -> Any:
    return [
        (each.number, each.state, each.ending, each.exit_code)
        for each in report(engine, process, run).attempts
    ]


@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.generate],  # shrinking would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=histories(), order=st.randoms(use_true_random=False), cut=st.integers(1, 5))
def test_any_order_doubled_and_in_any_batches_gives_the_same_rows(
    engine: Engine, events: Any, order: Any, cut: Any
) -> None:
    wipe(engine)
    assert ingest(engine, events).new == len(events)
    orderly = contents(engine)
    wipe(engine)
    doubled = [*events, *events]
    order.shuffle(doubled)
    for begin in range(0, len(doubled), cut):
        ingest(engine, doubled[begin : begin + cut])
    assert contents(engine) == orderly


def test_an_end_before_its_start_is_one_run(engine: Engine) -> None:
    ingest(engine, [job_event("LOAD", S.SUCCESS, 10, exit_code=0, log_location="/logs/load.1")])
    ingest(engine, [job_event("LOAD", S.RUNNING, 1, machine="unxhost01")])
    found = report(engine, "LOAD")
    assert (found.state, found.started_at, found.ended_at) == (S.SUCCESS, at(1), at(10))
    (attempt,) = found.attempts
    assert (attempt.ending, attempt.exit_code, attempt.host, attempt.log_location) == (
        Ending.GENUINE,
        0,
        "unxhost01",
        "/logs/load.1",
    )


@pytest.mark.parametrize("status", ["STARTING", "ST", "RUNNING"])
def test_a_run_begins_when_it_starts_and_not_when_it_waits(engine: Engine, status: Any) -> None:
    state = S.RUNNING if status == "RUNNING" else S.QUEUED
    starts = replace(job_event("LOAD", state, 7, key="starts"), status=status)
    waits = [job_event("LOAD", S.QUEUED, 1), job_event("LOAD", S.QUEUED, 6)]
    ingest(engine, waits)
    assert report(engine, "LOAD").started_at == at(1)
    ingest(engine, [starts, job_event("LOAD", S.SUCCESS, 10)])
    found = report(engine, "LOAD")
    assert (found.started_at, found.attempts[0].started_at, found.ended_at) == (at(7), at(7), at(10))


def test_a_success_of_which_only_the_wait_is_known_took_no_time(engine: Engine) -> None:
    ingest(engine, [job_event("LOAD", S.QUEUED, 1), job_event("LOAD", S.SUCCESS, 10)])
    (attempt,) = report(engine, "LOAD").attempts
    assert (attempt.started_at, attempt.ended_at) == (at(10), at(10))


def test_retries_are_attempts_of_one_run(engine: Engine) -> None:
    ingest(
        engine,
        [
            job_event("LOAD", S.FAILED, 5, exit_code=3),
            job_event("LOAD", S.RUNNING, 6, attempt=2),
            job_event("LOAD", S.SUCCESS, 9, attempt=2, exit_code=0),
        ],
    )
    assert attempts(engine, "LOAD") == [(1, S.FAILED, Ending.GENUINE, 3), (2, S.SUCCESS, Ending.GENUINE, 0)]
    assert report(engine, "LOAD").state is S.SUCCESS


@pytest.mark.parametrize("order", [1, -1])
def test_a_start_after_an_end_is_the_next_attempt_if_attempts_are_unnumbered(
    engine: Engine, order: Any
) -> None:
    first = [
        job_event("LOAD", S.RUNNING, 0, started_at=at(0)),
        job_event("LOAD", S.FAILED, 5, started_at=at(0), exit_code=1),
    ]
    again = job_event("LOAD", S.RUNNING, 8)
    for event in [*first, again][::order]:
        ingest(engine, [event])
    assert report(engine, "LOAD").state is S.RUNNING
    assert attempts(engine, "LOAD") == [(1, S.FAILED, Ending.GENUINE, 1), (2, S.RUNNING, None, None)]
    ingest(engine, [job_event("LOAD", S.SUCCESS, 9, started_at=at(8), exit_code=0)])
    found = report(engine, "LOAD")
    assert (found.state, found.attempts[1].started_at) == (S.SUCCESS, at(8))
    assert [each[:2] for each in attempts(engine, "LOAD")] == [(1, S.FAILED), (2, S.SUCCESS)]


def test_a_status_set_by_hand_after_the_end_has_the_last_word_and_one_before_it_has_not(
    engine: Engine,
) -> None:
    failed = job_event("LOAD", S.FAILED, 5, exit_code=3)
    ingest(engine, [failed, job_event("LOAD", S.SUCCESS, 8, attempt=0)])
    assert report(engine, "LOAD").state is S.SUCCESS
    assert attempts(engine, "LOAD") == [(0, S.SUCCESS, Ending.FORCED, None), (1, S.FAILED, Ending.GENUINE, 3)]
    ingest(engine, [job_event("LOAD", S.FAILED, 9, attempt=2)])
    assert report(engine, "LOAD").state is S.FAILED


@pytest.mark.parametrize("box_first", [True, False])
def test_the_run_of_the_box_that_was_under_way_is_the_parent(engine: Engine, box_first: Any) -> None:
    box = [
        job_event("BOX", S.RUNNING, 0, "7"),
        job_event("BOX", S.SUCCESS, 30, "7"),
        job_event("BOX", S.RUNNING, 60, "8"),
    ]
    jobs = [
        job_event("LOAD", S.SUCCESS, 10, "7", box="BOX"),
        job_event("LOAD", S.RUNNING, 61, "8", box="BOX"),
        job_event("LOAD", S.SUCCESS, 45, "by hand", box="BOX"),
    ]
    for batch in (box, jobs) if box_first else (jobs, box):
        ingest(engine, batch)
    assert report(engine, "LOAD", "7").parent_run_id == run_id("BOX", "7")
    assert report(engine, "LOAD", "8").parent_run_id == run_id("BOX", "8")
    assert report(engine, "LOAD", "by hand").parent_run_id is None


def test_events_without_a_run_number_are_separate_runs(engine: Engine) -> None:
    ingested = ingest(engine, [job_event("FLAG", S.SUCCESS, 1, None), job_event("FLAG", S.SUCCESS, 2, None)])
    assert ingested.runs == 2
    assert ingested.unscanned == ("AUTOSYS/FLAG",)


def test_a_job_that_a_scan_knows_keeps_its_key_and_its_box(engine: Engine) -> None:
    register(engine, DATASETS, PROCESSES)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO catalog.process (organisation_id, process_key, technology, trigger_mode, owners, steps, "
            "metadata_json, declaration_hash, instance, external_name) "
            "SELECT organisation_id, 'AUTOSYS/PRD/BOX/LOAD', 'AUTOSYS', 'PROCESS', '{}', '[]', "
            "jsonb_build_object('box', 'BOX'), '', 'PRD', 'LOAD' FROM catalog.organisation"
        )
    ingested = ingest(
        engine,
        [job_event("LOAD", S.SUCCESS, 5, instance="PRD"), job_event("BOX", S.RUNNING, 0, instance="PRD")],
    )
    assert ingested.unscanned == ("AUTOSYS/PRD/BOX",)
    (found,) = explain_run(engine, external_run_id("AUTOSYS", "PRD", "LOAD", "1"))
    assert found.process_key == "AUTOSYS/PRD/BOX/LOAD"
    assert found.parent_run_id == external_run_id("AUTOSYS", "PRD", "BOX", "1")


def test_a_genuine_success_publishes_its_outputs_and_registers_an_unknown_dataset(engine: Engine) -> None:
    event = job_event(
        "LOAD",
        S.SUCCESS,
        5,
        outputs=(output(tag="v1", row_count=842, location="/data/raw.csv", format="csv"),),
    )
    ingested = ingest(engine, [event])
    assert (ingested.versions, ingested.drafts) == (1, ("ops/raw",))
    (row,) = queries.published(engine, ["ops/raw"])
    assert (row.version.tag, row.version.row_count, row.version.run_id) == ("v1", 842, run_id("LOAD"))
    assert queries.dataset(engine, "ops/raw").status == "DRAFT"
    assert queries.dataset(engine, "ops/raw").producers == ("AUTOSYS/LOAD",)
    assert ingest(engine, [event]).versions == 0


@pytest.mark.parametrize("ending", [Ending.FORCED, Ending.BYPASSED])
def test_forced_and_bypassed_ends_are_no_materializations(engine: Engine, ending: Any) -> None:
    state = S.SUCCESS if ending is Ending.FORCED else S.SKIPPED
    ingest(engine, [job_event("LOAD", state, 5, ending=ending, outputs=(output(),))])
    assert contents(engine)["versions"] == []
    assert contents(engine)["to tell"] == []


def test_a_late_completion_is_kept_and_does_not_move_the_pointer(engine: Engine) -> None:
    new = job_event("LOAD", S.SUCCESS, 60, "2", outputs=(output(tag="new"),))
    old = job_event("LOAD", S.SUCCESS, 5, "1", outputs=(output(tag="old"),))
    ingest(engine, [new])
    assert ingest(engine, [old]).versions == 1
    (row,) = queries.published(engine, ["ops/raw"])
    assert (row.version.tag, row.generation) == ("new", 1)
    assert {each.version.tag for each in queries.versions(engine, "ops/raw")} == {"new", "old"}


def test_a_version_that_was_published_otherwise_is_replaced_by_a_newer_completion_only(
    catalog: Engine, draft: Any
) -> None:
    place = ("raw/flights", "2026-11-26")
    before = job_event(
        "LOAD", S.SUCCESS, -(10**6), "1", outputs=(output(place[0], partition=place[1], tag="before"),)
    )
    after = job_event(
        "LOAD", S.SUCCESS, 10**7, "2", outputs=(output(place[0], partition=place[1], tag="after"),)
    )
    (mine,) = publish(catalog, None, [draft(*place)])
    ingest(catalog, [before])
    assert queries.published(catalog, ["raw/flights"])[0].version.tag == mine.version.tag
    ingest(catalog, [after])
    (row,) = queries.published(catalog, ["raw/flights"])
    assert row.version.tag == "after"
    assert row.version.columns == mine.version.columns
    assert generations(catalog, [place]) == {place: 2}
    assert publish(catalog, None, [draft(*place, generation=1)])[0].outcome is Outcome.SUPERSEDED


def test_a_dataset_that_spark_computes_here_takes_no_versions_from_elsewhere(catalog: Engine) -> None:
    ingested = ingest(
        catalog, [job_event("LOAD", S.SUCCESS, 5, outputs=(output("mart/delays"), output("ops/raw")))]
    )
    assert (ingested.versions, ingested.computed_here) == (1, ("mart/delays",))
    assert queries.published(catalog, ["mart/delays"]) == []


def test_the_business_date_is_the_partition_where_the_dataset_has_partitions(catalog: Engine) -> None:
    event = job_event(
        "LOAD", S.SUCCESS, 5, partition="2026-11-26", outputs=(output("raw/flights"), output("ops/raw"))
    )
    ingest(catalog, [event])
    places = [(row.dataset, row.partition) for row in queries.published(catalog, ["raw/flights", "ops/raw"])]
    assert sorted(places, key=str) == [("ops/raw", None), ("raw/flights", "2026-11-26")]


def test_history_triggers_nothing_until_reported_live(engine: Engine) -> None:
    event = job_event("LOAD", S.SUCCESS, 5, outputs=(output(),))
    ingest(engine, [replace(event, historical=True)])
    assert contents(engine)["to tell"] == []
    assert contents(engine)["runs"][0][9] is True
    assert ingest(engine, [event]).new == 1
    assert [row[0] for row in contents(engine)["to tell"]] == ["AUTOSYS/LOAD", "ops/raw"]
    live = contents(engine)
    assert ingest(engine, [replace(event, historical=True)]).new == 0
    assert contents(engine) == live


def test_of_a_backlog_each_run_is_pending(engine: Engine) -> None:
    for minutes in (3, 9, 0, 4, 8):
        ingest(engine, [job_event("LOAD", S.SUCCESS, minutes, str(minutes))])
    assert [row[3] for row in contents(engine)["to tell"]] == [at(0), at(3), at(4), at(8), at(9)]


def test_a_dataset_may_be_registered_without_a_process(engine: Engine) -> None:
    event = replace(job_event("", S.SUCCESS, 5, outputs=(output(tag="v1"),)), key="k")
    ingest(engine, [event])
    assert contents(engine)["runs"] == []
    (row,) = queries.published(engine, ["ops/raw"])
    assert (row.version.tag, row.version.run_id) == ("v1", None)


def test_several_at_once_come_to_the_same_as_one(engine: Engine) -> None:
    events = [
        job_event(
            "LOAD",
            state,
            minutes,
            str(minutes % 5),
            attempt=attempt,
            outputs=(output(partition=str(minutes)),),
        )
        for minutes in range(20)
        for attempt, state in ((1, S.RUNNING), (1, S.FAILED), (2, S.SUCCESS))
    ]
    ingest(engine, events)
    expected = contents(engine)
    wipe(engine)
    batches = [events[begin::7] for begin in range(7)] + [
        events[begin : begin + 9] for begin in range(0, 60, 9)
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda batch: ingest(engine, batch), batches))
    assert contents(engine) == expected
