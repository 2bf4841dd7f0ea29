"""Run events for tests, and the resulting catalog as comparable rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import Ending, ReportedOutput, RunEvent

START = datetime(2026, 11, 26, 21, 55, tzinfo=UTC)
ENDS = {RunState.SUCCESS, RunState.FAILED, RunState.TERMINATED}


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def job_event(
    process: str, state: RunState, minutes: float = 0, run: str | None = "1", **given: Any
) -> RunEvent:
    """An event of the Autosys job `process`, so many minutes after START; its key comes from all of it."""
    attempt = given.get("attempt", 1)
    ending = given.pop("ending", None)
    if ending is None and state in ENDS:
        ending = Ending.GENUINE if attempt else Ending.FORCED
    if ending is None and state is RunState.SKIPPED:
        ending = Ending.BYPASSED
    key = given.pop("key", None)
    event = RunEvent(
        Technology.AUTOSYS, process, state, state.value, at(minutes), "", run=run, ending=ending, **given
    )
    from dataclasses import replace

    return replace(event, key=key or repr((event.process, event.run, event.attempt, state, minutes, given)))


def output(dataset: str = "ops/raw", **given: Any) -> ReportedOutput:
    return ReportedOutput(dataset, **given)


def histories() -> st.SearchStrategy[list[RunEvent]]:
    """Events of a few jobs in a box: several runs, attempts, ends of each kind, some set by hand, some with outputs."""
    state = st.sampled_from(
        [state for state in RunState if state.value not in {"BLOCKED", "SUPERSEDED", "LOST"}]
    )
    event = st.builds(
        job_event,
        st.sampled_from(["LOAD", "CHECK", "NIGHT_BOX"]),
        state,
        st.integers(0, 20),
        st.sampled_from([None, "1", "2", "3"]),
        attempt=st.integers(0, 2),
        exit_code=st.sampled_from([None, 0, 3]),
        machine=st.sampled_from([None, "unxhost01", "unxhost02"]),
        log_location=st.sampled_from([None, "/logs/1", "/logs/2"]),
        partition=st.sampled_from([None, "2026-11-26"]),
        started_at=st.sampled_from([None, at(-5), at(3)]),
        box=st.sampled_from([None, "NIGHT_BOX"]),
        outputs=st.sampled_from([(), (output(row_count=3),), (output(partition="a"), output("ops/other"))]),
    )
    return st.lists(event, min_size=1, max_size=12, unique_by=lambda each: each.key)


_QUERIES = {
    "runs": """
        SELECT process_key, facets_json ->> 'external_run', run.run_id, run.start_ts, run.end_ts, run.status, attempt,
               partitions, log_location, historical, parent_run_id
        FROM catalog.process_run run JOIN catalog.process USING (process_id)""",
    "attempts": """
        SELECT run_id, attempt, run_start_ts, state, ending, start_ts, end_ts, exit_code, reason, log_location, host
        FROM catalog.run_attempt""",
    "completions": """
        SELECT event_key, run_id, attempt, at, started_at, moment, partition_key, run_partition_key, historical
        FROM catalog.completion""",
    "raw": """
        SELECT event_time, content_hash, run_id, process_key, event_type, historical
        FROM catalog.run_event""",
    "processes": "SELECT process_key, lifecycle, instance, external_name FROM catalog.process",
    "versions": """
        SELECT full_name, partition_key, version_tag, dataset_version_id, row_count, path, produced_at, outcome,
               produced_by_run_id
        FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id)""",
    "published": """
        SELECT full_name, pointer.partition_key, version_tag
        FROM catalog.published_pointer pointer
        JOIN catalog.dataset_version USING (dataset_version_id)
        JOIN catalog.dataset ON dataset.dataset_id = pointer.dataset_id""",
    "to tell": """
        SELECT coalesce(process_key, full_name) AS subject, partition_key, event_key, at, version_id
        FROM catalog.pending_materialization
        LEFT JOIN catalog.process ON process_id = subject_id
        LEFT JOIN catalog.dataset ON dataset_id = subject_id""",
}


def contents(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Return all results of ingestion, without times of arrival."""
    with engine.connect() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(sa.text(query))), key=repr)
            for name, query in _QUERIES.items()
        }


def wipe(engine: Engine) -> None:
    """An empty catalog again."""
    tables = [
        "pending_materialization",
        "completion",
        "run_event",
        "run_attempt",
        "process_run",
        "outbox",
    ]
    tables += ["pointer_move", "lineage_edge", "published_pointer", "dataset_schema", "dataset_version"]
    tables += ["dataset", "process", "organisation"]
    with engine.begin() as connection:
        for table in tables:
            connection.execute(sa.text(f"DELETE FROM catalog.{table}"))  # noqa: S608
