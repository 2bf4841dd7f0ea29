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
# Never silently lose a line that does not parse, nor take columns by position when the header says otherwise.
_STRICT: Mapping[str, Mapping[str, str]] = {
    "csv": {"mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}
# Spark reads an unquoted empty field as `nullValue` and a quoted one as text, but takes any text equal to
# `nullValue` for null; so nulls are written as nothing, and read under a name (a private-use character) that
# no text has.
_NULL_NAME = "\ue000"
# A line with nothing on it is skipped by the reader, so in a file of one column a null needs a sign.
_LONE_NULL = "\\N"

FORMATS = frozenset(_WRITING)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How a dataset is stored: one of FORMATS, and Spark's writer options for it (compression, sep, ...).

    warehouse: the URI below which its versions lie, where that is not the settings' warehouse.
    """

    format: str = PARQUET
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    warehouse: str | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"unknown format {self.format!r}; choose one of {', '.join(sorted(FORMATS))}")


def writer_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Spark's writer options for a frame of that many columns."""
    nulls = {"nullValue": "" if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    return {**_WRITING[output.format], **nulls, **output.options}


def reader_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Spark's reader options that give back what writer_options wrote; kept with the version."""
    nulls = {"nullValue": _NULL_NAME if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    given = {} if output.format in (PARQUET, "orc") else output.options
    return {**_STRICT.get(output.format, {}), **_READING[output.format], **nulls, **given}


def foreign_reader_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Spark's reader options for files that somebody else wrote: theirs, and no silent loss unless they ask for it."""
    return {**_STRICT.get(format, {}), **options}
