"""The registry of archive files: registered before they are written, used once they are complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pyarrow as pa
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import CatalogError
from headrace.retention.files import Archive
from headrace.retention.rows import bounds
from headrace.retention.sql import statement

EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))

_ENTER = """
INSERT INTO catalog.archive_file (file_id, organisation_id, kind, month, location) VALUES (%s, %s, %s, %s, %s)
"""
_KEEP = """
UPDATE catalog.archive_file
SET state = 'KEPT', first_ts = %s, last_ts = %s, row_count = %s, byte_size = %s, written_at = now()
WHERE file_id = %s AND state = 'WRITING'
"""
_REPLACE = "UPDATE catalog.archive_file SET state = 'REPLACED' WHERE file_id = ANY (%s) AND state = 'KEPT'"
_FORGET = "DELETE FROM catalog.archive_file WHERE file_id = %s AND state <> 'KEPT'"
_LEFT = """
SELECT file_id, location FROM catalog.archive_file WHERE organisation_id = %s AND state <> 'KEPT' ORDER BY location
"""


class ArchivingElsewhere(CatalogError):
    """Another process is archiving."""


class Kind(StrEnum):
    """Contents of a file: runs, or raw events."""

    RUN = "RUN"
    EVENT = "EVENT"

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return f"{self.value.lower()}s"

    @property
    def time(self) -> str:
        """The column by which its rows are ordered."""
        return {Kind.RUN: "start_ts", Kind.EVENT: "event_time"}[self]


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the archive, and the first and last time of its rows."""

    file_id: UUID
    kind: Kind
    month: date
    location: str
    first_ts: datetime
    last_ts: datetime
    row_count: int
    byte_size: int


def kept(
    cursor: Cursor[Any], kind: Kind, since: datetime = EVER[0], until: datetime = EVER[1]
) -> list[KeptFile]:
    """Return the files with rows of the kind from [since, until), those with the newest rows first."""
    parameters = {
        "organisation": current_context().organisation_id,
        "kind": kind,
        "since": since,
        "until": until,
    }
    rows = statement("archive/files").execute(cursor, parameters).fetchall()
    return [KeptFile(**{**row, "kind": Kind(row["kind"])}) for row in rows]


def write(
    engine: Engine,
    cursor: Cursor[Any],
    archive: Archive,
    kind: Kind,
    month: date,
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> KeptFile:
    """Write a new file, which counts once the cursor's transaction commits.

    It is registered before in a separate transaction, so that files of a killed process are known.
    """
    file_id = uuid4()
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{file_id.hex[:8]}"
    location = (
        f"{quote(current_context().organisation, safe='')}/{kind.folder}/month={month:%Y-%m}/{stamp}.parquet"
    )
    with transaction(engine) as entering:
        entering.execute(_ENTER, [file_id, current_context().organisation_id, kind, month, location])
    statistics = _RowStatistics(kind.time)
    size = archive.write(location, schema, statistics.through(batches))
    file = KeptFile(file_id, kind, month, location, *statistics.bounds(), statistics.rows, size)
    _must_change(cursor.execute(_KEEP, [*statistics.bounds(), statistics.rows, size, file_id]), 1)
    return file


def replace(cursor: Cursor[Any], files: Sequence[KeptFile]) -> None:
    """Stop counting these files once the transaction commits."""
    _must_change(cursor.execute(_REPLACE, [[file.file_id for file in files]]), len(files))


def sweep(engine: Engine, archive: Archive) -> None:
    """Delete the files that do not count: replaced ones, and partial ones of a killed process.

    Only while no one else writes to the archive.
    """
    with transaction(engine) as cursor:
        left = cursor.execute(_LEFT, [current_context().organisation_id]).fetchall()
    for row in left:
        with transaction(engine) as cursor:
            # The entry first: a concurrent user of the file is waited for, or fails.
            if cursor.execute(_FORGET, [row["file_id"]]).rowcount:
                archive.delete(row["location"])


def _must_change(cursor: Cursor[Any], rows: int) -> None:
    """Raise if no row changed. A lock prevents concurrent passes; one that loses it with its connection stops here."""
    if cursor.rowcount != rows:
        raise ArchivingElsewhere(
            "another process has started archiving, because this one lost its connection. Completed work is kept."
        )


class _RowStatistics:
    """Counts the rows that pass, and records the first and last time."""

    def __init__(self, time: str) -> None:
        self.rows = 0
        self._time = time
        self._times: list[datetime] = []

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                self.rows += batch.num_rows
                self._times += bounds(batch, self._time)
                yield batch

    def bounds(self) -> tuple[datetime, datetime]:
        return min(self._times), max(self._times)
