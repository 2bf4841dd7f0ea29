"""Spark's options by which a written frame reads back exactly."""

from __future__ import annotations

from headrace.files.formats import FORMATS
from headrace.stores.writes import OutputFormat

# Spark reads an unquoted empty field as `nullValue` and a quoted one as text, but reads any text equal to `nullValue`
# as null; so nulls are written as empty fields, and read with a marker (a private-use character) that no text contains.
_NULL_NAME = "\ue000"
# The reader skips empty lines, so in a file with one column a null needs a marker.
_LONE_NULL = "\\N"


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
