"""The state of a trace: of one node, and of the enclosing query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headrace.catalog.column_lineage import Subtype
from headrace.spark.column_lineage.expressions import Environment
from headrace.spark.column_lineage.values import Key, Sources, Value, add


@dataclass(slots=True)
class Scope:
    """A query or subquery being traced: what all of its rows depend on, and remarks about them.

    multiplied: additional dependencies of how often a row occurs (the length of an exploded array).
    """

    outer: Mapping[int, Value]
    whole: dict[Key, bool] = field(default_factory=dict)
    multiplied: dict[Key, bool] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def include(self, other: Scope) -> None:
        """Add the row dependencies of another scope."""
        add(self.whole, other.whole)
        add(self.multiplied, other.multiplied)
        self.notes.update(other.notes)

    def depend(
        self, values: Iterable[Value], how: Subtype, expression: str, *, multiplying: bool = False
    ) -> None:
        """Add values that all rows depend on. multiplying: they only determine how often a row occurs."""
        for value in values:
            if value.doubt:
                self.notes[f"which rows there are depends on {value.doubt.reason}"] = None
            add(self.multiplied if multiplying else self.whole, _as(value.sources, how, expression))


@dataclass(frozen=True, slots=True)
class Frame:
    """The state of a node: the values of its output attributes, and the inputs of its rows."""

    values: Environment
    below: frozenset[str] = frozenset()


def _as(sources: Sources, how: Subtype, expression: str) -> dict[Key, bool]:
    found: dict[Key, bool] = {}
    for (input, path, _, _), masked in sources.items():
        key = (input, path, how, expression)
        found[key] = found.get(key, True) and masked
    return found
