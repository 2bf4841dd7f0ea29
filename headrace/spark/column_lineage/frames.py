"""The state of a trace: of one node, and of the query around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headrace.catalog.column_lineage import Subtype
from headrace.spark.column_lineage.expressions import Environment
from headrace.spark.column_lineage.values import Key, Sources, Value, add


@dataclass(slots=True)
class Scope:
    """A query or subquery while it is read: what all of its rows depend on, and what can be said of them only in words.

    multiplied: what decides how often a row is there, besides (the length of an array that is exploded).
    """

    outer: Mapping[int, Value]
    whole: dict[Key, bool] = field(default_factory=dict)
    multiplied: dict[Key, bool] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def include(self, other: Scope) -> None:
        """What another scope's rows depend on, this one's do as well."""
        add(self.whole, other.whole)
        add(self.multiplied, other.multiplied)
        self.notes.update(other.notes)

    def depend(
        self, values: Iterable[Value], how: Subtype, expression: str, *, multiplying: bool = False
    ) -> None:
        """All rows depend on these values. multiplying: they only decide how often a row is there."""
        for value in values:
            if value.doubt:
                self.notes[f"which rows there are depends on {value.doubt.reason}"] = None
            add(self.multiplied if multiplying else self.whole, _as(value.sources, how, expression))


@dataclass(frozen=True, slots=True)
class Frame:
    """What is known of a node: the values of the attributes that it gives, and the inputs that its rows come from."""

    values: Environment
    below: frozenset[str] = frozenset()


def _as(sources: Sources, how: Subtype, expression: str) -> dict[Key, bool]:
    found: dict[Key, bool] = {}
    for (input, path, _, _), masked in sources.items():
        key = (input, path, how, expression)
        found[key] = found.get(key, True) and masked
    return found
