"""Traverse a plan bottom-up; subqueries on demand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.spark.column_lineage.expressions import Environment, Expressions
from headrace.spark.column_lineage.frames import Frame, Scope
from headrace.spark.column_lineage.values import NOTHING, Node, Value, add

Reader = Callable[..., Frame]  # the plan, the node, the frame below, the frames under it, the scope


class OutOfBudget(Exception):
    """Reading the plan takes too many steps, or the result is too large."""


class Plan:
    """A plan as exported by PlanText.

    inputs: their names, by number. max_steps: how many values and sources are read at most. readers: the tracing
    function for each node type; other: for any other type.
    """

    def __init__(
        self,
        exported: Mapping[str, Any],
        inputs: Sequence[str],
        max_steps: int,
        readers: Mapping[str, Reader],
        other: Reader,
    ) -> None:
        self.nodes: Sequence[Node] = exported["nodes"]
        self.names: Mapping[str, str] = exported["attributes"]
        self.structured = frozenset(exported["structured"])
        self._output: Sequence[int] = exported["output"]
        self._columns: Sequence[str] = exported["names"]
        self.inputs = inputs
        self._steps_left = max_steps
        self._readers = readers
        self._other = other
        self._scopes: dict[int, list[int]] = defaultdict(list)
        self.definitions: dict[int, Node] = {}
        self.loops: dict[int, Frame] = {}
        for place, node in enumerate(self.nodes):
            self._scopes[node["x"]].append(place)
            if node["c"] == "CTERelationDef":
                self.definitions[node["d"]] = node
        self.read: dict[int, tuple[Frame, Scope]] = {}

    def columns(self) -> tuple[list[tuple[str, Value]], Scope]:
        """Return the output columns in order with their values, and what all rows depend on. Raises OutOfBudget."""
        frame, scope = self.scope(0, {})
        values = [frame.values.get(attribute, NOTHING) for attribute in self._output]
        return list(zip(self._columns, values, strict=True)), scope

    def scope(self, number: int, outer: Mapping[int, Value]) -> tuple[Frame, Scope]:
        """Trace the root node of a query or subquery. outer: the values in the enclosing scope. Raises OutOfBudget."""
        scope = Scope(outer)
        frames: dict[int, Frame] = {}
        place = -1
        for place in self._scopes[number]:
            node = self.nodes[place]
            inner = [frames.pop(child) for child in node.get("k", ()) if child in frames]
            frames[place] = self._node(node, inner, scope)
            self._count(frames[place].values.values())
        return frames[place], scope

    def _count(self, values: Iterable[Value]) -> None:
        """Count values that were read, and their sources: work, not time, so that the same plan is always known."""
        self._steps_left -= sum(1 + len(value.sources) for value in values)
        if self._steps_left < 0:
            raise OutOfBudget("the plan is too large")

    def _node(self, node: Node, under: list[Frame], scope: Scope) -> Frame:
        below = frozenset().union(*(each.below for each in under))
        values: Environment = {}
        for each in under:
            values = {**values, **each.values} if values else each.values
        read = self._readers.get(node["c"], self._other)
        return read(self, node, Frame(values, below), under, scope)

    def expressions(self, node: Node, frame: Frame, scope: Scope) -> Expressions:
        """Return the expressions of a node, over the output of the nodes below."""

        def known(attribute: int) -> Value:
            found = frame.values.get(attribute)
            return scope.outer[attribute] if found is None else found

        def subquery(number: int, output: Sequence[int]) -> tuple[list[Value], Value, frozenset[str]]:
            inner, of = self.scope(number, {**scope.outer, **frame.values})
            depends = dict(of.whole)
            add(depends, of.multiplied)
            scope.notes.update(of.notes)
            return [inner.values[each] for each in output], Value(depends), inner.below

        return Expressions(node.get("e", ()), known, subquery, frame.below, self.inputs, self._count)
