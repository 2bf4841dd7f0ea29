"""Rewrite archive files: merge small ones, or drop rows from one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.retention.files import Archive
from headrace.retention.registry import KeptFile, Kind, kept, replace, write

Rows = Callable[[pa.RecordBatch], pa.Array]  # selects rows of a batch, as booleans


def merge_small(engine: Engine, archive: Archive, before: datetime, enough: int) -> int:
    """Merge the small files of each month that ended before `before` into one; returns the number of merged files.

    A file is small if it has less than half of `enough` rows.
    """
    merged = 0
    for kind in Kind:
        months: defaultdict[date, list[KeptFile]] = defaultdict(list)
        with transaction(engine) as cursor:
            for file in kept(cursor, kind):
                if file.row_count < enough / 2 and _end(file.month) <= before:
                    months[file.month].append(file)
        for small in months.values():
            if len(small) > 1:
                with transaction(engine) as cursor:
                    rewrite(engine, cursor, archive, small)
                merged += len(small)
    return merged


def rewrite(
    engine: Engine,
    cursor: Cursor[Any],
    archive: Archive,
    files: Sequence[KeptFile],
    without: Rows | None = None,
) -> None:
    """Replace these files, of one kind and month, by one, in the cursor's transaction.

    without: rows to leave out.
    """
    in_order = sorted(files, key=lambda file: (file.first_ts, file.last_ts, file.location))
    schema = pa.unify_schemas([archive.schema(file.location) for file in in_order])
    replace(cursor, in_order)
    rows = _rows(archive, in_order, schema, without)
    first = next(rows, None)
    if first is not None:
        kind, month = in_order[0].kind, in_order[0].month
        write(engine, cursor, archive, kind, month, schema, _chain(first, rows))


def _rows(
    archive: Archive, files: Sequence[KeptFile], schema: pa.Schema, without: Rows | None
) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in archive.batches(file.location):
            fitted = _fitted(batch, schema)
            if without is not None:
                fitted = fitted.filter(pc.invert(without(fitted)))
            if fitted.num_rows:
                yield fitted


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with all columns of the schema; columns that its table did not have yet are null."""
    there = set(batch.schema.names)
    columns = [
        batch.column(field.name) if field.name in there else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _end(month: date) -> datetime:
    following = (month + timedelta(days=32)).replace(day=1)
    return datetime.combine(following, time(), UTC)
