"""Late reports about archived runs and events: the archive keeps each once, in its newest state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.locks import lock_completions, lock_events
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.events.reports import Processes, reports_of_runs
from headrace.job_reports.projection import project_runs
from headrace.openlineage.ingestion import BATCH_SIZE, ingest
from headrace.openlineage.model import Result
from headrace.retention.compaction import Rows, rewrite
from headrace.retention.files import Archive
from headrace.retention.registry import KeptFile, Kind, kept
from headrace.retention.rows import POSTGRES
from headrace.retention.sql import statement

_RUN_BATCH_SIZE = 20_000
_PARENTS = """
UPDATE catalog.process_run run
SET parent_run_id = item.parent
FROM unnest(%s::uuid[], %s::uuid[]) AS item (run_id, parent)
WHERE run.run_id = item.run_id AND run.parent_run_id IS NULL
"""
_IS_REPORT = pc.field("source") == "SCHEDULER"
_COUNTED_BY = ("run_id", "process_id", "start_ts", "status")


def restore_late_runs(engine: Engine, archive: Archive) -> int:
    """Update archived runs that were reported again after they were archived; returns their number.

    Their earlier reports are restored from the archive, the runs are derived again from all reports, in their former
    box, and removed from the archive. If killed in between, it is repeated, without further effect.
    """
    with transaction(engine) as cursor:
        parameters = {"organisation": current_context().organisation_id}
        late = [str(row["run_id"]) for row in statement("archive/late_runs").execute(cursor, parameters)]
        known = _found(archive, kept(cursor, Kind.RUN), late)
        events = kept(cursor, Kind.EVENT)
    for some in _parts(sorted(known), _RUN_BATCH_SIZE):
        restored = _restore_reports(engine, archive, events, some, known)
        # For jobs that share a run's id, the owner's comes last, and is therefore used.
        owners_last = sorted(some, key=lambda run_id: known[run_id].reported == run_id)
        as_reported = {known[run_id].reported: run_id for run_id in owners_last}
        restored |= _restore_openlineage(engine, archive, events, as_reported)
        _withdraw(engine, archive, sorted(restored))
    return len(known)


def _restore_reports(
    engine: Engine,
    archive: Archive,
    files: Sequence[KeptFile],
    run_ids: Sequence[str],
    archived: Mapping[str, _ArchivedRun],
) -> set[str]:
    """Restore the runs that schedulers reported, whose reports are back in the tables; returns them."""
    reports = [row for file in files for row in _reports(archive, file, run_ids)]
    restored = {row["run_id"] for row in reports}
    boxed = [run_id for run_id in restored if archived[run_id].box]
    if reports:
        with transaction(engine) as cursor:
            lock_events(cursor, current_context().organisation_id)
            lock_completions(cursor)
            again = {
                "organisation": current_context().organisation_id,
                "digests": [row["content_hash"] for row in reports],
            }
            repeated = {
                row["content_hash"]: row["historical"]
                for row in statement("archive/take_repeated_reports").execute(cursor, again)
            }
            for row in reports:
                row["historical"] = row["historical"] and repeated.get(row["content_hash"], True)
            statement("archive/restore_events").execute(cursor, {"events": jsonb(reports)})
            stored = reports_of_runs(cursor, [UUID(run_id) for run_id in restored])
            project_runs(cursor, (), stored, Processes())
            cursor.execute(_PARENTS, [boxed, [archived[run_id].box for run_id in boxed]])
    return restored


def _restore_openlineage(
    engine: Engine, archive: Archive, files: Sequence[KeptFile], run_ids: Mapping[str, str]
) -> set[str]:
    """Ingest the OpenLineage events of these runs again, by their ids as reported; returns them."""
    wanted = pc.field("run_id").isin(list(run_ids)) & (pc.field("source") == "OPENLINEAGE")
    events = [
        (run_ids[row["run_id"]], row["historical"], json.loads(row["payload_json"]))
        for file in files
        for row in archive.read(
            file.location, columns=("run_id", "historical", "payload_json"), where=wanted
        ).to_pylist()
    ]
    refused: set[str] = set()
    for historical in (False, True):
        these = [(run_id, payload) for run_id, past, payload in events if past is historical]
        for begin in range(0, len(these), BATCH_SIZE):
            some = these[begin : begin + BATCH_SIZE]
            outcomes = ingest(
                engine,
                current_context().organisation_id,
                [payload for _, payload in some],
                historical=historical,
            )
            refused |= {some[outcome.index][0] for outcome in outcomes if outcome.result is Result.REFUSED}
    return {run_id for run_id, _, _ in events} - refused


def leave_late_runs(cursor: Cursor[Any], archive: Archive) -> None:
    """Leave chosen runs that were reported again since `restore_late_runs` to the next pass."""
    late = statement("archive/late_chosen").execute(cursor, {})
    known = _found(archive, kept(cursor, Kind.RUN), [str(row["run_id"]) for row in late])
    cursor.execute("DELETE FROM pg_temp.chosen_run WHERE run_id = ANY (%s::uuid[])", [list(known)])


def drop_repeated_events(cursor: Cursor[Any], archive: Archive, hot: timedelta) -> int:
    """Delete those of the chosen events that are already in the archive; returns their number."""
    age = hot / 2  # the minimum age of an archived event
    late = statement("archive/late_events").execute(cursor, {"age": age})
    keys = {(row["event_time"], row["content_hash"]) for row in late}
    if not keys:
        return 0
    times = [time for time, _ in keys]
    hashes = pa.array(sorted({digest for _, digest in keys}))
    known: set[tuple[datetime, str]] = set()
    for file in kept(cursor, Kind.EVENT, min(times), max(times) + timedelta(microseconds=1)):
        there = archive.read(
            file.location,
            columns=("event_time", "content_hash"),
            where=pc.field("content_hash").isin(hashes),
        )
        known |= keys & set(
            zip(*(there.column(name).to_pylist() for name in there.column_names), strict=True)
        )
    if not known:
        return 0
    parameters = {
        "organisation": current_context().organisation_id,
        "times": [time for time, _ in known],
        "hashes": [digest for _, digest in known],
    }
    return statement("archive/remove_repeated_events").execute(cursor, parameters).rowcount


def _withdraw(engine: Engine, archive: Archive, run_ids: Sequence[str]) -> None:
    """Remove these runs, and their scheduler reports, from the archive and its roll-ups."""
    wanted = pc.field("run_id").isin(run_ids)
    ids = pa.array(run_ids, pa.string())
    with transaction(engine) as cursor:
        _withdraw_runs(engine, cursor, archive, wanted, lambda rows: pc.is_in(rows.column("run_id"), ids))
        counts: Counter[tuple[str, str]] = Counter()
        for file in kept(cursor, Kind.EVENT):
            there = archive.read(
                file.location, columns=("event_time", "event_type"), where=wanted & _IS_REPORT
            )
            if there.num_rows:
                rewrite(engine, cursor, archive, [file], without=lambda rows: _is_report_of(rows, ids))
                for row in there.to_pylist():
                    day = row["event_time"].astimezone(UTC).date().isoformat()
                    counts[day, row["event_type"]] += 1
        rows = [{"day": day, "event_type": kind, "events": number} for (day, kind), number in counts.items()]
        parameters = {"organisation": current_context().organisation_id, "counts": jsonb(rows)}
        statement("archive/uncount_events").execute(cursor, parameters)


def _withdraw_runs(
    engine: Engine, cursor: Cursor[Any], archive: Archive, wanted: pc.Expression, without: Rows
) -> None:
    runs: list[dict[str, Any]] = []
    for file in kept(cursor, Kind.RUN):
        there = archive.read(file.location, columns=_COUNTED_BY, where=wanted)
        if there.num_rows:
            rewrite(engine, cursor, archive, [file], without=without)
            runs += map(_counted, there.to_pylist())
    statement("archive/uncount_runs").execute(cursor, {"runs": jsonb(runs)})


def _counted(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run and the roll-up that counts it."""
    day = run["start_ts"].astimezone(UTC).date().isoformat()
    return {"run_id": run["run_id"], "process_id": run["process_id"], "day": day, "state": run["status"]}


def _is_report_of(rows: pa.RecordBatch, run_ids: pa.Array) -> pa.Array:
    is_report = pc.fill_null(pc.equal(rows.column("source"), "SCHEDULER"), False)
    return pc.and_(is_report, pc.is_in(rows.column("run_id"), run_ids))


@dataclass(frozen=True, slots=True)
class _ArchivedRun:
    """An archived run: its box's run, and its id as reported by OpenLineage events."""

    box: str | None
    reported: str


def _found(archive: Archive, files: Sequence[KeptFile], run_ids: Sequence[str]) -> dict[str, _ArchivedRun]:
    """Return those of the runs that are archived."""
    found: dict[str, _ArchivedRun] = {}
    if run_ids:
        for file in files:
            wanted = pc.field("run_id").isin(run_ids)
            there = archive.read(
                file.location, columns=("run_id", "parent_run_id", "openlineage"), where=wanted
            )
            for row in there.to_pylist():
                document = json.loads(row["openlineage"] or "null")
                reported = document["run"]["reported_run_id"] if document else row["run_id"]
                found[row["run_id"]] = _ArchivedRun(row["parent_run_id"], reported)
    return found


def _reports(archive: Archive, file: KeptFile, run_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield scheduler reports of these runs, as rows of `run_event`."""
    there = archive.read(file.location, where=pc.field("run_id").isin(run_ids) & _IS_REPORT)
    documents = {field.name for field in there.schema if (field.metadata or {}).get(POSTGRES) == b"jsonb"}
    for row in there.to_pylist():
        yield {
            name: json.loads(value) if name in documents and value is not None else value
            for name, value in row.items()
        }


def _parts(values: Sequence[str], size: int) -> Iterator[list[str]]:
    left = iter(values)
    while part := list(islice(left, size)):
        yield part
