"""The nodes of a lineage that match a filter, the others folded; and the group of each node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from headrace.access.callers import domain_of
from headrace.pages.lineage.folding import Edge, Graph, Node

Grouping = Literal["domain", "box", "technology"]
FOLDED = "FOLDED"  # the kind of a node that stands for others


def filtered(graph: Graph, wanted: Collection[str]) -> Graph:
    """Return the graph of the start and the wanted nodes. The others are folded: those between the same nodes, or
    behind the same ones, are one node with their number, so that what is connected stays so."""
    shown = {graph.start, *wanted}
    before, after = _neighbours(graph)
    place = {node.id: node.id for node in graph.nodes if node.id in shown}
    folds: dict[tuple[frozenset[str], frozenset[str]], list[Node]] = {}
    for node in graph.nodes:
        if node.id not in shown:
            sides = _nearest(node.id, before, shown), _nearest(node.id, after, shown)
            folds.setdefault(sides, []).append(node)
    nodes = [node for node in graph.nodes if node.id in shown]
    for number, folded in enumerate(folds.values()):
        name = f"folded-{number}"
        place.update(dict.fromkeys((each.id for each in folded), name))
        step = min((each.step for each in folded), key=abs)
        nodes.append(Node(name, FOLDED, f"{len(folded)} not matching", step, None, None, folded=len(folded)))
    nodes.sort(key=lambda node: (node.step, node.key, node.kind))
    edges = {
        (source, target): Edge(source, target, each.role, each.condition)
        for each in graph.edges
        if (source := place[each.source]) != (target := place[each.target])
    }
    return Graph(graph.start, tuple(nodes), tuple(edges.values()))


def groups(graph: Graph, by: Grouping) -> dict[str, str]:
    """Return the groups of the nodes that have one. A process is in the domain of what it writes, or else reads; a
    dataset in the box or technology of the process that writes it; folded nodes are beside a neighbour."""
    own = {node.id: group for node in graph.nodes if (group := _own(node, by))}
    before, after = _neighbours(graph)
    found = dict(own)
    for node in sorted(graph.nodes, key=lambda each: each.folded > 0):
        known, both = (found, True) if node.folded else (own, by == "domain")
        beside = [*after[node.id], *before[node.id]] if both else before[node.id]
        near = next((known[each] for each in beside if each in known), None)
        if near:
            found.setdefault(node.id, near)
    return found


def _own(node: Node, by: Grouping) -> str | None:
    match by:
        case "domain":
            return domain_of(node.key) if node.kind == "DATASET" else None
        case "box":
            return node.box
        case "technology":
            return node.technology


def _neighbours(graph: Graph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the nodes before and after each node, in the order of the nodes."""
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    before: dict[str, list[str]] = {each: [] for each in places}
    after: dict[str, list[str]] = {each: [] for each in places}
    for source, target in sorted(
        {(each.source, each.target) for each in graph.edges},
        key=lambda edge: (places[edge[0]], places[edge[1]]),
    ):
        after[source].append(target)
        before[target].append(source)
    return before, after


def _nearest(node: str, beside: Mapping[str, Collection[str]], shown: Collection[str]) -> frozenset[str]:
    """Return the shown nodes that are reached over folded ones only."""
    found: set[str] = set()
    seen, open_ = {node}, [node]
    while open_:
        for each in beside[open_.pop()]:
            if each in shown:
                found.add(each)
            elif each not in seen:
                seen.add(each)
                open_.append(each)
    return frozenset(found)
