"""All reports of other systems are rebuilt from the raw events, whichever way they were received."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import RunState
from headrace.catalog.run_events import RunEvent
from headrace.database.connection import transaction
from headrace.events.completions import completions
from headrace.job_reports.ingestion import ingest
from headrace.orchestration.ingestion import load
from headrace.publishing.pins import pin
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.retention.archiving import archive
from headrace.retention.rebuild import rebuild
from tests.platform.conftest import Draft
from tests.platform.events.run_events import histories, job_event, output
from tests.platform.job_reports.test_event_demon import night
from tests.platform.openlineage.events import everything, ingest_valid, recorded, run_event, wipe
from tests.platform.retention.test_archiving import clear

# Rows derived from the raw events alone. Ids of processes and datasets are random, and stay.
DERIVED = """
completion run_attempt process_run openlineage_run run_dataset facet column_lineage column_lineage_report
dataset_assertion dataset_metrics lineage_edge version_input pointer_move published_pointer dataset_version
"""
REPORT = """\
Job Name                     Last Start           Last End             ST/Ex Run/Ntry Pri/Xit
____________________________ ____________________ ____________________ _____ ________ _______
REPORTED                     03/04/2026 21:55:01  03/04/2026 22:41:17  SU    711/1    0
"""
DOCUMENTS = [
    {"process": "LOAD", "box": "NIGHT", "status": "RUNNING", "run": "7", "at": "2026-03-04T01:00:00Z"},
    {
        "process": "LOAD",
        "status": "SUCCESS",
        "run": "7",
        "at": "2026-03-04T01:20:00Z",
        "exit_code": 0,
        "business_date": "2026-03-03",
        "outputs": [{"dataset": "ops/raw", "row_count": 842}, {"dataset": "ops/other", "version": "v1"}],
    },
    {"process": "NIGHT", "status": "RUNNING", "run": "7", "at": "2026-03-04T00:50:00Z"},
    {"dataset": "ops/registered", "status": "SUCCESS", "at": "2026-03-04T02:00:00Z"},
]


def lose(engine: Engine) -> None:
    """Everything that can be derived is gone."""
    with engine.begin() as connection:
        for table in DERIVED.split():
            connection.execute(sa.text(f"DELETE FROM catalog.{table}"))  # noqa: S608


def completion_files(engine: Engine, folder: Path) -> None:
    feed = folder / "feed.jsonl"
    feed.write_text("\n".join(json.dumps(each) for each in DOCUMENTS))
    load(engine, [feed])


def demon_log(engine: Engine, folder: Path) -> None:
    log = folder / "event_demon.ACE"
    log.write_text(night(3))
    load(engine, [log])


def autorep_report(engine: Engine, folder: Path) -> None:
    report = folder / "report.txt"
    report.write_text(REPORT)
    load(engine, [report])


def openlineage_events(engine: Engine, folder: Path) -> None:
    ingest_valid(
        engine, *recorded("airflow"), run_event("START", namespace="AUTOSYS/ACE", job="JOB0", outputs=["a"])
    )
    ingest_valid(engine, run_event("COMPLETE", namespace="AUTOSYS/ACE", job="JOB0", minutes=4, outputs=["a"]))


SOURCES = [completion_files, demon_log, autorep_report, openlineage_events]


def delivered(engine: Engine) -> None:
    """Dagster knows of everything."""
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM catalog.pending_materialization"))


def sequences(engine: Engine) -> list[tuple[str, int]]:
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT event_key, sequence FROM catalog.completion ORDER BY event_key"
        ).fetchall()
    return [(row["event_key"], row["sequence"]) for row in rows]


@pytest.mark.parametrize("source", SOURCES)
def test_what_was_lost_is_there_again(
    engine: Engine, tmp_path: Path, source: Callable[[Engine, Path], None]
) -> None:
    source(engine, tmp_path)
    delivered(engine)
    before, order = everything(engine), sequences(engine)
    assert before["process_run"]
    rebuild(engine)
    assert everything(engine) == before
    lose(engine)
    assert everything(engine) != before
    rebuild(engine)
    assert everything(engine) == before
    assert sequences(engine) == order


def test_all_sources_together_live_and_archived(engine: Engine, tmp_path: Path) -> None:
    for source in SOURCES:
        source(engine, tmp_path)
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, -(10**5) + each, str(each)) for each in range(9)])
    delivered(engine)
    archive(engine)
    before, order = everything(engine), sequences(engine)
    rebuilt = rebuild(engine)
    assert rebuilt.archived > 0
    assert rebuilt.events > 0
    assert everything(engine) == before
    lose(engine)
    rebuild(engine)
    assert everything(engine) == before
    assert sequences(engine) == order


@settings(
    max_examples=25,
    phases=[Phase.generate],  # shrinking would take minutes
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(history=histories(), cut=st.integers(1, 5), hot=st.sampled_from([None, timedelta(hours=1)]))
def test_any_history_in_any_batches_comes_back(
    engine: Engine, history: list[RunEvent], cut: int, hot: timedelta | None
) -> None:
    clear(engine)
    wipe(engine)
    for begin in range(0, len(history), cut):
        ingest(engine, history[begin : begin + cut])
    if hot is not None:
        delivered(engine)
        archive(engine, hot=hot)
    before, order = everything(engine), sequences(engine)
    rebuild(engine)
    assert everything(engine) == before
    assert sequences(engine) == order


def test_what_was_loaded_as_history_and_came_again_live_comes_back(engine: Engine) -> None:
    events = [job_event("LOAD", RunState.SUCCESS, each, str(each), outputs=(output(),)) for each in range(4)]
    ingest(engine, [replace(event, historical=True) for event in events[:3]])
    ingest(engine, events[1:])
    before, order = everything(engine), sequences(engine)
    rebuild(engine)
    assert everything(engine) == before
    assert sequences(engine) == order


def test_what_people_and_spark_made_of_a_reported_version_stays(catalog: Engine, draft: Draft) -> None:
    place = ("raw/flights", "2026-11-26")
    ingest(
        catalog,
        [job_event("LOAD", RunState.SUCCESS, 5, outputs=(output(place[0], partition=place[1], tag="r"),))],
    )
    ingest(catalog, [job_event("LOAD", RunState.SUCCESS, 6, "2", outputs=(output("ops/raw", tag="pinned"),))])
    (reported,) = queries.published(catalog, [place[0]])
    with attempt(catalog, run_id=reported.version.version_id, process_key="mart/delays") as begun:
        publish(catalog, begun.run_id, [draft(inputs=(reported.version.version_id,))])
    pin(catalog, "ops/raw", "pinned", reason="as it was", by="test")
    publish(catalog, None, [draft(*place, generation=1)])
    before = everything(catalog)
    rebuild(catalog)
    assert everything(catalog) == before


def test_triggers_go_on_where_they_stopped(engine: Engine) -> None:
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, each, str(each)) for each in range(5)])
    before = completions(engine, ["LOAD"], after=0, to=10**6, limit=10)
    lose(engine)
    rebuild(engine)
    assert completions(engine, ["LOAD"], after=0, to=10**6, limit=10) == before
