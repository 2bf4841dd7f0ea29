"""Tables used by DB2 procedures, from a CSV listing: procedure, object, access."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO

from headrace.autosys.findings import Finding
from headrace.estates.tools import Direction
from headrace.severity import Severity

_COLUMNS = ("procedure", "object", "access")
_ACCESS: Mapping[str, tuple[Direction, ...]] = {
    **dict.fromkeys(("r", "read", "reads", "select"), (Direction.READS,)),
    **dict.fromkeys(
        ("w", "write", "writes", "insert", "update", "delete", "merge", "load", "truncate"),
        (Direction.WRITES,),
    ),
    **dict.fromkeys(("rw", "read/write", "both"), (Direction.READS, Direction.WRITES)),
    **dict.fromkeys(("call", "calls", "execute"), ()),
}


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table used by a procedure."""

    table: str
    direction: Direction
    access: str
    line: int


@dataclass(slots=True)
class ListedProcedure:
    """A procedure in a listing: its first line, the tables that it uses, the procedures that it calls."""

    procedure: str
    file: str
    line: int
    uses: list[TableUse] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


def read_listing(text: str, file: str) -> tuple[tuple[ListedProcedure, ...], tuple[Finding, ...]]:
    """Parse a listing; returns its procedures, and the invalid rows by line and column."""
    findings: list[Finding] = []
    found: dict[str, ListedProcedure] = {}
    for line, row in _rows(text, file, findings):
        procedure, table, access = (row[column] for column in _COLUMNS)
        missing = next((column for column in _COLUMNS if not row[column]), None)
        if missing is not None:
            findings.append(_lost(file, line, missing, "has no value", procedure or None))
            continue
        if access.lower() not in _ACCESS:
            message = f"{access!r} is not an access; there are {', '.join(_ACCESS)}"
            findings.append(_lost(file, line, "access", message, procedure))
            continue
        listed = found.setdefault(procedure, ListedProcedure(procedure, file, line))
        directions = _ACCESS[access.lower()]
        listed.uses += [TableUse(table, direction, access, line) for direction in directions]
        if not directions:
            listed.calls.append(table)
    return tuple(found.values()), tuple(findings)


def _rows(text: str, file: str, findings: list[Finding]) -> Iterator[tuple[int, Mapping[str, str]]]:
    lines = csv.reader(StringIO(text), strict=False)
    header = [name.strip().lower() for name in next(lines, [])]
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        what = f"the first line has no column {', '.join(missing)}; a listing has {', '.join(_COLUMNS)}"
        findings.append(
            Finding("db2/no-listing", Severity.ERROR, what, file, 1, hint="nothing is read of it")
        )
        return
    while True:
        line = lines.line_num + 1
        try:
            row = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            findings.append(_lost(file, line, None, str(error), None))
            continue
        if any(row):
            yield (
                line,
                {name: value.strip() for name, value in zip(header, row, strict=False)}
                | dict.fromkeys(header[len(row) :], ""),
            )


def _lost(file: str, line: int, column: str | None, message: str, subject: str | None) -> Finding:
    return Finding("db2/row", Severity.ERROR, message, file, line, subject, column, "the row is skipped")
