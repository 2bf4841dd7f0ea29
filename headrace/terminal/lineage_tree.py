"""Lineage as a tree in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.tree import Tree

    from headrace.queries.graph.process_lineage import ProcessLineage
    from headrace.queries.rows import Lineage, VersionLineage, VersionNode


@dataclass(frozen=True, slots=True)
class Graph:
    """Datasets by key, each with a label and its neighbours, in the direction away from the first."""

    root: str
    labels: Mapping[str, str]
    further: Mapping[str, Sequence[str]]
    truncated: bool


def process_graph(found: ProcessLineage, root: str) -> Graph:
    """Return the graph of a process's lineage; root: its key."""
    labels = {node.key: node.key + (f" (+{node.hidden})" if node.hidden else "") for node in found.nodes}
    keys = {node.id: node.key for node in found.nodes}
    edges = [
        (keys[edge.source], keys[edge.target])
        for edge in found.edges
        if edge.source in keys and edge.target in keys
    ]
    return Graph(root, labels, _further(edges, found.direction), found.truncated)


def dataset_graph(found: Lineage) -> Graph:
    """Return the graph of a dataset's lineage."""
    labels = {node.key: node.key + (f" (+{node.hidden})" if node.hidden else "") for node in found.nodes}
    edges = [(edge.source, edge.target) for edge in found.edges]
    return Graph(found.key, labels, _further(edges, found.direction), found.truncated)


def version_graph(found: VersionLineage) -> Graph:
    """Combine the versions of each dataset, so that the lineage of a day and of a year both fit a screen."""
    grouped: dict[str, list[VersionNode]] = {}
    for node in found.nodes:
        grouped.setdefault(node.version.dataset, []).append(node)
    of = {node.version.version_id: node.version.dataset for node in found.nodes}
    edges = [(of[edge.source], of[edge.target]) for edge in found.edges]
    labels = {key: f"{key} {_named(nodes)}" for key, nodes in grouped.items()}
    return Graph(found.key, labels, _further(edges, found.direction), found.truncated)


def _named(nodes: Sequence[VersionNode]) -> str:
    hidden = sum(node.hidden for node in nodes)
    more = f" (+{hidden})" if hidden else ""
    if len(nodes) > 1:
        keys = sorted(str(node.version.partition) for node in nodes)
        return f"{len(nodes):,} versions, {keys[0]} to {keys[-1]}{more}"
    place = f"[{nodes[0].version.partition}] " if nodes[0].version.partition is not None else ""
    outcome = "" if nodes[0].outcome == "PUBLISHED" else f" {nodes[0].outcome}"
    return f"{place}{nodes[0].version.tag}{outcome}{more}"


def _further(edges: Sequence[tuple[str, str]], direction: str) -> dict[str, list[str]]:
    further: dict[str, list[str]] = {}
    for source, target in dict.fromkeys(edges):
        near, far = (target, source) if direction == "up" else (source, target)
        further.setdefault(near, []).append(far)
    return further


def tree(graph: Graph) -> Tree:
    """Build the tree; a dataset that occurs twice is expanded at its first occurrence."""
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(graph.labels[graph.root], style="bold"))
    spelt: set[str] = {graph.root}
    waiting = [(graph.root, root)]
    while waiting:
        key, branch = waiting.pop(0)
        for other in sorted(graph.further.get(key, ())):
            if other not in graph.labels or other == graph.root:
                continue
            again = other in spelt and other in graph.further
            child = branch.add(Text(graph.labels[other] + (" (see above)" if again else "")))
            if other not in spelt:
                spelt.add(other)
                waiting.append((other, child))
    return root
