"""The layout of lineage: what holds for every graph."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.pages.lineage.layout import GAP_Y, HEIGHT, WIDTH, Drawing, drawing

Graph = tuple[list[str], list[tuple[str, str]]]


@st.composite
def graphs(draw: st.DrawFn, acyclic: bool = False) -> Graph:
    nodes = [f"n{number}" for number in range(draw(st.integers(0, 14)))]
    if not nodes:
        return [], []
    one = st.integers(0, len(nodes) - 1)
    pairs = draw(st.lists(st.tuples(one, one), max_size=40))
    if acyclic:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    return draw(st.permutations(nodes)), [(nodes[source], nodes[target]) for source, target in pairs]


def _overlaps(found: Drawing) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, a), (other, b) in combinations(found.places.items(), 2)
        if abs(a.x - b.x) < WIDTH and abs(a.y - b.y) < HEIGHT + GAP_Y - 0.2
    ]


@given(graphs())
def test_nodes_do_not_overlap_and_are_within_the_drawing(graph: Graph) -> None:
    found = drawing(*graph)

    assert not _overlaps(found)
    for place in found.places.values():
        assert 0 <= place.x <= found.width - WIDTH
        assert 0 <= place.y <= found.height - HEIGHT


@given(graphs(acyclic=True))
def test_edges_go_from_left_to_right(graph: Graph) -> None:
    for line in drawing(*graph).lines:
        across = [x for x, _ in line.points]
        assert not line.backward
        assert across == sorted(across)
        assert across[0] < across[-1]


@given(graphs())
def test_every_edge_is_drawn_once_between_its_nodes(graph: Graph) -> None:
    found = drawing(*graph)

    assert sorted((line.source, line.target) for line in found.lines) == sorted(
        {(source, target) for source, target in graph[1] if source != target}
    )
    for line in found.lines:
        source, target = found.places[line.source], found.places[line.target]
        begin, end = (source.x, target.x + WIDTH) if line.backward else (source.x + WIDTH, target.x)
        assert line.points[0] == (begin, source.y + HEIGHT / 2)
        assert line.points[-1] == (end, target.y + HEIGHT / 2)


@given(graphs())
def test_a_drawing_is_the_same_from_call_to_call(graph: Graph) -> None:
    nodes, edges = graph

    assert drawing(nodes, edges) == drawing(nodes, list(reversed(edges)))


def test_a_long_edge_passes_the_nodes_between() -> None:
    found = drawing(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])

    long = next(line for line in found.lines if (line.source, line.target) == ("a", "c"))
    over = [y for x, y in long.points if found.places["b"].x <= x <= found.places["b"].x + WIDTH]
    assert over
    assert all(not found.places["b"].y <= y <= found.places["b"].y + HEIGHT for y in over)


def test_a_cycle_has_one_edge_back() -> None:
    found = drawing(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "a")])

    assert [(line.source, line.target) for line in found.lines if line.backward] == [("c", "a")]


def test_crossings_are_avoided() -> None:
    found = drawing(["a", "b", "x", "y"], [("a", "y"), ("b", "x")])

    assert (found.places["a"].y < found.places["b"].y) == (found.places["y"].y < found.places["x"].y)


def test_large_graphs_are_laid_out() -> None:
    nodes = [f"n{number}" for number in range(300)]
    edges = [
        (nodes[number], nodes[number + step])
        for number in range(300)
        for step in (1, 40)
        if number + step < 300
    ]

    found = drawing(nodes, edges)

    assert not _overlaps(found)
    assert len(found.lines) == len(edges)


@given(graphs(), st.lists(st.sampled_from(["", "x", "y"]), min_size=14, max_size=14))
def test_groups_are_lanes_that_hold_their_nodes(graph: Graph, names: list[str]) -> None:
    groups = {node: name for node, name in zip(graph[0], names, strict=False) if name}
    found = drawing(*graph, groups)

    assert not _overlaps(found)
    lanes = {lane.group: lane for lane in found.lanes}
    for node in graph[0] if groups else ():
        lane, y = lanes[groups.get(node, "")], found.places[node].y
        assert lane.y < y < y + HEIGHT < lane.y + lane.height < found.height
    for upper, lower in pairwise(found.lanes):
        assert upper.y + upper.height < lower.y
