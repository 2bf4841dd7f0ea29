"""File formats: their compressions, and Spark's options for their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
# Types that Spark's readers widen themselves, from left to right.
_READ_AS_WIDER = (("tinyint", "smallint", "int", "bigint"), ("float", "double"))


def file_format(name: str) -> FileFormat:
    """Return the format of this name. Raises ValueError for an unknown one."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; choose one of {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


def foreign_reader_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's reader options for external files: the declared ones, without silent loss unless requested."""
    return {**(FORMATS[format].strict if format in FORMATS else {}), **options}


def reads_as(old: str, new: str) -> bool:
    """Return True if Spark's readers read a column of the one type as the other, which has all of its values."""
    return any(old in line and new in line and line.index(old) < line.index(new) for line in _READ_AS_WIDER)
