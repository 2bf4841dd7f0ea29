"""The first rows of Parquet files as JSON values, by Arrow: milliseconds, where Spark starts a JVM first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.access.sensitivity import MASK
from headrace.catalog.records import Version
from headrace.files.opening import files_for, files_without_spark
from headrace.stores.data_files.first_rows import SPOKEN, first_batches, is_plain
from headrace.stores.data_files.reading import require_complete
from headrace.stores.protocol import JsonRow

_NUMBERS = frozenset(["tinyint", "smallint", "int", "bigint", "float", "double"])
_TIMES = frozenset(["date", "timestamp", "timestamp_ntz"])


def local_rows(
    versions: Sequence[Version], names: Sequence[str], hidden: frozenset[str], count: int
) -> list[JsonRow] | None:
    """Return up to `count` rows with the columns `names`, in the form of `display.rows`, with `hidden` ones masked.

    None if Spark is needed, for another format, filesystem or type, or for versions of different columns. Raises
    CorruptInput.
    """
    if not all(_is_readable(version) for version in versions):
        return None
    columns = {column.name: column.type for column in versions[0].columns}
    if any({column.name: column.type for column in each.columns} != columns for each in versions):
        return None
    require_complete(None, versions)
    found: list[JsonRow] = []
    try:
        for version in versions:
            if len(found) == count:
                break
            files, types = files_for(version.location, None), {name: columns[name] for name in names}
            for batch in first_batches(files, version, list(types), count - len(found)):
                found += json_rows(batch, types, hidden)
    except (
        pa.ArrowException,
        OverflowError,
        ValueError,
    ):  # a value or type that Arrow or Python cannot represent
        return None
    return found


def _is_readable(version: Version) -> bool:
    return is_plain(version) and version.location != "" and files_without_spark(version.location) is not None


def json_rows(batch: pa.RecordBatch, types: Mapping[str, str], hidden: frozenset[str]) -> Iterator[JsonRow]:
    """Yield the rows of a batch with columns of Spark's types, `hidden` ones masked.

    Raises ArrowException, OverflowError, ValueError for a value that has no JSON.
    """
    values = [_json_values(batch.column(name), type) for name, type in types.items()]
    for row in zip(*values, strict=True):
        yield _masked(dict(zip(types, row, strict=True)), hidden)


def _json_values(values: pa.Array, type: str) -> list[Any]:
    """Convert values as Spark's to_json does with display.TO_THE_MICROSECOND."""
    if type in _TIMES:
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("us"))
        zone = "Z" if type == "timestamp" else ""
        options = {"timespec": "microseconds"} if type != "date" else {}
        return [None if each is None else each.isoformat(**options) + zone for each in values.to_pylist()]
    if type in _NUMBERS or type.startswith("decimal"):
        texts = pc.cast(values, pa.string()).to_pylist()
        return [None if text is None else SPOKEN.get(text) or json.loads(text) for text in texts]
    found: list[Any] = values.to_pylist()
    return found


def _masked(row: JsonRow, hidden: frozenset[str]) -> JsonRow:
    return {name: MASK if name in hidden and value is not None else value for name, value in row.items()}
