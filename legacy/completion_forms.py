"""The forms of completion files: JSON, key=value and CSV text as the fields of each report, with its line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from legacy.report_fields import ALIASES

_PAIR = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*[=:]\s*(.*?)\s*")
_BLANK = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_DELIMITERS = ",;\t|"
_ABOUT = {"process", "dataset"}


class Form(StrEnum):
    """How a completion file is written."""

    JSON = "JSON"
    KEY_VALUE = "key=value"
    CSV = "CSV"
    EMPTY = "empty"


class Entry(NamedTuple):
    """The fields of one report as written, or what is wrong with it; line: from 1."""

    line: int
    fields: dict[str, Any]
    problem: str | None = None


def form_of(text: str) -> Form | None:
    """The form that the text seems to have; None when it is none of them."""
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
    """The reports in a text of this form; a wrong one is an entry with its problem, and the others follow."""
    if form is Form.JSON:
        yield from _json_lines(text) if _is_json_lines(text) else _json(text)
    elif form is Form.KEY_VALUE:
        yield from _pairs(text)
    elif form is Form.CSV:
        yield from _rows(text)


def _is_json_lines(text: str) -> bool:
    """One object a line: the first line is an object as a whole, and something follows."""
    first, newline, rest = text.strip().partition("\n")
    if not newline or not rest.strip():
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        # A first line that is cut off, in a file whose other lines are whole.
        return all(line.startswith("{") and line.rstrip().endswith("}") for line in rest.strip().split("\n"))


def _json_lines(text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield from (entry._replace(line=number) for entry in _json(line))


def _json(text: str) -> Iterator[Entry]:
    """One document, an array of documents, or several one after the other."""
    begin = text.find("[") if text.lstrip().startswith("[") else -1
    end, line, counted = begin + 1, 1, 0
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
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            rest = "; what follows it is not read" if text[error.pos :].strip() else ""
            yield Entry(line + text.count("\n", start, error.pos), {}, f"it is no JSON: {error.msg}{rest}")
            return
        except (RecursionError, ValueError) as error:  # a number of thousands of digits
            yield Entry(line, {}, f"it is no JSON that can be read: {error}")
            return
        if isinstance(value, dict):
            yield Entry(line, {_name(name): item for name, item in value.items()})
        else:
            yield Entry(line, {}, f"a report is an object in braces, not {type(value).__name__}")


def _pairs(text: str) -> Iterator[Entry]:
    """Lines of key=value; a blank line, or one of dashes, begins the next report."""
    begun, fields, problem = 0, dict[str, Any](), None
    for number, line in enumerate([*text.split("\n"), ""], 1):
        bare = line.strip()
        if not bare or not bare.strip("-"):
            if begun:
                yield Entry(begun, fields, problem)
            begun, fields, problem = 0, {}, None
        elif not _is_remark(line):
            begun = begun or number
            found = _PAIR.fullmatch(line)
            if found is None:
                problem = problem or f"line {number} is no key=value: {bare[:80]!r}"
            else:
                fields[_name(found[1])] = _value(found[2])


def _rows(text: str) -> Iterator[Entry]:
    lines = text.split("\n")
    skipped = next(i for i, line in enumerate(lines) if line.strip() and not _is_remark(line))
    rows = csv.reader(lines[skipped:], delimiter=_delimiter(lines[skipped]))
    header = [_name(cell) for cell in next(rows)]
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
        yield Entry(line, {name: _value(cell.strip()) for name, cell in zip(header, row, strict=False)})


@lru_cache(4096)
def _name(written: str) -> str:
    """The field that a name means, in any case, with any of -, . and blank for _."""
    name = re.sub(r"[-. ]", "_", written.strip().strip('"').lower())
    return ALIASES.get(name, name)


def _value(written: str) -> Any:  # noqa: ANN401 - JSON
    """A value without its quotes; one that is JSON itself (outputs, schema, metadata) as what it says."""
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
