"""Move rows older than 90 days from the tables to the archive, in pieces of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.grants import organisations
from headrace.context import Principal, act_as, current_context, organisation_named
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.publishing.runs import reap
from headrace.retention.compaction import merge_small
from headrace.retention.files import Archive
from headrace.retention.late_events import drop_repeated_events, leave_late_runs, restore_late_runs
from headrace.retention.registry import ArchivingElsewhere, KeptFile, Kind, sweep, write
from headrace.retention.rows import stream
from headrace.retention.sql import statement

HOT_RETENTION = timedelta(days=90)
ALERT_RETENTION = timedelta(
    days=400
)  # how long closed alerts are kept: enough to compare a year with the previous one
BATCH_SIZE = 100_000  # runs or events per piece
MONTHS_AHEAD = 4  # partitions created in advance, including this month's
_DELETE_BATCH_SIZE = 10_000
_CHOSEN = """
CREATE TEMPORARY TABLE chosen_run (run_id uuid, start_ts timestamptz) ON COMMIT DROP;
CREATE TEMPORARY TABLE chosen_event (event_time timestamptz, content_hash text, organisation_id uuid) ON COMMIT DROP
"""


@dataclass(frozen=True, slots=True)
class ColdRows:
    """Number of rows of a kind in a month that can be archived."""

    kind: Kind
    month: datetime
    rows: int


@dataclass(slots=True)
class ArchivingResult:
    """Result of archiving.

    rows: archived, by kind. files: written and registered. merged: small files that were merged. late: archived runs
    updated by late events. made, dropped: partitions. outbox: deleted messages of that age. alerts: deleted, closed for
    longer than `ALERT_RETENTION`.
    """

    rows: dict[Kind, int] = field(default_factory=dict)
    files: int = 0
    byte_size: int = 0
    merged: int = 0
    late: int = 0
    made: int = 0
    dropped: int = 0
    outbox: int = 0
    alerts: int = 0

    def add(self, files: Sequence[KeptFile]) -> None:
        """Add these files and their rows."""
        for file in files:
            self.rows[file.kind] = self.rows.get(file.kind, 0) + file.row_count
            self.files += 1
            self.byte_size += file.byte_size

    def include(self, other: ArchivingResult) -> None:
        """Add the result of another pass."""
        for kind, rows in other.rows.items():
            self.rows[kind] = self.rows.get(kind, 0) + rows
        for each in fields(self):
            if each.name != "rows":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def cold_everywhere(engine: Engine) -> list[ColdRows]:
    """Return what `archive_everywhere` would archive now, by kind and month, for all organisations."""
    found = cold(engine)
    for other in _others(engine):
        with act_as(other):
            found += cold(engine)
    return found


def archive_everywhere(
    engine: Engine, *, on_progress: Callable[[str], None] = lambda _: None
) -> ArchivingResult:
    """Run `archive` for every organisation of the catalog, the configured one first.

    An organisation that another process is archiving is skipped. Raises the errors of `archive` for the configured one.
    """
    done = archive(engine, on_progress=on_progress)
    for other in _others(engine):
        with act_as(other), suppress(ArchivingElsewhere):
            done.include(archive(engine, on_progress=on_progress))
    return done


def _others(engine: Engine) -> list[Principal]:
    """Run a function for each of the other organisations."""
    return [
        Principal(organisation_named(name), name, "platform", audit_only=True)
        for name in organisations(engine)
        if name != current_context().settings.organisation
    ]


def cold(engine: Engine, *, now: datetime | None = None, hot: timedelta = HOT_RETENTION) -> list[ColdRows]:
    """Return what `archive` would archive now, by kind and month."""
    with transaction(engine) as cursor:
        return _cold(cursor, _before(now, hot))


def archive(
    engine: Engine,
    *,
    now: datetime | None = None,
    hot: timedelta = HOT_RETENTION,
    on_progress: Callable[[str], None] = lambda _: None,
) -> ArchivingResult:
    """Archive the organisation's runs and events older than `hot`, and maintain the tables.

    Rows leave the tables in the transaction that registers their files, after these are complete and synced: if the
    process is killed, every row is in one place, and the next pass continues. Creates the partitions of the coming
    months, drops empty ones, and deletes outbox messages of the same age. Alerts closed for longer than
    `ALERT_RETENTION` are deleted with their notifications.

    Args:
        engine: the catalog.
        now: the reference time.
        hot: how long rows stay in the tables.
        on_progress: called with the progress in words.

    Raises ArchivingElsewhere while another process does this, ArchiveUnavailable on storage errors.
    """
    before, files = _before(now, hot), Archive(current_context().settings.archive_location)
    done = ArchivingResult()
    with alone(engine, "archive") as got:
        if not got:
            raise ArchivingElsewhere("another process is writing the archive; try again when it has finished")
        done.made = _make_partitions(engine)
        sweep(engine, files)
        reap(engine)
        done.late = restore_late_runs(engine, files)
        with transaction(engine) as cursor:
            waiting = _cold(cursor, before)
        for each in waiting:
            on_progress(f"archiving {each.rows:,} {each.kind.folder} of {each.month:%Y-%m}")
            for moved in _pieces(engine, files, each, before, hot):
                done.add(moved)
        done.merged = merge_small(engine, files, before, BATCH_SIZE)
        done.outbox = _delete(engine, "outbox", before)
        _delete(engine, "completions", before)
        done.alerts = _forget_alerts(engine, _before(now, ALERT_RETENTION))
        done.dropped = _drop_partitions(engine, before)
        sweep(engine, files)
    return done


def _before(now: datetime | None, hot: timedelta) -> datetime:
    return (now or datetime.now(UTC)) - hot


def _cold(cursor: Cursor[Any], before: datetime) -> list[ColdRows]:
    parameters = {"organisation": current_context().organisation_id, "before": before}
    rows = statement("archive/months").execute(cursor, parameters)
    return [ColdRows(Kind(row["kind"]), row["month"], row["rows"]) for row in rows]


def _pieces(
    engine: Engine, files: Archive, of: ColdRows, before: datetime, hot: timedelta
) -> Iterator[Sequence[KeptFile]]:
    """Archive a month of a kind, piece by piece; yields the files of each."""
    while moved := _piece(engine, files, of, before, hot):
        yield moved


def _piece(
    engine: Engine, archive: Archive, of: ColdRows, before: datetime, hot: timedelta
) -> Sequence[KeptFile]:
    """Archive one piece; () if no unlocked rows are left."""
    scope = {
        "organisation": current_context().organisation_id,
        "before": before,
        "first": of.month,
        "last": (of.month + timedelta(days=32)).replace(day=1),
        "most": BATCH_SIZE,
    }
    while True:
        with transaction(engine) as cursor:
            for each in _CHOSEN.split(";"):
                cursor.execute(each)
            if not statement(f"archive/choose_{of.kind.folder}").execute(cursor, scope).rowcount:
                return ()
            dropped = 0
            if of.kind is Kind.RUN:
                leave_late_runs(cursor, archive)
                statement("archive/choose_events_of_runs").execute(cursor, scope)
            elif of.kind is Kind.EVENT:
                dropped = drop_repeated_events(cursor, archive, hot)
            moved = _move(engine, cursor, archive, of, scope)
        if moved or not dropped:
            return moved


def _move(
    engine: Engine, cursor: Cursor[Any], archive: Archive, of: ColdRows, scope: dict[str, Any]
) -> list[KeptFile]:
    """Write the chosen rows and remove them from the tables, in the cursor's transaction."""
    files = []
    for kind in Kind:
        if cursor.execute(f"SELECT FROM pg_temp.chosen_{kind.value.lower()} LIMIT 1").fetchone() is None:
            continue
        schema, batches = stream(cursor, f"archive/rows_{kind.folder}")
        files.append(write(engine, cursor, archive, kind, of.month.date(), schema, batches))
        statement(f"archive/remove_{kind.folder}").execute(cursor, scope)
    return files


def _make_partitions(engine: Engine) -> int:
    with transaction(engine) as cursor:
        row = cursor.execute("SELECT catalog.make_partitions(now(), %s) AS made", [MONTHS_AHEAD]).fetchone()
    return int(row["made"]) if row else 0


def _drop_partitions(engine: Engine, before: datetime) -> int:
    """Drop empty partitions. A long-running reader prevents that: the partition stays until the next pass."""
    with transaction(engine) as cursor:
        cursor.execute("SET LOCAL lock_timeout = '2s'")
        try:
            row = cursor.execute("SELECT catalog.drop_partitions(%s) AS dropped", [before]).fetchone()
        except psycopg.errors.LockNotAvailable:
            cursor.connection.rollback()
            return 0
    return int(row["dropped"]) if row else 0


def _forget_alerts(engine: Engine, before: datetime) -> int:
    alerts = _delete(engine, "alerts", before)
    for left in ("digests", "alert_events", "incidents"):
        _delete(engine, left, before)
    return alerts


def _delete(engine: Engine, what: str, before: datetime) -> int:
    parameters = {
        "organisation": current_context().organisation_id,
        "before": before,
        "most": _DELETE_BATCH_SIZE,
    }
    deleted = 0
    while True:
        with transaction(engine) as cursor:
            count = statement(f"archive/{what}").execute(cursor, parameters).rowcount
        deleted += count
        if count < _DELETE_BATCH_SIZE:
            return deleted
