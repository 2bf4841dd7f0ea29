"""Rebuild the catalog from the raw events: everything that other systems reported of their runs, live and archived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import Cursor
from psycopg.rows import dict_row
from sqlalchemy import Engine

from headrace.catalog.locks import lock_completions, lock_events
from headrace.context import act_as, current_context
from headrace.database.connection import transaction
from headrace.events.reports import Processes, StoredReport, stored_report
from headrace.job_reports.projection import derive_runs, project_outputs
from headrace.openlineage.completions import complete
from headrace.openlineage.ingestion import BATCH_SIZE, Owner, owner_of, project
from headrace.openlineage.parsing import parse
from headrace.openlineage.renames import decide_again
from headrace.retention.files import Archive
from headrace.retention.registry import Kind, kept
from headrace.retention.sql import statement

_T = TypeVar("_T")
_CLEARING = (
    "rebuild/clear_completions",
    "rebuild/clear_reports",
    "rebuild/clear_openlineage",
    "rebuild/clear_versions",
    "rebuild/clear_names",
)
_EVENTS = """
SELECT event_time, content_hash, run_id, process_id, payload_json, historical, received_at, sequence
FROM pg_temp.raw_event
LEFT JOIN catalog.process ON process.process_key = raw_event.process_key AND process.organisation_id = %s
WHERE raw_event.source = %s
"""
_COPY_EVENTS = b"COPY pg_temp.raw_event FROM STDIN"
_COPY_RUNS = b"COPY pg_temp.archived_run_id FROM STDIN"
_OF_EVENTS = (
    "event_time",
    "content_hash",
    "run_id",
    "process_key",
    "payload_json",
    "historical",
    "received_at",
    "sequence",
    "source",
)  # the columns of raw_event, in order
_ARRIVAL = " ORDER BY received_at, sequence"
_BY_RUN = " AND run_id IS NOT NULL ORDER BY run_id, sequence"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Number of events used: those in the tables, and those in the archive."""

    events: int
    archived: int


def rebuild(engine: Engine, organisation_id: UUID | None = None) -> Rebuilt:
    """Delete everything derived from raw events, and derive it again from them, in one transaction.

    Readers see the previous state until the new one is complete, and a stopped rebuild changes nothing; events wait
    meanwhile. Archived events count as well, archived runs stay archived, and decisions about names are applied again.
    Declarations and publishes are not affected, nor are pending materializations for Dagster, versions that were pinned
    or read, and the history of pointers that others moved too.

    Raises ArchiveUnavailable, CatalogUnavailable; InvalidEvent for an event that `ingest` would not have stored.
    """
    organisation = organisation_id or current_context().organisation_id
    with act_as(None), transaction(engine) as cursor:
        owner = owner_of(cursor, organisation)
        lock_events(cursor, organisation)
        lock_completions(cursor)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")  # references to a version are restored at the end
        rebuilt = _collect(cursor, organisation)
        for step in _CLEARING:
            statement(step).execute(cursor, {"organisation": organisation})
        decide_again(cursor, owner)
        _rebuild_reports(cursor, organisation)
        _rebuild_openlineage(cursor, owner)  # which may belong to runs that schedulers reported
        for step in ("rebuild/restore_versions", "rebuild/leave_archived", "rebuild/sweep"):
            statement(step).execute(cursor, {"organisation": organisation})
    return rebuilt


def _collect(cursor: Cursor[Any], organisation: UUID) -> Rebuilt:
    """Collect all raw events, and the archived and live runs, in temporary tables."""
    for step in statement("rebuild/collect").text.split(b";"):
        cursor.execute(step, [])
    archive, archived = Archive(current_context().settings.archive_location), 0
    for file in kept(cursor, Kind.EVENT):
        archived += _copy(cursor, _COPY_EVENTS, archive, file.location, _OF_EVENTS)
    for file in kept(cursor, Kind.RUN):
        _copy(cursor, _COPY_RUNS, archive, file.location, ("run_id",))
    parameters = {"organisation": organisation}
    live = statement("rebuild/collect_live").execute(cursor, parameters).rowcount
    statement("rebuild/collect_runs").execute(cursor, parameters)
    return Rebuilt(events=live, archived=archived)


def _rebuild_openlineage(cursor: Cursor[Any], owner: Owner) -> None:
    for rows in _batches(_events(cursor, "OPENLINEAGE", owner.organisation, _ARRIVAL), BATCH_SIZE):
        events = [
            replace(
                parse(row["payload_json"], received_at=row["received_at"]),
                digest=row["content_hash"],
                historical=row["historical"],
            )
            for row in rows
        ]
        result = project(cursor, owner, events, silent=True)
        sequences = {row["content_hash"]: row["sequence"] for row in rows}
        complete(
            cursor,
            owner.organisation,
            events,
            result.processes,
            result.runs,
            sequences=sequences,
            silent=True,
        )


def _rebuild_reports(cursor: Cursor[Any], organisation: UUID) -> None:
    processes = Processes()
    by_run = groupby(
        map(stored_report, _events(cursor, "SCHEDULER", organisation, _BY_RUN)), lambda report: report.run_id
    )
    for runs in _batches((list(reports) for _, reports in by_run), BATCH_SIZE):
        reports = [report for run in runs for report in run]
        processes.find(cursor, [report.event for report in reports])
        derive_runs(cursor, reports, processes)
    # Pointers move once for all events that arrived together, as they did originally.
    arrived = groupby(
        map(stored_report, _events(cursor, "SCHEDULER", organisation, _ARRIVAL)),
        lambda report: report.received_at,
    )
    for _, together in arrived:
        project_outputs(cursor, _with_processes(cursor, list(together), processes), silent=True)


def _with_processes(
    cursor: Cursor[Any], reports: list[StoredReport], processes: Processes
) -> list[StoredReport]:
    processes.find(cursor, [report.event for report in reports if report.process_id is None])
    return [
        replace(report, process_id=row["process_id"])
        if report.process_id is None and (row := processes.row(report.event))
        else report
        for report in reports
    ]


def _events(cursor: Cursor[Any], source: str, organisation: UUID, order: str) -> Iterator[Mapping[str, Any]]:
    """Yield the collected events of one source, in order of arrival, or run by run."""
    with psycopg.ServerCursor(cursor.connection, f"rebuilding_{source}", row_factory=dict_row) as reader:
        reader.itersize = BATCH_SIZE
        yield from reader.execute(_EVENTS + order, [organisation, source])


def _copy(
    cursor: Cursor[Any], statement: bytes, archive: Archive, location: str, names: Sequence[str]
) -> int:
    """Copy the rows of a file with external events into a temporary table; returns their number."""
    rows = 0
    with cursor.copy(statement) as copy:
        for batch in archive.batches(location):
            for row in batch.to_pylist():
                if row.get("source", "") is not None:
                    copy.write_row([row[name] for name in names])
                    rows += 1
    return rows


def _batches(values: Iterable[_T], size: int) -> Iterator[list[_T]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some
