"""Output: rich tables for people, JSON for scripts."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from headrace.nouns import counted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

STYLES = {
    "PUBLISHED": "green",
    "SUCCESS": "green",
    "PASS": "green",
    "OK": "green",
    "REPAIRED": "cyan",
    "WARNING": "yellow",
    "PROBLEM": "red",
    "UNKNOWN": "dim",
    "RUNNING": "cyan",
    "WARN": "yellow",
    "SUPERSEDED": "yellow",
    "QUEUED": "cyan",
    "HELD": "yellow",
    "SKIPPED": "yellow",
    "FORCED": "yellow",
    "BYPASSED": "yellow",
    "TERMINATED": "red",
    "FAIL": "red",
    "FAILED": "red",
    "BLOCKED": "red",
    "BREAKING": "red",
    "LATE": "red",
    "LOST": "red",
    "ON_TRACK": "green",
    "MET": "green",
    "AT_RISK": "yellow",
    "MET_LATE": "yellow",
    "PAUSED": "cyan",
    "MISSED": "red",
}
PIPE_WIDTH = 200  # columns, if no terminal sets them
MAX_WIDTH = 10_000  # columns
FOLDED_WIDTH = 40  # columns for text, where identifiers alone fill the line


def console(width: int | None = None) -> Console:
    """Return a console on the current standard output, which is read on each call, so that it follows a redirection.

    width: columns; by default those of COLUMNS or the terminal.
    """
    from rich.console import Console

    # Rich itself reads COLUMNS, and otherwise asks the terminal.
    if width is None and not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        width = PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False)


def show(*parts: RenderableType) -> None:
    """Print renderables, one below the other.

    A table with longer identifiers than a line has room is printed as one block for each row.
    """
    from rich.table import Table

    out = console()
    for part in parts:
        wide = _least_width(part, out) > out.width
        for block in _blocks(part) if wide and isinstance(part, Table) and part.show_header else [part]:
            least = _least_width(block, out)
            (out if least <= out.width else console(least + FOLDED_WIDTH)).print(block)


def _least_width(part: RenderableType, out: Console) -> int:
    """Return the columns that the longest identifiers need."""
    from rich.measure import Measurement

    return Measurement.get(out, out.options.update(max_width=MAX_WIDTH), part).minimum


def _blocks(wide: Table) -> Iterator[Table]:
    """Yield each row of a table as names and values, one below the other."""
    names = [str(column.header) for column in wide.columns]
    for row in zip(*(column.cells for column in wide.columns), strict=True):
        block = facts(zip(names, row, strict=True))
        block.add_row()
        yield block


def emit(value: object) -> None:
    """Print `value` as JSON: rows as objects, times in ISO 8601."""
    from pydantic_core import to_jsonable_python

    sys.stdout.write(json.dumps(to_jsonable_python(value), indent=2, ensure_ascii=False) + "\n")


def write_text(text: str, file: Path | None) -> None:
    """Write a text to a file, complete or not at all; without a file, to standard output."""
    if file is None:
        sys.stdout.write(text)
        return
    draft = file.with_name(f".{file.name}.part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    """Create a table without lines between rows. A column whose name begins with `#` is right-aligned.

    A column of single words (keys, tags, states) is never folded: an identifier in pieces cannot be copied.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[cell if isinstance(cell, Text) else text(cell) for cell in row] for row in rows]
    for place, name in enumerate(columns):
        result.add_column(
            name.removeprefix("#"),
            justify="right" if name.startswith("#") else "left",
            overflow="fold",
            no_wrap=not any(" " in row[place].plain for row in cells),
        )
    for row in cells:
        result.add_row(*row)
    return result


def facts(pairs: Iterable[tuple[str, object]]) -> Table:
    """Lay out names and values in two columns, without pairs that have no value."""
    from rich.table import Table
    from rich.text import Text

    result = Table.grid(padding=(0, 2))
    result.add_column(style="dim")
    result.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", (), [], {}):
            result.add_row(name, value if isinstance(value, Text) else text(value))
    return result


def text(value: object) -> Text:
    """Format a value for a cell; statuses are coloured, markup in data is escaped."""
    from rich.text import Text

    if value is None:
        return Text("-", style="dim")
    if isinstance(value, datetime):
        return Text(moment(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    if isinstance(value, UUID):
        return Text(str(value))
    if isinstance(value, list | tuple | frozenset | set):
        return Text(", ".join(str(item) for item in value))
    if isinstance(value, Mapping):
        return Text(", ".join(f"{key}={item}" if item else str(key) for key, item in value.items()))
    return Text(str(value), style=STYLES.get(str(value), ""))


def moment(value: datetime | None) -> str:
    """Format a time in UTC to the second."""
    return "-" if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def ago(value: datetime | None, now: datetime | None = None) -> str:
    """Format a time relative to now: `5 min ago`, `in 3 h`."""
    if value is None:
        return "-"
    seconds = ((now or datetime.now(UTC)) - value).total_seconds()
    length = span(timedelta(seconds=abs(seconds)))
    return f"{length} ago" if seconds >= 0 else f"in {length}"


def span(length: timedelta) -> str:
    """Format a duration in its largest unit."""
    seconds = length.total_seconds()
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def total(counts: Iterable[int | None]) -> int | None:
    """Return the sum, or None if one of the counts is unknown."""
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def row_count_text(count: int | None) -> str:
    """Format a number of rows."""
    return "an unknown number of rows" if count is None else counted(count, "row")


def size(count: int | None) -> str:
    """Format a number of bytes."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
