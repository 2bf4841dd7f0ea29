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


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format: its compressions, and Spark's options for its files.

    compressions: those whose codecs are included in PySpark. strict: options that refuse what cannot be parsed, for
    foreign files too. is_text: files of Spark's writer are read with the writer's options. has_nested: it stores
    arrays, maps and structs. needs_columns: the files lack them, so an external dataset must declare them.
    """

    compressions: tuple[str, ...]
    writing: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    strict: Mapping[str, str] = field(default_factory=dict)
    is_text: bool = False
    has_nested: bool = True
    needs_columns: bool = False


_OF_TEXT = ("none", "uncompressed", "bzip2", "gzip", "lz4", "snappy", "deflate")
FORMATS: Mapping[str, FileFormat] = {
    # Spark's documentation of data source options also lists brotli and lzo for Parquet.
    PARQUET: FileFormat(("none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "zstd")),
    "orc": FileFormat(("none", "uncompressed", "snappy", "zlib", "lz4", "lzo", "zstd")),
    # Never silently lose a line that cannot be parsed, nor match columns by position against the header.
    "csv": FileFormat(
        _OF_TEXT,
        writing=_CSV,
        reading={**_CSV, "multiLine": "true", "positiveInf": "Infinity", "negativeInf": "-Infinity"},
        strict={"mode": "FAILFAST", "enforceSchema": "false"},
        is_text=True,
        has_nested=False,
    ),
    "json": FileFormat(
        _OF_TEXT,
        writing={**_TEMPORAL, "ignoreNullFields": "false"},
        reading=_TEMPORAL,
        strict={"mode": "FAILFAST"},
        is_text=True,
        needs_columns=True,
    ),
}
# Spark reads an unquoted empty field as `nullValue` and a quoted one as text, but reads any text equal to `nullValue`
# as null; so nulls are written as empty fields, and read with a marker (a private-use character) that no text contains.
_NULL_NAME = "\ue000"
# The reader skips empty lines, so in a file with one column a null needs a marker.
_LONE_NULL = "\\N"


def file_format(name: str) -> FileFormat:
    """Return the format of this name. Raises ValueError for an unknown one."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; choose one of {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How a dataset is stored: one of FORMATS, and Spark's writer options (compression, sep, ...).

    warehouse: the base URI of its versions, if different from the configured warehouse.
    """

    format: str = PARQUET
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    warehouse: str | None = None

    def __post_init__(self) -> None:
        file_format(self.format)


def writer_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Return Spark's writer options for a frame with this number of columns."""
    nulls = {"nullValue": "" if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    return {**FORMATS[output.format].writing, **nulls, **output.options}


def reader_options(output: OutputFormat, columns: int) -> dict[str, str]:
    """Return Spark's reader options that reverse writer_options; stored with the version."""
    nulls = {"nullValue": _NULL_NAME if columns > 1 else _LONE_NULL} if output.format == "csv" else {}
    stored = FORMATS[output.format]
    given = output.options if stored.is_text else {}
    return {**stored.strict, **stored.reading, **nulls, **given}


def null_marker(output: OutputFormat, columns: int) -> str | None:
    """Return the text that the reader takes for null; None if the options choose it, or the format needs none."""
    if output.format != "csv" or "nullValue" in output.options:
        return None
    return reader_options(output, columns)["nullValue"]


def foreign_reader_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's reader options for external files: the declared ones, without silent loss unless requested."""
    return {**(FORMATS[format].strict if format in FORMATS else {}), **options}
