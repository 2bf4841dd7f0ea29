"""Parquet footers: row counts, and each column's nulls, minimum and maximum."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.checks.summary import Bounds, Summary
from headrace.files.filesystem import Files, StoredFile
from headrace.spark.errors import StoreUnavailable

# Spark's marker of files whose days before 1582 are in the Julian calendar (datetimeRebaseModeInWrite=LEGACY).
LEGACY_CALENDAR = b"org.apache.spark.legacyDateTime"


def read_footers(files: Files, stored: Iterable[StoredFile], columns: Iterable[str]) -> Summary:
    """Read the combined footers of the files for these top-level columns (nested ones have no bounds).

    Raises StoreUnavailable if a file cannot be read.
    """
    wanted = frozenset(columns)
    parts = [_footer(_metadata(files, file), wanted) for file in stored]
    return Summary(
        sum(part.row_count for part in parts),
        {name: _merged([part.columns[name] for part in parts]) for name in wanted},
    )


def top_level(metadata: pq.FileMetaData) -> dict[str, int]:
    """Return the positions of a file's columns by name, without nested ones.

    Names with dots are also omitted, since a footer uses the same notation for nested fields.
    """
    paths = (metadata.schema.column(place).path for place in range(metadata.num_columns))
    return {path: place for place, path in enumerate(paths) if "." not in path}


def _metadata(files: Files, file: StoredFile) -> pq.FileMetaData:
    with files.open(file.path) as source:
        try:
            return pq.read_metadata(source)
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreUnavailable(
                f"{file.path} was written and does not read back as Parquet. Run again."
            ) from error


def _footer(metadata: pq.FileMetaData, wanted: frozenset[str]) -> Summary:
    places = top_level(metadata)
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    old_days = LEGACY_CALENDAR in (metadata.metadata or {})

    def bounds(name: str) -> Bounds:
        if name not in places:
            return Bounds(metadata.num_rows, None)
        merged = _merged([_bounds(group.column(places[name]), group.num_rows) for group in groups])
        if old_days and isinstance(merged.minimum, dt.date):
            return Bounds(merged.row_count, merged.null_count)
        return merged

    return Summary(metadata.num_rows, {name: bounds(name) for name in wanted})


def _bounds(chunk: pq.ColumnChunkMetaData, row_count: int) -> Bounds:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None:
        return Bounds(row_count, None)
    nulls = statistics.null_count if statistics.has_null_count else None
    if not statistics.has_min_max:
        return Bounds(row_count, nulls)
    try:
        minimum, maximum = statistics.min, statistics.max
    except (OverflowError, ValueError):  # a date that Python cannot represent
        return Bounds(row_count, nulls)
    # Spark orders NaN above every number; writers include it in the bounds or omit it.
    nan = isinstance(maximum, float) and (math.isnan(maximum) or math.isnan(minimum))
    if nan or isinstance(minimum, bytes):
        return Bounds(row_count, nulls)
    return Bounds(row_count, nulls, minimum, maximum)


def _merged(parts: list[Bounds]) -> Bounds:
    """Merge bounds of disjoint sets of rows: unknown for one means unknown for all."""
    if len(parts) == 1:
        return parts[0]
    counts = [part.null_count for part in parts if part.null_count is not None]
    rows, nulls = sum(part.row_count for part in parts), sum(counts) if len(counts) == len(parts) else None
    valued = [part for part in parts if not part.all_null]
    if not valued or any(part.minimum is None for part in valued):
        return Bounds(rows, nulls)
    return Bounds(
        rows,
        nulls,
        min(part.minimum for part in valued),
        max(part.maximum for part in valued),
    )
