"""Track lines inserted into a file by moving whole blocks, instead of updating each job's line number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from headrace.catalog.scans import KnownProcess, Place


class TextPosition(NamedTuple):
    """A process whose text is unchanged, and its current position."""

    process: KnownProcess
    file: str
    text_line: int

    @property
    def by(self) -> int | None:
        """Number of lines by which it has moved; None if it has come from another file."""
        return self.text_line - (self.process.text_line or 0) if self.file == self.process.file else None

    @property
    def place(self) -> Place:
        """The place to store."""
        one = self.process
        line = (one.line or 0) - (one.text_line or 0) + self.text_line
        return Place(self.file, line, self.text_line, one.text_digest, one.lost or (), one.block)


def moves(texts: Iterable[TextPosition]) -> tuple[dict[int, int], list[TextPosition]]:
    """Return by how many lines each block has moved (as most of its texts have), and the texts that moved
    differently."""
    blocks: dict[int, list[TextPosition]] = {}
    for text in texts:
        blocks.setdefault(text.process.block or 0, []).append(text)
    moved: dict[int, int] = {}
    apart: list[TextPosition] = []
    for block, together in blocks.items():
        ways = [text.by for text in together]
        by = Counter(ways).most_common(1)[0][0]
        if by:
            moved[block] = by
        apart += [text for text, way in zip(together, ways, strict=True) if way is None or way != by]
    return moved, apart
