"""Refuse what a file format would not give back as it was written: some column names, and some values.

Parquet and JSON have no such values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from headrace.catalog.records import Column as DatasetColumn
from headrace.catalog.schema import nested_parts, struct_fields
from headrace.checks.predicates import counted
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted
from headrace.stores.data_files.options import null_marker
from headrace.stores.writes import OutputFormat

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

_PREFIX = "lossy:"
_NAMES: Mapping[str, re.Pattern[str]] = {
    # Spark's reader passes the names to ORC as a type's text, in which a backtick quotes.
    "orc": re.compile("`"),
    # U+0000 ends as a missing character, and a byte order mark at the start of a file is not text.
    "csv": re.compile("\x00|^\ufeff"),
}
# A struct's type is stored as text, in which these end a name.
_UNTYPED = re.compile("[:,<>()`]")
_REASONS: Mapping[str, str] = {
    "orc": "times within the last second before 1970",
    "csv": "the character U+0000, or a text that stands for null",
}
_LAST_SECOND: Mapping[str, tuple[str, str]] = {
    "timestamp": ("TIMESTAMP_LTZ'1969-12-31 23:59:59Z'", "TIMESTAMP_LTZ'1970-01-01 00:00:00Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'1969-12-31 23:59:59'", "TIMESTAMP_NTZ'1970-01-01 00:00:00'"),
}


def require_names(
    dataset: str, output: OutputFormat, columns: Sequence[DatasetColumn], schema: StructType
) -> None:
    """Raise SchemaMismatch for a column or field without a name, or with one by which files cannot be read."""
    refused = _NAMES.get(output.format)
    for name in _field_names(schema):
        if not name or _UNTYPED.search(name) or (refused is not None and refused.search(name)):
            raise SchemaMismatch(
                f"{dataset}: a version cannot be read with a field named {name!r} in a struct. Rename the field."
            )
    for column in columns:
        if not column.name:
            raise SchemaMismatch(f"{dataset}: a column has an empty name. Name it.")
        if refused is not None and refused.search(column.name):
            raise SchemaMismatch(
                f"{dataset}: {output.format} files cannot be read with a column named {column.name!r}. Rename the "
                "column, or use another format."
            )


def _field_names(schema: StructType) -> Iterator[str]:
    """Yield the names of all fields of structs in the columns."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    waiting = [field.dataType for field in schema.fields]
    while waiting:
        match waiting.pop():
            case StructType() as struct:
                yield from struct.names
                waiting += [field.dataType for field in struct.fields]
            case ArrayType() as array:
                waiting.append(array.elementType)
            case MapType() as entries:
                waiting += [entries.keyType, entries.valueType]


def lossy_counts(output: OutputFormat, types: Mapping[str, str], scope: Column) -> list[Column]:
    """Return counts of the values that the files would not keep, by column, for `require_kept`."""
    from pyspark.sql import functions as F

    counts = []
    for number, (name, type) in enumerate(types.items()):
        condition = _lossy(F.col(quoted(name)), type, output, len(types))
        if condition is not None:
            counts.append(counted(scope & condition).alias(f"{_PREFIX}{number}"))
    return counts


def require_kept(
    dataset: str, output: OutputFormat, names: Sequence[str], observed: Mapping[str, object]
) -> None:
    """Raise SchemaMismatch naming the columns whose values the files do not keep, by the counts of the write."""
    lossy = [
        f"{name} ({observed[key]} rows)"
        for number, name in enumerate(names)
        if observed.get(key := f"{_PREFIX}{number}")
    ]
    if lossy:
        raise SchemaMismatch(
            f"{dataset}: {output.format} files do not keep {_REASONS[output.format]}, as in {', '.join(lossy)}. "
            "Replace these values, or use another format."
        )


def _lossy(value: Column, type: str, output: OutputFormat, columns: int) -> Column | None:
    """Return the condition for a value that the format loses; None for a type of which it keeps all values."""
    from pyspark.sql import functions as F

    if output.format == "csv" and type.partition("(")[0] in ("string", "char", "varchar"):
        marker = null_marker(output, columns)
        has_nul = F.contains(value, F.lit("\x00"))
        return has_nul if marker is None else has_nul | (value == marker)
    if output.format != "orc":
        return None
    if type in _LAST_SECOND:
        low, high = _LAST_SECOND[type]
        return (value > F.expr(low)) & (value < F.expr(high))
    if type.startswith("struct<"):
        parts = [
            _lossy(value.getField(name), inner, output, columns)
            for name, inner in struct_fields(type).items()
        ]
        found = [part for part in parts if part is not None]
        return reduce(or_, found) if found else None
    if type.startswith("array<"):
        return _any(value, nested_parts(type)[0], output, columns)
    if type.startswith("map<"):
        key, item = nested_parts(type)
        sides = [
            _any(F.map_keys(value), key, output, columns),
            _any(F.map_values(value), item, output, columns),
        ]
        found = [side for side in sides if side is not None]
        return reduce(or_, found) if found else None
    return None


def _any(values: Column, type: str, output: OutputFormat, columns: int) -> Column | None:
    from pyspark.sql import functions as F

    if "timestamp" not in type:
        return None

    def lossy(each: Column) -> Column:
        condition = _lossy(each, type, output, columns)
        return F.lit(False) if condition is None else condition

    return F.exists(values, lossy)
