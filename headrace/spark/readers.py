"""Functions of a project that read formats which Spark does not: declared as `module:function`.

A reader takes the session, the locations of the files (`file:///feeds/a.dat`) and the declared options, and returns a
frame. Most of its work happens later, in Spark's Python processes, so its exceptions come when the frame is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.catalog.records import Column
from headrace.spark.errors import ReaderFailed, ResourceError, SchemaMismatch, UnusableFunction
from headrace.spark.failures import explained
from headrace.spark.project_functions import project_function
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Reader = Callable[[SparkSession, list[str], Mapping[str, str]], DataFrame]

READER = "reader"  # of a version's metadata, and of a declaration

_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:: .*)?$")
_CALLED = "An error occurred while calling"
_PACKAGE = re.compile(r"^(?:[a-z]\w*\.)+")
_PLACE = re.compile(r"\b(?:record|line|row)(?: number)? \d+\b", re.IGNORECASE)


def frame_of(
    session: SparkSession, reference: str, files: Sequence[str], options: Mapping[str, str]
) -> DataFrame:
    """Return the frame that a reader makes of the files.

    Raises UnusableFunction if there is no such function, ReaderFailed with its own exception as the cause.
    """
    from pyspark.sql import DataFrame

    read: Reader = project_function(reference)
    try:
        with explained(files[0] if files else reference):
            frame = read(session, list(files), options)
    except ResourceError:
        raise
    except Exception as error:  # whatever the project's code raises
        raise ReaderFailed(f"{reference}: {message_of(error, shown=False)}") from error
    if not isinstance(frame, DataFrame):
        raise UnusableFunction(f"{reference} returned {type(frame).__name__}. Let it return a DataFrame.")
    return frame


def columns_of(frame: DataFrame) -> tuple[Column, ...]:
    """Return the columns of a frame."""
    return tuple(
        Column(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema.fields
    )


def with_columns(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the columns of the frame, whose names are compared without case, converted to these types.

    Raises SchemaMismatch if one is missing.
    """
    found = {column.name.lower(): column for column in columns_of(frame)}
    missing = [column.name for column in columns if column.name.lower() not in found]
    if missing:
        raise SchemaMismatch(
            f"The reader returns no column {', '.join(missing)}. It has changed since the files were observed: "
            "correct it, or the declaration."
        )
    from pyspark.sql import functions as F

    return frame.select(
        *(
            (value if own.type == each.type else value.cast(each.type)).alias(each.name)
            for each in columns
            for own in [found[each.name.lower()]]
            for value in [F.col(quoted(own.name))]
        )
    )


def message_of(error: BaseException, *, shown: bool) -> str:
    """Return what a reader's exception says, in one line.

    shown: whether messages may quote values; otherwise only its type and the number of the record are kept.
    """
    if isinstance(error, ReaderFailed) and error.__cause__ is not None:
        error = error.__cause__
    kind, _, message = _raised(error).partition(": ")
    if shown:
        return f"{kind}: {message}" if message else kind
    place = _PLACE.search(message)
    return f"{kind}{f' at {place[0]}' if place else ''} (its message may contain values)"


def _raised(error: BaseException) -> str:
    """Return the type and message of an exception; of one in Spark's Python process, those of the original."""
    text = str(error)
    _, traced, trace = text.rpartition("Traceback (most recent call last):")
    if traced:
        raised = next((line for line in trace.splitlines() if _RAISED.match(line)), None)
        if raised is not None:
            return raised
    java = [line for line in text.splitlines() if line.startswith((": ", "Caused by: "))]
    if text.startswith(_CALLED) and java:  # py4j names the call; the innermost cause says why
        return _PACKAGE.sub("", java[-1].removeprefix("Caused by").removeprefix(": "))
    first = next(iter(text.strip().splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
