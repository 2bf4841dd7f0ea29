"""Query runs and raw events of any age, across the tables and the archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownRun
from headrace.retention.files import Archive, ArchiveFileGone
from headrace.retention.registry import EVER, Kind
from headrace.retention.rows import TIME
from headrace.retention.sql import statement
from headrace.retention.visibility import files, visible_runs

LIMIT = 100
_DIGITS = 32  # hexadecimal digits of a UUID


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run. location: the archive file that contains it, None while it is in the tables."""

    run_id: UUID
    process_key: str
    technology: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    attempt: int
    partitions: tuple[str, ...]
    external_run: str | None
    root_dagster_run_id: str | None
    parent_run_id: UUID | None
    log_location: str | None
    historical: bool
    location: str | None


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A raw event as received.

    source: OPENLINEAGE for what was received as such. location: the archive's file that holds it, None while it is in
    the tables.
    """

    event_time: datetime
    event_type: str
    run_id: UUID | None
    process_key: str | None
    payload: Mapping[str, Any]
    historical: bool
    received_at: datetime
    source: str | None
    location: str | None


def runs(
    engine: Engine,
    *,
    archived: bool = True,
    process: str | None = None,
    run: str | None = None,
    state: RunState | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = LIMIT,
) -> list[PastRun]:
    """Return runs by start time, newest first, at most `limit`.

    Args:
        engine: the catalog.
        archived: search the archive as well as the tables.
        process: only of the process with this key.
        run: only with this id or prefix. Raises UnknownRun for an invalid prefix.
        state: only with this status.
        since: only started then or later.
        until: only started before.
        before: only after the run with this start and id, in the order of the result.
        limit: maximum number.

    Raises ArchiveUnavailable on storage errors.

    Args:
        engine: the catalog.
        archived: look in the archive as well as in the tables.
        process: of the process with this key.
        run: whose id is this, or begins so. Raises UnknownRun for what is not a beginning of an id.
        state: that are, or ended, in this state.
        since: that started then or later.
        until: that started before.
        before: that come after the run with this start and id.
        limit: how many at most.

    Raises ArchiveUnavailable when the storage refuses.
    """
    scope = _Scope(process, run, since, until, limit)
    wanted = scope.conditions + [pc.field("status") == state] * (state is not None)
    parameters = {**scope.parameters, "state": state, "before_at": None, "before_id": None}
    if before is not None:
        at, run_id = before
        parameters |= {"before_at": at, "before_id": run_id}
        start = pc.field("start_ts")
        same = start == pa.scalar(at, TIME)
        wanted.append((start < pa.scalar(at, TIME)) | (same & (pc.field("run_id") > str(run_id))))
    with transaction(engine) as cursor:
        found = statement("past_runs").execute(cursor, parameters).fetchall()
    rows = _with_archive(engine, Kind.RUN, found, scope, wanted, _archived_run) if archived else found
    return [_run(row) for row in rows]


def events(
    engine: Engine,
    *,
    archived: bool = True,
    process: str | None = None,
    run: str | None = None,
    event_type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = LIMIT,
) -> list[PastEvent]:
    """Return raw events by their own time, newest first, at most `limit`; arguments and errors are those of `runs`.

    event_type: START, COMPLETE, FAIL, ABORT, OTHER, RUNNING, or DATASET.
    """
    scope = _Scope(process, run, since, until, limit)
    with transaction(engine) as cursor:
        found = statement("past_events").execute(cursor, {**scope.parameters, "type": event_type}).fetchall()
    wanted = scope.conditions + [pc.field("event_type") == event_type] * (event_type is not None)
    rows = _with_archive(engine, Kind.EVENT, found, scope, wanted, _archived_event) if archived else found
    return [_event(row) for row in rows]


class _Scope:
    """Common filters of runs and events, for SQL and for Parquet."""

    def __init__(
        self,
        process: str | None,
        run: str | None,
        since: datetime | None,
        until: datetime | None,
        limit: int,
    ) -> None:
        self.since, self.until, self.limit = since or EVER[0], until or EVER[1], limit
        digits = None if run is None else _digits(run)
        self.parameters: dict[str, Any] = {
            "organisation": current_context().organisation_id,
            "process": process,
            "lower": digits and UUID(digits.ljust(_DIGITS, "0")),
            "upper": digits and UUID(digits.ljust(_DIGITS, "f")),
            "since": self.since,
            "until": self.until,
            "most": limit,
        }
        self.conditions: list[pc.Expression] = []
        if process is not None:
            self.conditions.append(pc.field("process_key") == process)
        if digits is not None:
            self.conditions.append(pc.starts_with(pc.field("run_id"), dashed(digits)))

    def times(self, column: str) -> list[pc.Expression]:
        """Return the condition that the column is in the requested time range."""
        return [
            pc.field(column) >= pa.scalar(self.since, TIME),
            pc.field(column) < pa.scalar(self.until, TIME),
        ]


def _digits(run: str) -> str:
    digits = run.strip().lower().replace("-", "")
    if not 0 < len(digits) <= _DIGITS or set(digits) - set("0123456789abcdef"):
        raise UnknownRun(f"{run!r} is not a run id, nor the beginning of one")
    return digits


def dashed(digits: str) -> str:
    """Format the prefix of a UUID with dashes."""
    places = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "-".join(digits[begin:end] for begin, end in places if digits[begin:end])


def _with_archive(
    engine: Engine,
    kind: Kind,
    hot: Sequence[dict[str, Any]],
    scope: _Scope,
    wanted: Sequence[pc.Expression],
    read: Callable[[dict[str, Any], str], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the newest of both; rows in the tables are not taken from the archive too.

    While files are being merged, one may disappear after it was listed: then the list is read again.
    """
    for last in (False, True):
        try:
            return _merged(engine, kind, hot, scope, wanted, read)
        except ArchiveFileGone:
            if last:
                raise
    raise AssertionError


def _merged(
    engine: Engine,
    kind: Kind,
    hot: Sequence[dict[str, Any]],
    scope: _Scope,
    wanted: Sequence[pc.Expression],
    read: Callable[[dict[str, Any], str], dict[str, Any]],
) -> list[dict[str, Any]]:
    archive = Archive(current_context().settings.archive_location)
    identity = "run_id" if kind is Kind.RUN else "content_hash"
    conditions = [*scope.times(kind.time), *wanted]
    expression = conditions[0]
    for condition in conditions[1:]:
        expression &= condition
    known = {(row[identity], row[kind.time]) for row in hot}
    found = list(hot)
    for file in files(engine, kind, scope.since, scope.until):
        if len(found) >= scope.limit and found[scope.limit - 1][kind.time] > file.last_ts:
            break  # this file, and all following ones, have older rows only
        there = visible_runs(engine, archive.read(file.location, where=expression))
        order = [(kind.time, "descending"), (identity, "ascending")]
        newest = there.take(pc.sort_indices(there, order)[: scope.limit])
        rows = [read(row, file.location) for row in newest.to_pylist()]
        found += [row for row in rows if (row[identity], row[kind.time]) not in known]
        found.sort(key=lambda row: str(row[identity]))
        found.sort(key=lambda row: row[kind.time], reverse=True)
    return found[: scope.limit]


def _archived_run(row: dict[str, Any], location: str) -> dict[str, Any]:
    return {
        "run_id": UUID(row["run_id"]),
        "process_key": row["process_key"],
        "technology": row["technology"],
        "state": row["status"],
        "start_ts": row["start_ts"],
        "end_ts": row["end_ts"],
        "attempt": row["attempt"],
        "partitions": row["partitions"],
        "external_run": json.loads(row["facets_json"]).get("external_run"),
        "root_dagster_run_id": row["root_dagster_run_id"],
        "parent_run_id": row["parent_run_id"] and UUID(row["parent_run_id"]),
        "log_location": row["log_location"],
        "historical": row["historical"],
        "location": location,
    }


def _archived_event(row: dict[str, Any], location: str) -> dict[str, Any]:
    return {
        "event_time": row["event_time"],
        "event_type": row["event_type"],
        "run_id": row["run_id"] and UUID(row["run_id"]),
        "process_key": row["process_key"],
        "payload_json": json.loads(row["payload_json"]),
        "historical": row["historical"],
        "received_at": row["received_at"],
        "content_hash": row["content_hash"],
        "source": row.get("source"),
        "location": location,
    }


def _run(row: Mapping[str, Any]) -> PastRun:
    return PastRun(
        run_id=row["run_id"],
        process_key=row["process_key"],
        technology=row["technology"],
        state=RunState(row["state"]),
        started_at=row["start_ts"],
        ended_at=row["end_ts"],
        attempt=row["attempt"],
        partitions=tuple(row["partitions"]),
        external_run=row["external_run"],
        root_dagster_run_id=row["root_dagster_run_id"],
        parent_run_id=row["parent_run_id"],
        log_location=row["log_location"],
        historical=row["historical"],
        location=row["location"],
    )


def _event(row: Mapping[str, Any]) -> PastEvent:
    return PastEvent(
        event_time=row["event_time"],
        event_type=row["event_type"],
        run_id=row["run_id"],
        process_key=row["process_key"],
        payload=row["payload_json"],
        historical=row["historical"],
        received_at=row["received_at"],
        source=row["source"],
        location=row["location"],
    )
