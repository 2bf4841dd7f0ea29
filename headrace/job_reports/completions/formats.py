"""The formats of completion files: JSON, key=value and CSV, parsed to the fields of each report with their lines."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from headrace.job_reports.completions.fields import ALIASES, is_empty

_PAIR = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*[=:]\s*(.*?)\s*")
_BLANK = re.compile(r"[\s,]*")
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[][{},]')
_CLOSED_BY = {"{": "}", "[": "]"}
_DELIMITERS = ",;\t|"
_ABOUT = {"process", "dataset"}


class Form(StrEnum):
    """Format of a completion file."""

    JSON = "JSON"
    KEY_VALUE = "key=value"
    CSV = "CSV"
    EMPTY = "empty"


class Entry(NamedTuple):
    """The non-empty fields of one report, and its problems.

    line: from 1. element: its index, from 1, in an array.
    """

    line: int
    fields: dict[str, Any]
    problem: str | None = None
    element: int | None = None


def form_of(text: str) -> Form | None:
    """Return the apparent format of the text; None if it is none of them."""
    start = text.lstrip()
    if not start:
        return Form.EMPTY
    if start[0] in "{[":
        return Form.JSON
    first = next((line for line in start.splitlines() if not _is_remark(line)), "")
    if not first:
        return Form.EMPTY
    names = {_name(cell) for cell in first.split(_delimiter(first))}
    if len(names) > 1 and "status" in names and names & _ABOUT:
        return Form.CSV
    return Form.KEY_VALUE if _PAIR.fullmatch(first) else None


def entries(text: str, form: Form) -> Iterator[Entry]:
    """Yield the reports in a text of this format; an invalid one is an entry with its problem, and the others
    follow."""
    if form is Form.JSON:
        yield from _json_lines(text) if _is_json_lines(text) else _json(text)
    elif form is Form.KEY_VALUE:
        yield from _pairs(text)
    elif form is Form.CSV:
        yield from _rows(text)


def _is_json_lines(text: str) -> bool:
    """Return True for JSON lines: the first line is a complete object, and something follows."""
    first, newline, rest = text.strip().partition("\n")
    if not newline or not rest.strip():
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        # A truncated first line, in a file whose other lines are complete.
        return all(line.startswith("{") and line.rstrip().endswith("}") for line in rest.strip().split("\n"))


def _json_lines(text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield from (entry._replace(line=number) for entry in _json(line))


def _json(text: str) -> Iterator[Entry]:
    """Yield one document, an array of documents, or several in sequence; an invalid one does not affect the others."""
    begin = text.find("[") if text.lstrip().startswith("[") else -1
    end, line, counted, number = begin + 1, 1, 0, 0
    while True:
        start = _BLANK.match(text, end).end()  # type: ignore[union-attr]  # it fits nothing, too
        line, counted = line + text.count("\n", counted, start), start
        if start == len(text):
            if begin >= 0:
                yield Entry(line, {}, "the array is not closed: the file was cut off")
            return
        if begin >= 0 and text[start] == "]":
            begin, end = -1, start + 1
            continue
        number += 1
        element = number if begin >= 0 else None
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (RecursionError, ValueError) as error:  # ValueError also for a number of thousands of digits
            after = _end_of_broken(text, start)
            rest = (
                "; what follows it is not read" if after is None and text[_position(error) :].strip() else ""
            )
            broken = line + text.count("\n", start, _position(error))
            yield Entry(broken, {}, f"it is not valid JSON: {getattr(error, 'msg', error)}{rest}", element)
            if after is None:
                return
            end = after
            continue
        if isinstance(value, dict):
            fields, problem = _fields((f"as {name}", name, item) for name, item in value.items())
            yield Entry(line, fields, problem, element)
        else:
            problem = f"a report is an object in braces, not {type(value).__name__}"
            yield Entry(line, {}, problem, element)


def _position(error: Exception) -> int:
    return error.pos if isinstance(error, json.JSONDecodeError) else 0


def _end_of_broken(text: str, start: int) -> int | None:
    """Return the end of an invalid JSON document, by its brackets; None if they do not match. Strings end with their
    line."""
    opened: list[str] = []
    for piece in _TEXT_OR_BRACKET.finditer(text, start):
        if piece[0] in _CLOSED_BY:
            opened.append(_CLOSED_BY[piece[0]])
        elif piece[0] in ("}", "]"):
            if not opened:
                return piece.start() if piece[0] == "]" else piece.end()
            if opened.pop() != piece[0]:
                return None
            if not opened:
                return piece.end()
        elif piece[0] == "," and not opened:
            return piece.start()
    return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError if a name has two different values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if found[name] != value:
                raise ValueError(f"{name} is given twice: {value!r} and {found[name]!r}")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _pairs(text: str) -> Iterator[Entry]:
    """Yield reports from lines of key=value; a blank line, or one of dashes, begins the next report."""
    begun, reported, stray = 0, list[tuple[str, str, Any]](), None
    for number, line in enumerate([*text.split("\n"), ""], 1):
        bare = line.strip()
        if not bare or not bare.strip("-"):
            if begun:
                fields, problem = _fields(reported)
                yield Entry(begun, fields, stray or problem)
            begun, reported, stray = 0, [], None
        elif not _is_remark(line):
            begun = begun or number
            if found := _PAIR.fullmatch(line):
                reported.append((f"in line {number}", found[1], _value(found[2])))
            else:
                stray = stray or f"line {number} is not a key=value: {bare[:80]!r}"


def _rows(text: str) -> Iterator[Entry]:
    lines = text.split("\n")
    skipped = next(i for i, line in enumerate(lines) if line.strip() and not _is_remark(line))
    rows = csv.reader(lines[skipped:], delimiter=_delimiter(lines[skipped]))
    header = [cell.strip() for cell in next(rows)]
    while True:
        line = skipped + rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Entry(line, {}, f"the row cannot be read: {error}")
            continue
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(header):
            yield Entry(line, {}, f"the row has {len(row)} values, and the header {len(header)} names")
            continue
        cells = zip(header, row, strict=False)
        yield Entry(line, *_fields((f"as {name}", name, _value(cell.strip())) for name, cell in cells))


def _fields(reported: Iterable[tuple[str, str, Any]]) -> tuple[dict[str, Any], str | None]:
    """Group place, name and value by the fields of these names; empty values are ignored.

    Also returns the problems of fields with two different values.
    """
    fields: dict[str, Any] = {}
    places: dict[str, str] = {}
    problem = None
    for place, written, value in reported:
        name = _name(written)
        if is_empty(value):
            continue
        if name not in fields:
            fields[name], places[name] = value, place
        elif fields[name] != value:
            problem = problem or (
                f"{name} is given twice: {str(fields[name])[:80]!r} {places[name]}, {str(value)[:80]!r} {place}"
            )
    return fields, problem


@lru_cache(4096)
def _name(written: str) -> str:
    """Return the field of a name, case-insensitive, with any of -, . and blank for _."""
    name = re.sub(r"[-. ]", "_", written.strip().strip('"').lower())
    return ALIASES.get(name, name)


def _value(written: str) -> Any:  # noqa: ANN401 - JSON
    """Return a value without quotes; JSON values (outputs, schema, metadata) are parsed."""
    if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"":
        return written[1:-1]
    if written[:1] in ("{", "["):
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            return written
    return written


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _is_remark(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
