"""File formats: options that make a written frame read back exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

PARQUET = "parquet"

_TEMPORAL: Mapping[str, str] = {
    "dateFormat": "yyyy-MM-dd",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
_CSV: Mapping[str, str] = {
    **_TEMPORAL,
    "header": "true",
    "quote": '"',
    "escape": '"',
    "lineSep": "\n",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
_WRITING: Mapping[str, Mapping[str, str]] = {
    PARQUET: {},
    "orc": {},
    "csv": _CSV,
    "json": {**_TEMPORAL, "ignoreNullFields": "false"},
}
_READING: Mapping[str, Mapping[str, str]] = {
    PARQUET: {},
    "orc": {},
    "csv": {**_CSV, "multiLine": "true", "positiveInf": "Infinity", "negativeInf": "-Infinity"},
    "json": _TEMPORAL,
}
# Never silently lose a line that cannot be parsed, nor match columns by position against the header.
_STRICT: Mapping[str, Mapping[str, str]] = {
    "csv": {"mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}
# Spark reads an unquoted empty field as `nullValue` and a quoted one as text, but reads any text equal to `nullValue`
# as null; so nulls are written as empty fields, and read with a marker (a private-use character) that no text contains.
_NULL_NAME = "\ue000"
# The reader skips empty lines, so in a file with one column a null needs a marker.
_LONE_NULL = "\\N"

FORMATS = frozenset(_WRITING)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How a dataset is stored: one of FORMATS, and Spark's writer options (compression, sep, ...).

    warehouse: the base URI of its versions, if different from the configured warehouse.
    """

    format: str = PARQUET
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    warehouse: str | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"unknown format {self.format!r}; choose one of {', '.join(sorted(FORMATS))}")


def writer_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Return Spark's writer options for a frame with this number of columns."""
    nulls = {"nullValue": "" if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    return {**_WRITING[output.format], **nulls, **output.options}


def reader_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Return Spark's reader options that reverse writer_options; stored with the version."""
    nulls = {"nullValue": _NULL_NAME if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    given = {} if output.format in (PARQUET, "orc") else output.options
    return {**_STRICT.get(output.format, {}), **_READING[output.format], **nulls, **given}


def null_marker(output: OutputFormat, columns: int) -> str | None:
    """Return the text that the reader takes for null; None if the options choose it, or the format needs none."""
    if output.format != "csv" or "nullValue" in output.options:
        return None
    return reader_options(output, columns)["nullValue"]


def foreign_reader_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's reader options for external files: the declared ones, without silent loss unless requested."""
    return {**_STRICT.get(format, {}), **options}
