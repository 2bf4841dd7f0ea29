"""Where a declaration was written: file, field lines, and the base folder of its file names."""

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

    line_of: the line of a field, or of the closest one around it that exists. text_at: where the text of a field
    begins (line, indentation), which for a YAML block is the line below its key. within: the field that all others
    are in, where the declaration is a part of another.
    """

    file: Path
    root: Path
    line_of: Callable[[FieldPath], int]
    text_at: Callable[[FieldPath], tuple[int, int]]
    within: tuple[str | int, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that `.sql` and `.py` names are relative to."""
        return self.file.parent

    @property
    def declared_at(self) -> str:
        """`assets/flights/defs.yaml:12`."""
        file = self.file.relative_to(self.root) if self.file.is_relative_to(self.root) else self.file
        return f"{file}:{self.line}"

    @property
    def line(self) -> int:
        """The line where the declaration begins."""
        return self.line_of(self.within)

    def part(self, *field: str | int) -> Origin:
        """The place of the part of this declaration that is at `field`."""
        return replace(self, within=(*self.within, *field))

    def error(self, field: FieldPath, message: str, hint: str | None = None) -> DeclarationError:
        """What is wrong with a field of this declaration."""
        whole = (*self.within, *field)
        return DeclarationError(self.file, self.line_of(whole), self.name(field), message, hint)

    def name(self, field: FieldPath) -> str | None:
        """The dotted name of a field, None for the declaration as a whole."""
        return ".".join(str(part) for part in (*self.within, *field)) or None

    def text(self, field: FieldPath, value: str) -> SourceText:
        """`value`, SQL written in a field, with its place."""
        line, indent = self.text_at((*self.within, *field))
        return SourceText(value, self.file, line, indent)


def in_python(file: Path, root: Path, line: int) -> Origin:
    """The origin of a declaration made in Python: every field is at the same line."""
    return Origin(file, root, lambda _: line, lambda _: (line, 0))
