"""The shortest paths between two nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from headrace.queries.graph.paths import MAX_NODES, Ends, Paths, search


@dataclass(frozen=True)
class Numbered:
    """The steps of a graph of numbered datasets."""

    pairs: frozenset[tuple[int, int]]

    def reached(self, nodes: Collection[UUID], up: bool) -> Iterable[UUID]:
        return [step["far"] for step in self.edges(nodes, up)]

    def edges(self, nodes: Collection[UUID], up: bool) -> list[dict[str, Any]]:
        steps = ((other, one) if up else (one, other) for one, other in self.pairs)
        return [
            {"near": UUID(int=near), "far": UUID(int=far), "role": "DERIVES", "condition": None}
            for near, far in steps
            if UUID(int=near) in nodes
        ]

    def named(self, nodes: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
        return {each: ("DATASET", f"d{each.int:05}") for each in nodes}


def searched(edges: Iterable[tuple[int, int]], source: int, target: int) -> Paths:
    """The paths in a graph of numbered datasets."""
    return search(Ends(UUID(int=source), UUID(int=target)), Numbered(frozenset(edges)))


EDGES = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(EDGES, st.integers(0, 9), st.integers(0, 9))
def test_the_nodes_and_edges_are_those_of_all_shortest_paths(
    edges: set[tuple[int, int]], source: int, target: int
) -> None:
    graph = nx.DiGraph(edges)
    graph.add_nodes_from((source, target))
    found = searched(edges, source, target)

    if not nx.has_path(graph, source, target):
        assert (found.steps, found.nodes, found.truncated) == (None, (), False)
        return
    paths = list(nx.all_shortest_paths(graph, source, target))
    assert found.steps == len(paths[0]) - 1
    assert {each.id.int: each.step for each in found.nodes} == {
        node: step for path in paths for step, node in enumerate(path)
    }
    assert {(each.source.int, each.target.int) for each in found.edges} == {
        edge for path in paths for edge in nx.utils.pairwise(path)
    }


def test_of_very_many_paths_some_whole_ones_are_returned() -> None:
    wide = [(0, each) for each in range(1, 1001)] + [(each, 2000) for each in range(1, 1001)]
    found = searched(wide, 0, 2000)

    assert (found.count, len(found.nodes)) == (1002, MAX_NODES)
    assert found.nodes[-1].id == UUID(int=2000)
    assert len(found.edges) == 2 * (MAX_NODES - 2)


def test_a_search_that_ends_before_all_is_seen_says_so() -> None:
    chain = [(each, each + 1) for each in range(1000)]

    found = searched(chain, 0, 1000)
    assert (found.steps, found.truncated) == (None, True)
    assert searched(chain, 0, 200).steps == 200
