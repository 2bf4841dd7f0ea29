"""The part of a lineage that is drawn."""

from __future__ import annotations

from typing import Any

from headrace.pages.lineage.folding import MAX_EXPANDED, MAX_NEIGHBOURS, MAX_NODES, Fold, Node, graph


def _walk(direction: str, nodes: dict[str, int], *edges: tuple[str, str]) -> dict[str, Any]:
    """An answer of the API. nodes: the hidden neighbours of each, by id."""
    return {
        "direction": direction,
        "nodes": [
            {"id": each, "kind": "DATASET", "key": each, "hidden": hidden} for each, hidden in nodes.items()
        ],
        "edges": [
            {"source": source, "target": target, "role": "CONSUMES", "condition": None}
            for source, target in edges
        ],
    }


def _fan(number: int, hidden: int = 0) -> dict[str, Any]:
    names = [f"n{each:04}" for each in range(number)]
    return _walk("down", {"a": hidden, **dict.fromkeys(names, 0)}, *(("a", name) for name in names))


def test_both_directions_are_joined() -> None:
    found = graph(
        "b", [_walk("up", {"b": 0, "a": 2}, ("a", "b")), _walk("down", {"b": 0, "c": 1}, ("b", "c"))], {}, 1
    )

    assert found.nodes == (
        Node("a", "DATASET", "a", -1, Fold(0, 2), None),
        Node("b", "DATASET", "b", 0, Fold(1, 1), Fold(1, 1)),
        Node("c", "DATASET", "c", 1, None, Fold(0, 1)),
    )
    assert [(edge.source, edge.target) for edge in found.edges] == [("a", "b"), ("b", "c")]


def test_many_neighbours_are_folded_and_expanded() -> None:
    folded = graph("a", [_fan(100, hidden=900)], {}, 1)
    expanded = graph("a", [_fan(100, hidden=900)], {"down": {"a"}}, 1)

    assert folded.nodes[0].downstream == Fold(MAX_NEIGHBOURS, 1000)
    assert [node.key for node in folded.nodes[1:3]] == ["n0000", "n0001"]
    assert expanded.nodes[0].downstream == Fold(MAX_EXPANDED, 1000)


def test_an_expanded_node_has_the_neighbours_of_its_own_walk() -> None:
    first = _walk("down", {"a": 0, "b": 3}, ("a", "b"))
    more = _walk("down", {"b": 0, "c": 0, "d": 0, "e": 1}, ("b", "c"), ("b", "d"), ("b", "e"))

    found = graph("a", [first, more], {"down": {"b"}}, 1)

    assert {node.key: node.downstream for node in found.nodes} == {
        "a": Fold(1, 1),
        "b": Fold(3, 3),
        "c": Fold(0, 0),
        "d": Fold(0, 0),
        "e": Fold(0, 1),
    }


def test_the_number_of_nodes_is_limited() -> None:
    nodes = {"a": 0}
    edges = []
    for one in range(12):
        for other in range(60):
            nodes |= {f"p{one}": 0, f"p{one}-{other}": 0}
            edges += [("a", f"p{one}"), (f"p{one}", f"p{one}-{other}")]

    found = graph("a", [_walk("down", nodes, *edges)], {"down": {f"p{one}" for one in range(12)}}, 1)

    assert len(found.nodes) == MAX_NODES
    last = next(node for node in found.nodes if node.key == "p9")
    assert last.downstream == Fold(0, 60)


def test_a_cycle_ends() -> None:
    walk = _walk("down", {"a": 0, "b": 0}, ("a", "b"), ("b", "a"))

    assert [(node.key, node.step) for node in graph("a", [walk], {}, 2).nodes] == [("a", 0), ("b", 1)]


def test_a_process_and_what_it_writes_are_one_step() -> None:
    walk = _walk("down", dict.fromkeys("apbqc", 0), ("a", "p"), ("p", "b"), ("b", "q"), ("q", "c"))
    for node in walk["nodes"]:
        node["kind"] = "PROCESS" if node["id"] in "pq" else "DATASET"

    assert [node.key for node in graph("a", [walk], {}, 1).nodes] == ["a", "p", "b"]
    assert [node.key for node in graph("a", [walk], {}, 2).nodes] == ["a", "p", "b", "q", "c"]
    assert [node.key for node in graph("p", [walk], {}, 1).nodes] == ["p", "b"]
    assert [node.key for node in graph("a", [walk], {"down": {"b"}}, 1).nodes] == ["a", "p", "b", "q", "c"]
