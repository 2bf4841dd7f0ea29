"""The part of a lineage that is drawn, joined from the answers of the API in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_NODES = 300
MAX_NEIGHBOURS = 12  # of a node that is not expanded, in one direction
MAX_EXPANDED = 60  # neighbours of an expanded one


@dataclass(frozen=True, slots=True)
class Fold:
    """The neighbours of a node in one direction: how many there are, and how many are drawn."""

    shown: int
    total: int

    @property
    def hidden(self) -> int:
        """The number of neighbours that are not drawn."""
        return self.total - self.shown


@dataclass(frozen=True, slots=True)
class Node:
    """A dataset or process. step: the number of edges from the first node, negative upstream. upstream, downstream: its
    neighbours; None in a direction that was not asked for. folded: the number of nodes that it stands for, if any."""

    id: str
    kind: str
    key: str
    step: int
    upstream: Fold | None
    downstream: Fold | None
    owners: tuple[str, ...] = ()
    technology: str | None = None
    box: str | None = None
    migration: str | None = None
    folded: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """Data or a dependency from source to target. condition: that the target waits for, in the scheduler's notation."""

    source: str
    target: str
    role: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes, by step and key, and the edges between them. end: of a path."""

    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    end: str | None = None


@dataclass(slots=True)
class _Side:
    """The known edges of one direction. totals: the number of each node's neighbours, drawn or not."""

    up: bool
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)

    def near(self, edge: Edge) -> str:
        return edge.target if self.up else edge.source

    def far(self, edge: Edge) -> str:
        return edge.source if self.up else edge.target


def graph(
    start: str, walks: Iterable[Mapping[str, Any]], expanded: Mapping[str, set[str]], depth: int
) -> Graph:
    """Join walks (answers of the API about processes) that begin at the start or at expanded nodes.

    expanded: the nodes whose neighbours were asked for, by direction of the API (`up`, `down`). depth: how far to go
    from the start and from those; a process and what it reads or writes are one step.
    """
    sides = {"up": _Side(True), "down": _Side(False)}
    known: dict[str, Mapping[str, Any]] = {}
    for walk in walks:
        _add(sides[walk["direction"]], walk)
        known.update({node["id"]: node for node in walk["nodes"]})
    steps = {start: 0}
    for name, side in sides.items():
        _reach(start, side, known, expanded.get(name, set()), depth, steps)
    edges = {
        key: edge
        for side in sides.values()
        for key, edge in side.edges.items()
        if edge.source in steps and edge.target in steps
    }
    above = Counter(edge.target for edge in edges.values())
    below = Counter(edge.source for edge in edges.values())
    nodes = [
        Node(
            id=each,
            kind=known[each]["kind"],
            key=known[each]["key"],
            step=step,
            upstream=_fold(each, sides["up"], above),
            downstream=_fold(each, sides["down"], below),
            owners=tuple(known[each].get("owners", ())),
            technology=known[each].get("technology"),
            box=known[each].get("box"),
            migration=known[each].get("migration"),
        )
        for each, step in steps.items()
    ]
    nodes.sort(key=lambda node: (node.step, node.key, node.kind))
    return Graph(start, tuple(nodes), tuple(edges[key] for key in sorted(edges)))


def path_graph(start: str, paths: Mapping[str, Any]) -> Graph:
    """Return the graph of the shortest paths (an answer of the API) from or to the start, without folds."""
    offset = next(each["step"] for each in paths["nodes"] if each["id"] == start)
    nodes = tuple(
        Node(each["id"], each["kind"], each["key"], each["step"] - offset, None, None)
        for each in paths["nodes"]
    )
    edges = tuple(
        Edge(each["source"], each["target"], each["role"], each["condition"]) for each in paths["edges"]
    )
    ends = {nodes[0].id, nodes[-1].id} - {start}
    return Graph(start, nodes, edges, *ends)


def _add(side: _Side, walk: Mapping[str, Any]) -> None:
    found = [Edge(each["source"], each["target"], each["role"], each["condition"]) for each in walk["edges"]]
    shown: dict[str, int] = {}
    for edge in found:
        side.edges[edge.source, edge.target, edge.role] = edge
        shown[side.near(edge)] = shown.get(side.near(edge), 0) + 1
    for node in walk["nodes"]:
        total = node["hidden"] + shown.get(node["id"], 0)
        side.totals[node["id"]] = max(total, side.totals.get(node["id"], 0))


def _reach(
    start: str,
    side: _Side,
    known: Mapping[str, Mapping[str, Any]],
    expanded: set[str],
    depth: int,
    steps: dict[str, int],
) -> None:
    """Add the nodes to draw: breadth first, some neighbours of each, those with the least key."""
    far: dict[str, list[str]] = {}
    for edge in side.edges.values():
        far.setdefault(side.near(edge), []).append(side.far(edge))
    frontier, step, passed = [start], 0, {start: 0}
    while frontier:
        step += -1 if side.up else 1
        following: list[str] = []
        for node in frontier:
            limit = MAX_EXPANDED if node in expanded else MAX_NEIGHBOURS
            behind = known[node]["kind"] == "PROCESS" and node != start  # its datasets are no step further
            fresh = sorted(set(far.get(node, ())) - set(steps), key=lambda each: _order(known[each]))
            for each in fresh[: min(limit, MAX_NODES - len(steps))]:
                further = passed[node] + (0 if behind and known[each]["kind"] == "DATASET" else 1)
                if node in expanded:
                    further = min(further, depth)
                if further <= depth:
                    steps[each], passed[each] = step, further
                    following.append(each)
        frontier = following


def _order(node: Mapping[str, Any]) -> tuple[str, str]:
    return node["key"], node["kind"]


def _fold(node: str, side: _Side, drawn: Mapping[str, int]) -> Fold | None:
    if node not in side.totals:
        return None
    shown = drawn.get(node, 0)
    return Fold(shown, max(shown, side.totals[node]))
