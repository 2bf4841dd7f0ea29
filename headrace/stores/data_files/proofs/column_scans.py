"""Prove checks by reading single columns of written Parquet files in this process, with Arrow.

Arrow evaluates patterns, lists, lengths and unique keys in a fraction of the CPU time that Spark takes. A proof needs
no count: a check that is not proven here is counted by Spark (`readback`), whose results are the only ones reported.
Columns beyond the limits are left to Spark's executors too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.catalog.records import Check
from headrace.checks.predicates import pattern_text, starting_pattern
from headrace.files.filesystem import Files, StoredFile
from headrace.stores.data_files.footers import LEGACY_CALENDAR, top_level
from headrace.stores.data_files.proofs.regular_expressions import re2_pattern

_MAX_SCANNED = 512 << 20  # bytes of a column before compression; scanned in batches
_MAX_KEYS = 256 << 20  # bytes of the columns of a key before compression; held in memory
_BATCH_ROWS = 1 << 17

# Types whose values are equal in Spark exactly when they are in Arrow: not numbers with NaN and -0.0, nor nested ones.
_KEY_TYPES = frozenset(["boolean", "tinyint", "smallint", "int", "bigint", "decimal", "string", "binary"])
_KEY_TIMES = frozenset(["date", "timestamp", "timestamp_ntz"])

_Meets = Callable[[pa.Array], pa.Array]


def none_fails(files: Files, stored: Sequence[StoredFile], column: str, checks: Sequence[Check]) -> set[str]:
    """Return the names of those row checks of a text column that no row of the files fails."""
    conditions = {check.name: meets for check in checks if (meets := _condition(check)) is not None}
    if not conditions or _size(files, stored, [column]) > _MAX_SCANNED:
        return set()
    for values in _batches(files, stored, column):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:  # Spark writes any bytes as text, and has its own way to read them
            return set()
        for name, meets in list(conditions.items()):
            if not _all_meet(meets, values):
                del conditions[name]
        if not conditions:
            break
    return set(conditions)


def is_unique(
    files: Files, stored: Sequence[StoredFile], columns: Sequence[str], types: Mapping[str, str]
) -> bool:
    """Return True if it is certain that no key occurs twice in the files; nulls are equal, as in Spark."""
    columns = list(dict.fromkeys(columns))
    bases = {types[name].partition("(")[0] for name in columns}
    if bases - _KEY_TYPES - _KEY_TIMES or _size(files, stored, columns) > _MAX_KEYS:
        return False
    parts = []
    for file in stored:
        with files.open(file.path) as source:
            parquet = pq.ParquetFile(source)
            # Two days of the Julian calendar may be one when Spark reads them.
            if bases & _KEY_TIMES and LEGACY_CALENDAR in (parquet.metadata.metadata or {}):
                return False
            parts.append(parquet.read(columns=columns))
    keys = pa.concat_tables(parts)
    if any(pa.types.is_timestamp(kind) and kind.unit != "us" for kind in keys.schema.types):
        return False
    if len(columns) == 1:
        return bool(len(pc.unique(keys.column(0))) == keys.num_rows)
    return bool(keys.group_by(columns).aggregate([]).num_rows == keys.num_rows)


def _batches(files: Files, stored: Sequence[StoredFile], column: str) -> Iterator[pa.Array]:
    for file in stored:
        with files.open(file.path) as source:
            for batch in pq.ParquetFile(source).iter_batches(_BATCH_ROWS, columns=[column]):
                yield batch.column(0)


def _size(files: Files, stored: Sequence[StoredFile], columns: Sequence[str]) -> float:
    """Return the columns' bytes before compression; infinite if a file does not have them at its top level."""
    size = 0
    for file in stored:
        with files.open(file.path) as source:
            metadata = pq.read_metadata(source)
        places = top_level(metadata)
        if not places.keys() >= set(columns):
            return float("inf")
        for group in range(metadata.num_row_groups):
            size += sum(
                metadata.row_group(group).column(places[name]).total_uncompressed_size for name in columns
            )
    return size


def _all_meet(meets: _Meets, values: pa.Array) -> bool:
    """Return True if all values but nulls meet the condition; False too where Arrow cannot evaluate it."""
    try:
        return bool(pc.all(meets(values), min_count=0).as_py())
    except pa.ArrowInvalid:  # a pattern beyond RE2's limits
        return False


def _condition(check: Check) -> _Meets | None:
    """Return the condition of `predicates` for Arrow; None if it may differ."""
    p = check.parameters
    match check.kind:
        case "isin" | "equal_to":
            return _in(p.get("allowed_values", [p.get("value")]))
        case "notin" | "not_equal_to":
            within = _in(p.get("forbidden_values", [p.get("value")]))
            return within and (lambda values: pc.or_kleene(pc.invert(within(values)), pc.is_null(values)))
        case "str_startswith":
            return lambda values: pc.starts_with(values, p["string"])
        case "str_endswith":
            return lambda values: pc.ends_with(values, p["string"])
        case "str_length":
            return lambda values: _within(pc.utf8_length(values), p)
        case "str_matches":
            return _matching(re2_pattern(starting_pattern(p["pattern"])))
        case "str_contains":
            return _matching(re2_pattern(pattern_text(p["pattern"])))
    return None


def _in(allowed: Sequence[object]) -> _Meets | None:
    if not all(isinstance(value, str) for value in allowed):  # a null in a list makes Spark's answer null
        return None
    known = pa.array(allowed, pa.string())
    return lambda values: pc.or_kleene(pc.is_in(values, known), pc.is_null(values))


def _matching(pattern: str | None) -> _Meets | None:
    return None if pattern is None else (lambda values: pc.match_substring_regex(values, pattern))


def _within(lengths: pa.Array, parameters: Mapping[str, Any]) -> pa.Array:
    exact = parameters.get("exact_value")
    low, high = (
        (parameters.get("min_value"), parameters.get("max_value")) if exact is None else (exact, exact)
    )
    meets = pc.greater_equal(lengths, low or 0)
    return meets if high is None else pc.and_(meets, pc.less_equal(lengths, high))
