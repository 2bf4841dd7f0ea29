"""The nodes of a lineage that match a filter, and the groups of nodes."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from headrace.pages.lineage.folding import Edge, Graph, Node
from headrace.pages.lineage.grouping import filtered, groups


def made(*edges: str, nodes: str = "", boxes: dict[str, str] | None = None) -> Graph:
    """A graph of edges such as `aB`, from the first node; a capital letter is a process."""
    names = sorted({*nodes, *"".join(edges)})
    return Graph(
        names[0],
        tuple(
            Node(each, "PROCESS" if each.isupper() else "DATASET", f"{each}/x", 0, None, None,
                 box=(boxes or {}).get(each))
            for each in names
        ),
        tuple(Edge(each[0], each[1], "CONSUMES", None) for each in edges),
    )  # fmt: skip


def folds(graph: Graph) -> dict[str, int]:
    return {node.id: node.folded for node in graph.nodes if node.folded}


def test_nodes_between_the_same_ones_are_folded_into_one() -> None:
    found = filtered(made("ab", "ac", "ad", "be", "ce", "df"), {"e"})

    assert sorted(folds(found).values()) == [2, 2]
    assert sorted(node.key for node in found.nodes) == ["2 not matching", "2 not matching", "a/x", "e/x"]
    assert len(found.edges) == 3


def test_a_graph_in_which_all_match_is_unchanged() -> None:
    graph = made("ab", "bc")

    assert filtered(graph, {"a", "b", "c"}) == graph


PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20)


@given(PAIRS, st.sets(st.integers(0, 8)))
def test_folding_connects_what_was_connected_and_makes_no_cycle(
    pairs: list[tuple[int, int]], wanted: set[int]
) -> None:
    edges = {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}
    nodes = "abcdefghi"
    graph = made(*(nodes[one] + nodes[other] for one, other in edges), nodes=nodes)
    found = filtered(graph, {nodes[each] for each in wanted})

    whole = nx.DiGraph([(each.source, each.target) for each in graph.edges])
    whole.add_nodes_from(nodes)
    drawn = nx.DiGraph([(each.source, each.target) for each in found.edges])
    drawn.add_nodes_from(each.id for each in found.nodes)
    assert nx.is_directed_acyclic_graph(drawn)
    assert sum(node.folded or 1 for node in found.nodes) == len(nodes)
    shown = [node.id for node in found.nodes if not node.folded]
    for one in shown:
        assert nx.descendants(whole, one) & set(shown) == nx.descendants(drawn, one) & set(shown)


def test_the_groups_of_datasets_and_processes() -> None:
    graph = made("rL", "Lm", "mT", boxes={"L": "NIGHT"})

    assert groups(graph, "domain") == {"r": "r", "L": "m", "m": "m", "T": "m"}
    assert groups(graph, "box") == {"L": "NIGHT", "m": "NIGHT"}
