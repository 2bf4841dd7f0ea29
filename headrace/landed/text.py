"""Count the rows of external text files, and check them against the declaration."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TextIO

from headrace.catalog.records import Column
from headrace.catalog.schema import sensitive

_DECOMPRESSING: Mapping[str, Callable[[BinaryIO], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_BITS: Mapping[str, int] = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_OF_JSON: Mapping[str, Collection[type]] = {
    "float": (int, float, str),  # text such as "NaN"
    "double": (int, float, str),
    "decimal": (int, float, str),
    "boolean": (bool,),
    "date": (str,),
    "timestamp": (str, int),
    "timestamp_ntz": (str,),
    "binary": (str,),
    "array": (list,),
    "map": (dict,),
    "struct": (dict,),
}


class DeclarationMismatch(Exception):
    """A file does not read as declared; the message explains how."""


def csv_rows(
    file: BinaryIO, name: str, columns: Sequence[Column], options: Mapping[str, str]
) -> tuple[int, list[str]]:
    """Return the row count of a CSV file and its column names: from its header, otherwise the declared ones.

    name: the file's name, whose extension gives the compression. Raises DeclarationMismatch for non-text.
    """
    declared = [column.name for column in columns]
    try:
        rows = csv.reader(_text(file, name, options), delimiter=options.get("sep", ","))
        first = next(rows, [])
        count = sum(1 for row in rows if row)
        if options.get("header") == "true":
            return count, first
        # Spark's default names.
        return count + bool(first), declared or [f"_c{i}" for i in range(len(first))]
    except (UnicodeDecodeError, csv.Error, OSError, EOFError) as error:
        raise DeclarationMismatch(str(error)) from error


def json_rows(
    file: BinaryIO, name: str, columns: Sequence[Column], options: Mapping[str, str]
) -> tuple[int, set[str]]:
    """Return the row count of a JSON file, and all undeclared names in it.

    Raises DeclarationMismatch for non-text, a line that is not an object, and a value that is incompatible with its
    column's type, as far as the kind of JSON value shows: a text may still not be a valid date.
    """
    types, hidden = {column.name: column.type for column in columns}, sensitive(columns)
    count, unknown = 0, set[str]()
    try:
        for place, row in _objects(_text(file, name, options), options):
            if not isinstance(row, dict):
                raise DeclarationMismatch(f"{place} is not an object")
            for field, value in row.items():
                if field not in types:
                    unknown.add(field)
                elif value is not None and not _takes(types[field], value):
                    shown = "of another kind" if field in hidden else json.dumps(value)[:40]
                    raise DeclarationMismatch(
                        f"{place}: {field} is declared as {types[field]}, and is {shown}"
                    )
            count += 1
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise DeclarationMismatch(str(error)) from error
    return count, unknown


def _text(file: BinaryIO, name: str, options: Mapping[str, str]) -> TextIO:
    for ending, opened in _DECOMPRESSING.items():
        if name.endswith(ending):
            file = opened(file)
    return io.TextIOWrapper(file, encoding=options.get("encoding", "utf-8"), newline="")


def _objects(text: TextIO, options: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file with their places."""
    if options.get("multiLine") == "true":
        found = _parsed(text.read(), "the file")
        for number, value in enumerate(found if isinstance(found, list) else [found], 1):
            yield f"row {number}", value
        return
    for number, line in enumerate(text, 1):
        if line.strip():
            yield f"line {number}", _parsed(line, f"line {number}")


def _parsed(text: str, place: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DeclarationMismatch(f"{place} is not valid JSON: {error}") from error


def _takes(type_: str, value: object) -> bool:
    """Return True if Spark's reader accepts a JSON value for this type; a text column accepts any."""
    kind = type_.partition("(")[0].partition("<")[0]
    if kind in _BITS:
        limit = 1 << (_BITS[kind] - 1)
        return type(value) is int and -limit <= value < limit
    return kind not in _OF_JSON or type(value) in _OF_JSON[kind]
