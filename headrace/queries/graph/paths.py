"""The shortest paths between two nodes of the lineage, in the direction of the data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.database.connection import transaction
from headrace.queries.graph.process_lineage import ProcessEdge
from headrace.queries.sql import statement

MAX_VISITED = 20_000  # nodes that a search visits
MAX_NODES = 300  # on shortest paths
MAX_STEPS = MAX_NODES - 1  # of a path

# From near to far, with or against the data: near, far, role, condition, and key and kind of the far node.
Step = Mapping[str, Any]
Steps = Callable[[Collection[UUID], bool], Iterable[Step]]


@dataclass(frozen=True, slots=True)
class Ends:
    """The two nodes that a path is between: id, kind and key."""

    source: tuple[UUID, str, str]
    target: tuple[UUID, str, str]


@dataclass(frozen=True, slots=True)
class PathNode:
    """A dataset or process on a shortest path, `step` edges from its source."""

    id: UUID
    kind: Public[str]
    key: SubjectKey
    step: int


@dataclass(frozen=True, slots=True)
class Paths:
    """All nodes on the shortest paths from a source to a target, and the edges of those paths.

    steps: the edges of each path; None if the two are not connected. count: the number of nodes on shortest paths;
    of more than MAX_NODES some whole paths are shown. truncated: the search ended before all was visited.
    """

    steps: int | None
    count: int
    nodes: tuple[PathNode, ...]
    edges: tuple[ProcessEdge, ...]
    truncated: bool


@dataclass(slots=True)
class _Side:
    """The search from one end. depths: of the visited nodes; links: their neighbours one step nearer to the end."""

    up: bool
    frontier: list[UUID]
    depths: dict[UUID, int]
    links: dict[UUID, set[UUID]] = field(default_factory=dict)


def shortest_paths(engine: Engine, ends: Ends, as_of: datetime | None = None) -> Paths:
    """Return the shortest paths by current edges or those at `as_of`, over nodes that the caller may see."""
    at = as_of or datetime.now(UTC)
    with transaction(engine) as cursor:

        def steps(nodes: Collection[UUID], up: bool) -> Iterable[Step]:
            parameters = {"ids": list(nodes), "up": up, "at": at}
            return statement("lineage/path_step").execute(cursor, parameters).fetchall()

        return search(ends, steps)


def search(ends: Ends, steps: Steps) -> Paths:
    """Search from both ends in turn, from the one with fewer nodes to visit next, until the two meet."""
    source, target = ends.source[0], ends.target[0]
    known: dict[UUID, tuple[str, str]] = {each[0]: each[1:] for each in (ends.source, ends.target)}
    edges: dict[tuple[UUID, UUID, str], set[str]] = {}
    sides = (_Side(False, [source], {source: 0}), _Side(True, [target], {target: 0}))
    truncated = False
    met = {source} & {target}
    while not met:
        side = min(sides, key=lambda each: len(each.frontier))
        if not side.frontier:
            break
        if len(known) > MAX_VISITED or sum(max(each.depths.values()) for each in sides) >= MAX_STEPS:
            truncated = True
            break
        _expand(side, steps(side.frontier, side.up), known, edges)
        met = sides[0].depths.keys() & sides[1].depths.keys()
    if not met:
        return Paths(None, 0, (), (), truncated)
    total = min(sides[0].depths[each] + sides[1].depths[each] for each in met)
    return _paths(sides, met, total, known, edges)


def _expand(
    side: _Side,
    found: Iterable[Step],
    known: dict[UUID, tuple[str, str]],
    edges: dict[tuple[UUID, UUID, str], set[str]],
) -> None:
    depth = side.depths[side.frontier[0]] + 1
    fresh: dict[UUID, None] = {}
    for step in found:
        near, far = step["near"], step["far"]
        if side.depths.setdefault(far, depth) != depth:
            continue
        known[far] = step["kind"], step["key"]
        fresh[far] = None
        side.links.setdefault(far, set()).add(near)
        edge = (far, near, step["role"]) if side.up else (near, far, step["role"])
        edges.setdefault(edge, set()).update({step["condition"]} - {None})
    side.frontier = list(fresh)


def _paths(
    sides: tuple[_Side, _Side],
    met: Collection[UUID],
    total: int,
    known: Mapping[UUID, tuple[str, str]],
    edges: Mapping[tuple[UUID, UUID, str], set[str]],
) -> Paths:
    forward, backward = sides
    depths = {each: forward.depths[each] for each in met}
    before: dict[UUID, set[UUID]] = {}
    after: dict[UUID, set[UUID]] = {}
    for side, near, far in ((forward, before, after), (backward, after, before)):
        frontier = list(met)
        while frontier:
            following: dict[UUID, None] = {}
            for node in frontier:
                for each in side.links.get(node, ()):
                    near.setdefault(node, set()).add(each)
                    far.setdefault(each, set()).add(node)
                    depths.setdefault(each, depths[node] + (1 if side.up else -1))
                    following[each] = None
            frontier = list(following)
    order = sorted(depths, key=lambda each: (depths[each], known[each][1], known[each][0]))
    kept = _some_whole_paths(order, before, after)
    nodes = tuple(PathNode(each, *known[each], depths[each]) for each in order if each in kept)
    shown = tuple(
        ProcessEdge(source, target, role, ", ".join(sorted(conditions)) or None)
        for (source, target, role), conditions in sorted(edges.items())
        if source in kept and target in kept and target in after.get(source, ())
    )
    return Paths(total, len(depths), nodes, shown, truncated=False)


def _some_whole_paths(
    order: Iterable[UUID], before: Mapping[UUID, set[UUID]], after: Mapping[UUID, set[UUID]]
) -> set[UUID]:
    """Return the nodes of as many whole paths as fit into MAX_NODES, at least of one."""
    places = {each: place for place, each in enumerate(order)}
    kept: set[UUID] = set()
    for node in places:
        if node in kept:
            continue
        path = {node}
        for beside in (before, after):
            at = node
            while beside.get(at):
                at = min(beside[at], key=places.__getitem__)
                path.add(at)
        if kept and len(kept | path) > MAX_NODES:
            break
        kept |= path
    return kept
