"""A layered layout of a directed graph: every edge goes from left to right, and nothing overlaps.

A pure function of its input, so a drawing is the same from call to call. Nodes are in layers by their longest path from
a source; edges over several layers bend around the nodes between. Barycentre sweeps order each layer, and the least
squares fit with that order (pool adjacent violators) places nodes near their neighbours. Groups of nodes are in lanes
below each other.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx

WIDTH, HEIGHT = 240.0, 44.0  # of a node
GAP_X, GAP_Y = 72.0, 26.0  # between layers, and between nodes of a layer
MARGIN = 24.0
LANE_TOP, LANE_GAP = 26.0, 14.0  # of a lane: the height of its title, and the space between two
_BEND_HEIGHT = 4.0
_MAX_BENDS = 2000  # above, edges over several layers are straight
_SWEEPS = 12

_Edge = tuple[str, str]
_Item = str | tuple[str, str, int]  # a node, or the bend of an edge in a layer


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a node's left upper corner."""

    layer: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """An edge with the points that it passes. backward: it closes a cycle, and goes from right to left."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    backward: bool

    @property
    def path(self) -> str:
        """The line in SVG's notation: curved between layers, straight beside the nodes of a layer."""
        (x, y), *rest = self.points
        found = [f"M{x:g} {y:g}"]
        for position, (to_x, to_y) in enumerate(rest):
            middle = (x + to_x) / 2
            curve = f"C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
            found.append(curve if position % 2 == 0 else f"L{to_x:g} {to_y:g}")
            x, y = to_x, to_y
        return "".join(found)


@dataclass(frozen=True, slots=True)
class Lane:
    """The part of the drawing with the nodes of a group; '' for those without one."""

    group: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A layout: the places of all nodes, the lines of all edges, and the size. lanes: none without groups."""

    places: Mapping[str, Place]
    lines: tuple[Line, ...]
    width: float
    height: float
    lanes: tuple[Lane, ...] = ()


@dataclass(slots=True)
class _Layers:
    """The nodes and bends of each layer, from top to bottom, and their neighbours in the layers beside. lane_of: the
    number of the lane of each, from top to bottom."""

    layers: list[list[_Item]]
    lane_of: dict[_Item, int]
    before: dict[_Item, list[_Item]] = field(default_factory=dict)
    after: dict[_Item, list[_Item]] = field(default_factory=dict)
    chains: dict[_Edge, list[_Item]] = field(default_factory=dict)


def drawing(
    nodes: Sequence[str], edges: Collection[_Edge], groups: Mapping[str, str] | None = None
) -> Drawing:
    """Lay out a graph. The order of the nodes decides where nothing else does; no edge leads from a node to itself.

    groups: of the nodes that have one; each is a lane, and so are the nodes without a group.
    """
    positions = {node: position for position, node in enumerate(nodes)}
    ordered = sorted(
        {edge for edge in edges if edge[0] != edge[1]},
        key=lambda edge: (positions[edge[0]], positions[edge[1]]),
    )
    backward = _backward(nodes, ordered)
    forward = [
        (target, source) if (source, target) in backward else (source, target) for source, target in ordered
    ]
    layer_of = _layer_of(nodes, forward)
    titles = _titles(nodes, layer_of, groups or {})
    lane_of = {node: titles.index((groups or {}).get(node, "")) for node in nodes}
    found = _with_bends(nodes, dict.fromkeys(forward), layer_of, lane_of)
    _reduce_crossings(found)
    tops, lanes = _tops(found, titles if groups else ())
    places = {node: Place(layer_of[node], _left(layer_of[node]), tops[node]) for node in nodes}
    lines = tuple(_line(edge, edge in backward, found, places, tops) for edge in ordered)
    bottoms = [top + _height(item) for item, top in tops.items()]
    return Drawing(
        places=places,
        lines=lines,
        width=_left(max(layer_of.values(), default=0)) + WIDTH + MARGIN,
        height=max(bottoms, default=HEIGHT) + MARGIN + (LANE_GAP if lanes else 0),
        lanes=lanes,
    )


def _titles(nodes: Sequence[str], layer_of: Mapping[str, int], groups: Mapping[str, str]) -> list[str]:
    """Return the groups from top to bottom: by their mean layer, so that the data goes downwards."""
    layers: dict[str, list[int]] = {}
    for node in nodes:
        layers.setdefault(groups.get(node, ""), []).append(layer_of[node])
    return sorted(layers, key=lambda each: (sum(layers[each]) / len(layers[each]), each))


def _backward(nodes: Sequence[str], edges: Sequence[_Edge]) -> set[_Edge]:
    """Return edges without which there is no cycle: those that lead back into the path of a depth-first search."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        after[source].append(target)
    found: set[_Edge] = set()
    done: set[str] = set()
    for start in nodes:
        if start in done:
            continue
        path: dict[str, Iterator[str]] = {start: iter(after[start])}
        while path:
            node = next(reversed(path))
            following = next(path[node], None)
            if following is None:
                done.add(node)
                del path[node]
            elif following in path:
                found.add((node, following))
            elif following not in done:
                path[following] = iter(after[following])
    return found


def _layer_of(nodes: Sequence[str], edges: Collection[_Edge]) -> dict[str, int]:
    """Return the layer of each node: its longest path from a source; sources are moved next to what follows them."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    found = {node: layer for layer, group in enumerate(nx.topological_generations(graph)) for node in group}
    for node in nodes:
        if not graph.pred[node] and graph.succ[node]:
            found[node] = min(found[target] for target in graph.succ[node]) - 1
    return found


def _with_bends(
    nodes: Sequence[str],
    edges: Collection[_Edge],
    layer_of: Mapping[str, int],
    lane_of: Mapping[str, int],
) -> _Layers:
    layers: list[list[_Item]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for node in nodes:
        layers[layer_of[node]].append(node)
    found = _Layers(layers, {node: lane_of[node] for node in nodes})
    bends = sum(layer_of[target] - layer_of[source] - 1 for source, target in edges)
    for source, target in edges:
        between = range(layer_of[source] + 1, layer_of[target]) if bends <= _MAX_BENDS else range(0)
        chain: list[_Item] = [source, *((source, target, layer) for layer in between), target]
        for layer, bend in zip(between, chain[1:-1], strict=True):
            layers[layer].append(bend)
            found.lane_of[bend] = lane_of[target]
        for one, other in pairwise(chain):
            found.after.setdefault(one, []).append(other)
            found.before.setdefault(other, []).append(one)
        found.chains[source, target] = chain
    for items in layers:
        items.sort(key=found.lane_of.__getitem__)
    return found


def _reduce_crossings(found: _Layers) -> None:
    """Order each layer by the mean position of the neighbours in the layer beside, from both sides in turn."""
    best, fewest = [list(layer) for layer in found.layers], _crossings(found)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        rightwards = sweep % 2 == 0
        layers = found.layers if rightwards else found.layers[::-1]
        beside = found.before if rightwards else found.after
        for previous, layer in pairwise(layers):
            positions = {item: position for position, item in enumerate(previous)}
            means = _means(layer, beside, positions)
            layer.sort(key=lambda item: (found.lane_of[item], means[item]))
        crossings = _crossings(found)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in found.layers], crossings
    found.layers = best


def _means(
    layer: Sequence[_Item], beside: Mapping[_Item, Sequence[_Item]], positions: Mapping[_Item, int]
) -> dict[_Item, float]:
    """Return the mean position of each item's neighbours; without any, its own position."""
    found: dict[_Item, float] = {}
    for position, item in enumerate(layer):
        near = [positions[each] for each in beside.get(item, ()) if each in positions]
        found[item] = sum(near) / len(near) if near else float(position)
    return found


def _crossings(found: _Layers) -> int:
    total = 0
    for layer, following in pairwise(found.layers):
        positions = {item: position for position, item in enumerate(following)}
        seen: list[int] = []
        for item in layer:
            targets = [positions[each] for each in found.after.get(item, ()) if each in positions]
            total += sum(len(seen) - bisect_right(seen, target) for target in targets)
            for target in targets:
                insort(seen, target)
    return total


def _tops(found: _Layers, titles: Sequence[str]) -> tuple[dict[_Item, float], tuple[Lane, ...]]:
    """Return the upper edge of each item, lane by lane, and the lanes with these titles."""
    if not titles:
        return _tops_of(found, found.layers, MARGIN), ()
    tops: dict[_Item, float] = {}
    lanes: list[Lane] = []
    y = LANE_GAP
    for number, title in enumerate(titles):
        layers = [[item for item in layer if found.lane_of[item] == number] for layer in found.layers]
        inside = _tops_of(found, layers, y + LANE_TOP + GAP_Y / 2)
        bottom = max(top + _height(item) for item, top in inside.items()) + GAP_Y
        lanes.append(Lane(title, y, round(bottom - y, 1)))
        tops.update(inside)
        y = round(bottom + LANE_GAP, 1)
    return tops, tuple(lanes)


def _tops_of(found: _Layers, layers: Sequence[Sequence[_Item]], least: float) -> dict[_Item, float]:
    """Return the upper edge of each item, from `least`: near the middle of its neighbours, in the order of its
    layer."""
    tops: dict[_Item, float] = {}
    for layer in layers:
        at = 0.0
        for item in layer:
            tops[item] = at
            at += _height(item) + GAP_Y
    heights = {item: _height(item) for item in tops}
    near = {
        item: [each for each in (*found.before.get(item, ()), *found.after.get(item, ())) if each in tops]
        for item in tops
    }
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted: list[float] = []
            for item in layer:
                top = tops[item]
                if near[item]:
                    middles = sum([tops[each] + heights[each] / 2 for each in near[item]])
                    top = middles / len(near[item]) - heights[item] / 2
                wanted.append(top)
            tops.update(zip(layer, _apart(wanted, [heights[item] for item in layer]), strict=True))
    upper = min(tops.values(), default=0.0)
    return {item: round(top - upper + least, 1) for item, top in tops.items()}


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return the upper edges nearest to the wanted ones at which items follow each other without overlap."""
    offsets = [0.0]
    for height in heights[:-1]:
        offsets.append(offsets[-1] + height + GAP_Y)
    pools: list[tuple[float, int]] = []  # the mean of each group of touching items, and their number
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            before, number = pools.pop()
            mean, count = (before * number + mean * count) / (number + count), number + count
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]


def _line(
    edge: _Edge, backward: bool, found: _Layers, places: Mapping[str, Place], tops: Mapping[_Item, float]
) -> Line:
    chain = found.chains[(edge[1], edge[0]) if backward else edge]
    first, last = places[str(chain[0])], places[str(chain[-1])]
    points = [(first.x + WIDTH, first.y + HEIGHT / 2)]
    for bend in chain[1:-1]:
        left, middle = _left(int(bend[2])), tops[bend] + _BEND_HEIGHT / 2
        points += [(left, middle), (left + WIDTH, middle)]
    points.append((last.x, last.y + HEIGHT / 2))
    return Line(*edge, tuple(reversed(points) if backward else points), backward)


def _left(layer: int) -> float:
    return MARGIN + layer * (WIDTH + GAP_X)


def _height(item: _Item) -> float:
    return HEIGHT if isinstance(item, str) else _BEND_HEIGHT
