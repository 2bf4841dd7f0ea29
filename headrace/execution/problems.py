"""Errors in a declaration or its code, with messages that say how to fix them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

_ROOT: ContextVar[Path | None] = ContextVar("headrace_project_root", default=None)


@dataclass
class DeclarationError(Exception):
    """An invalid declaration: file, line and field, the problem, and its solution.

    line counts from 1, in `file`; field is the dotted path inside the attributes (`partitions.start`), or None for the
    whole document or file.
    """

    file: Path
    line: int
    field: str | None
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{place(self.file, self.line)}: {self.field + ': ' if self.field else ''}{self.message}"
        return f"{text}\n  {self.hint}" if self.hint else text


class TransformError(Exception):
    """A transform with invalid code; the message begins with file:line."""

    def __init__(self, file: Path, line: int, message: str, hint: str | None = None) -> None:
        self.file = file
        self.line = line
        self.detail = message
        self.hint = hint
        text = f"{place(file, line)}: {message}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class SqlError(TransformError):
    """SQL that cannot be parsed, or analysed by Spark; the message shows the line and marks the column."""

    def __init__(
        self,
        file: Path,
        line: int,
        column: int,
        message: str,
        excerpt: str,
        hint: str | None = None,
        indent: int = 0,
    ) -> None:
        self.column = column + indent
        pointer = " " * max(column - 1, 0) + "^"
        super().__init__(file, line, f"{message} (column {self.column})\n    {excerpt}\n    {pointer}", hint)


class UnknownParameter(Exception):
    """A transform used a parameter that its run does not have."""


class GrowthChanged(Exception):
    """The published version grew in another way than the declaration now states."""


class NotIncremental(Exception):
    """An input or the result of a transform does not have what `incremental` names."""


@contextmanager
def relative_to(root: Path) -> Iterator[None]:
    """Name files below `root` relative to it within the block."""
    token = _ROOT.set(root)
    try:
        yield
    finally:
        _ROOT.reset(token)


def place(file: Path, line: int) -> str:
    """Format `assets/flights/defs.yaml:12`: relative to the project, or to the working directory, if it is inside."""
    for base in (_ROOT.get(), Path.cwd()):
        if base is not None and file.is_relative_to(base):
            return f"{file.relative_to(base)}:{line}"
    return f"{file}:{line}"
