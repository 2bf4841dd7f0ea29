"""The shortest paths between two nodes of the lineage, in the direction of the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.database.connection import transaction
from headrace.queries.graph.process_lineage import ProcessEdge
from headrace.queries.sql import statement

MAX_VISITED = 20_000  # nodes that a search visits
MAX_NODES = 300  # on shortest paths
MAX_STEPS = MAX_NODES - 1  # of a path


class Steps(Protocol):
    """The steps of a graph, with or against the data, and what its nodes are."""

    def reached(self, nodes: Collection[UUID], up: bool) -> Iterable[UUID]:
        """Return the nodes one step from any of these."""

    def edges(self, nodes: Collection[UUID], up: bool) -> Iterable[Mapping[str, Any]]:
        """Return the steps from these nodes: near, far, role and condition."""

    def named(self, nodes: Collection[UUID]) -> Mapping[UUID, tuple[str, str]]:
        """Return kind and key of each node."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The two nodes that a path is between."""

    source: UUID
    target: UUID


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
    """The search from one end. layers: the nodes by their number of steps from it; seen: all of them."""

    up: bool
    layers: list[set[UUID]]
    seen: set[UUID]


@dataclass(frozen=True, slots=True)
class _Visible:
    """The steps that the caller may see at a time."""

    cursor: Cursor[Any]
    at: datetime

    def reached(self, nodes: Collection[UUID], up: bool) -> Iterable[UUID]:
        return (row["far"] for row in self._rows("path_reach", nodes, up))

    def edges(self, nodes: Collection[UUID], up: bool) -> Iterable[Mapping[str, Any]]:
        return self._rows("path_edges", nodes, up)

    def named(self, nodes: Collection[UUID]) -> Mapping[UUID, tuple[str, str]]:
        rows = statement("lineage/path_nodes").execute(self.cursor, {"ids": list(nodes)})
        return {row["id"]: (row["kind"], row["key"]) for row in rows}

    def _rows(self, name: str, nodes: Collection[UUID], up: bool) -> list[dict[str, Any]]:
        parameters = {"ids": list(nodes), "up": up, "at": self.at}
        return statement(f"lineage/{name}").execute(self.cursor, parameters).fetchall()


def shortest_paths(engine: Engine, ends: Ends, as_of: datetime | None = None) -> Paths:
    """Return the shortest paths by current edges or those at `as_of`, over nodes that the caller may see."""
    with transaction(engine) as cursor:
        return search(ends, _Visible(cursor, as_of or datetime.now(UTC)))


def search(ends: Ends, steps: Steps) -> Paths:
    """Search from both ends in turn, from the one with fewer nodes to visit next, until the two meet."""
    sides = tuple(_Side(up, [{end}], {end}) for up, end in ((False, ends.source), (True, ends.target)))
    forward, backward = sides
    met = forward.seen & backward.seen
    while not met:
        side, other = sorted(sides, key=lambda each: len(each.layers[-1]))
        if not side.layers[-1]:
            return Paths(None, 0, (), (), truncated=False)
        length = len(forward.layers) + len(backward.layers) - 2
        if len(forward.seen) + len(backward.seen) > MAX_VISITED or length >= MAX_STEPS:
            return Paths(None, 0, (), (), truncated=True)
        fresh = set(steps.reached(side.layers[-1], side.up)) - side.seen
        side.layers.append(fresh)
        side.seen |= fresh
        met = fresh & other.seen
    return _paths(forward, backward, met, steps)


def _paths(forward: _Side, backward: _Side, met: set[UUID], steps: Steps) -> Paths:
    """Go back from where the two sides met to both ends, over the layers that were visited."""
    middle = len(forward.layers) - 1
    depths = dict.fromkeys(met, middle)
    edges: dict[tuple[UUID, UUID, str], set[str]] = {}
    before: dict[UUID, set[UUID]] = {}
    after: dict[UUID, set[UUID]] = {}
    for side in (forward, backward):
        current = met
        for distance, layer in enumerate(reversed(side.layers[:-1]), 1):
            following: set[UUID] = set()
            for step in steps.edges(current, not side.up):
                if step["far"] not in layer:
                    continue
                following.add(step["far"])
                pair = (step["near"], step["far"]) if side.up else (step["far"], step["near"])
                edges.setdefault((*pair, step["role"]), set()).update({step["condition"]} - {None})
                after.setdefault(pair[0], set()).add(pair[1])
                before.setdefault(pair[1], set()).add(pair[0])
            depths.update(dict.fromkeys(following, middle + (distance if side.up else -distance)))
            current = following
    named = steps.named(depths)
    order = sorted(depths, key=lambda each: (depths[each], *reversed(named[each])))
    kept = _some_whole_paths(order, before, after)
    return Paths(
        steps=len(forward.layers) + len(backward.layers) - 2,
        count=len(depths),
        nodes=tuple(PathNode(each, *named[each], depths[each]) for each in order if each in kept),
        edges=tuple(
            ProcessEdge(source, target, role, ", ".join(sorted(conditions)) or None)
            for (source, target, role), conditions in sorted(edges.items())
            if source in kept and target in kept
        ),
        truncated=False,
    )


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
