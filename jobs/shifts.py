"""Lines inserted into a file move what stands below: stretches that have moved as one, in place of each job's line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from catalog.scans import Shift


def shifts(lines: Mapping[str, Iterable[tuple[int, int]]]) -> list[Shift]:
    """The stretches that have moved. lines: by file, where each known text was and is, those that stayed included."""
    return [
        Shift(file, stretch[0][0], stretch[-1][0], by)
        for file, pairs in lines.items()
        for by, group in groupby(sorted(pairs), key=lambda pair: pair[1] - pair[0])
        if by and (stretch := list(group))
    ]
