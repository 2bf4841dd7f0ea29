"""The place of a declaration: file, field lines, and the base folder of its file names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.execution.problems import DeclarationError
from headrace.execution.sql import SourceText

FieldPath = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of one declaration.

    line_of: the line of a field, or of the closest existing one around it. text_at: the start of a field's text (line,
    indentation), which for a YAML block is the line below its key. within: the field that contains all others, if the
    declaration is a part of another.
    """

    file: Path
    root: Path
    line_of: Callable[[FieldPath], int]
    text_at: Callable[[FieldPath], tuple[int, int]]
    within: tuple[str | int, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder to which `.sql` and `.py` names are relative."""
        return self.file.parent

    @property
    def declared_at(self) -> str:
        """`assets/flights/defs.yaml:12`."""
        file = self.file.relative_to(self.root) if self.file.is_relative_to(self.root) else self.file
        return f"{file}:{self.line}"

    @property
    def line(self) -> int:
        """The first line of the declaration."""
        return self.line_of(self.within)

    def part(self, *field: str | int) -> Origin:
        """Return the place of the part of this declaration at `field`."""
        return replace(self, within=(*self.within, *field))

    def error(self, field: FieldPath, message: str, hint: str | None = None) -> DeclarationError:
        """Create an error of a field of this declaration."""
        whole = (*self.within, *field)
        return DeclarationError(self.file, self.line_of(whole), self.name(field), message, hint)

    def name(self, field: FieldPath) -> str | None:
        """Return the dotted name of a field, None for the whole declaration."""
        return ".".join(str(part) for part in (*self.within, *field)) or None

    def text(self, field: FieldPath, value: str) -> SourceText:
        """Return SQL written in a field, with its place."""
        line, indent = self.text_at((*self.within, *field))
        return SourceText(value, self.file, line, indent)


def in_python(file: Path, root: Path, line: int) -> Origin:
    """Return the origin of a declaration made in Python: every field is on the same line."""
    return Origin(file, root, lambda _: line, lambda _: (line, 0))
