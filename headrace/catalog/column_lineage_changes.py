"""Compare the column lineage of two versions, to show the effect of a code change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from headrace.access.sensitivity import Public
from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, is_field


class ChangeKind(StrEnum):
    """Kind of change of a column."""

    ADDED = "ADDED"  # the column is new
    REMOVED = "REMOVED"  # the column was removed
    READS = "READS"  # a new dependency on another column
    NO_LONGER_READS = "NO_LONGER_READS"
    OTHERWISE = "OTHERWISE"  # the same source column, transformed differently
    UNKNOWN = "UNKNOWN"  # known before, unknown now
    KNOWN = "KNOWN"


@dataclass(frozen=True, slots=True)
class LineageChange:
    """A difference. column: '' for row selection. source: the source column."""

    kind: ChangeKind
    column: Public[str]
    source: Public[str | None]
    text: Public[str]


def changes(before: LineageOfOutput, after: LineageOfOutput) -> tuple[LineageChange, ...]:
    """Return all differences from `before` to `after`, by column; none if both are equal."""
    return tuple(_changes(before, after))


def _changes(before: LineageOfOutput, after: LineageOfOutput) -> Iterator[LineageChange]:
    old, new = _columns(before), _columns(after)
    for name, column in new.items():
        if name not in old:
            reads = ", ".join(dict.fromkeys(map(_name, column.sources))) or column.unknown or "no input"
            yield LineageChange(ChangeKind.ADDED, name, None, f"{name}: new, from {reads}")
            continue
        was = old[name]
        if column.unknown is not None and was.unknown is None:
            yield LineageChange(ChangeKind.UNKNOWN, name, None, f"{name}: no longer known: {column.unknown}")
        elif column.unknown is None and was.unknown is not None:
            yield LineageChange(ChangeKind.KNOWN, name, None, f"{name}: now known")
        yield from _sources(name, f"{name}:", was.sources, column.sources)
    for name in old.keys() - new.keys():
        yield LineageChange(ChangeKind.REMOVED, name, None, f"{name}: gone")
    yield from _sources("", "all rows:", before.whole, after.whole)


def _columns(lineage: LineageOfOutput) -> dict[str, ColumnLineage]:
    return {column.column: column for column in lineage.columns if not is_field(column.column)}


def _sources(
    column: str, title: str, before: Iterable[ColumnSource], after: Iterable[ColumnSource]
) -> Iterator[LineageChange]:
    old, new = _ways(before), _ways(after)
    for source, ways in new.items():
        if source not in old:
            text = f"{title} now also {_reads(ways)} {source} ({_words(ways)})"
            yield LineageChange(ChangeKind.READS, column, source, text)
        elif ways != old[source]:
            text = f"{title} {source} is now {_words(ways)}, and was {_words(old[source])}"
            yield LineageChange(ChangeKind.OTHERWISE, column, source, text)
    for source, ways in old.items():
        if source not in new:
            text = f"{title} no longer {_reads(ways)} {source} ({_words(ways)})"
            yield LineageChange(ChangeKind.NO_LONGER_READS, column, source, text)


_Way = tuple[How, str, bool]


def _ways(sources: Iterable[ColumnSource]) -> dict[str, frozenset[_Way]]:
    """Return the transformations by input column; how an expression is written is ignored."""
    found: dict[str, set[_Way]] = {}
    for source in sources:
        found.setdefault(_name(source), set()).add((source.type, source.subtype.value, source.masking))
    return {name: frozenset(ways) for name, ways in found.items()}


def _reads(ways: frozenset[_Way]) -> str:
    return "reads" if any(how is How.DIRECT for how, _, _ in ways) else "depends on"


def _words(ways: frozenset[_Way]) -> str:
    return ", ".join(
        f"{subtype.lower().replace('_', ' ')}{' that masks it' if masking else ''}"
        for _, subtype, masking in sorted(ways)
    )


def _name(source: ColumnSource) -> str:
    return f"{source.input}.{source.column}" if source.column else f"the whole dataset {source.input}"
