"""The lineage graph in memory, in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.rows import tuple_row

from headrace.context import current_context
from headrace.slas.sql import statement


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by number. ids: the dataset or process; before, after: upstream and downstream neighbours.

    order: topological; edges that close a cycle are ignored.
    """

    ids: Sequence[UUID]
    number: dict[UUID, int]
    before: Sequence[Sequence[int]]
    after: Sequence[Sequence[int]]
    order: Sequence[int]

    def reached(self, start: Iterable[int], *, up: bool, limit: int | None = None) -> list[int]:
        """Return the nodes reachable from some nodes, nearest first, excluding these."""
        seen = dict.fromkeys(start)
        first = len(seen)
        frontier = list(seen)
        neighbours = self.before if up else self.after
        while frontier and (limit is None or len(seen) - first < limit):
            following: list[int] = []
            for node in frontier:
                for each in neighbours[node]:
                    if each not in seen:
                        seen[each] = None
                        following.append(each)
            frontier = following
        return list(seen)[first:][:limit]


def load(cursor: Cursor[Any]) -> Graph:
    """Load the current edges: between datasets and the processes that read and write them, and between dependent
    jobs."""
    rows = statement("graph").execute(cursor, {"organisation": current_context().organisation_id})
    rows.row_factory = tuple_row  # type: ignore[assignment]
    return graph_of(rows.fetchall())  # type: ignore[arg-type]


def graph_of(edges: Sequence[tuple[UUID, UUID]]) -> Graph:
    """Build the graph of edges from upstream to downstream nodes."""
    number: dict[UUID, int] = {}
    for edge in edges:
        for each in edge:
            number.setdefault(each, len(number))
    before: list[list[int]] = [[] for _ in number]
    after: list[list[int]] = [[] for _ in number]
    for source, target in edges:
        one, other = number[source], number[target]
        if one != other:
            before[other].append(one)
            after[one].append(other)
    return Graph(list(number), number, before, after, _order(before, after))


def _order(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[int]:
    """Return Kahn's order; if only cycles are left, the node with the fewest remaining predecessors is next."""
    missing: NDArray[np.int64] = np.array([len(each) for each in before], dtype=np.int64)
    ready = [node for node, count in enumerate(missing) if not count]
    done = np.zeros(len(missing), dtype=bool)
    order: list[int] = []
    while len(order) < len(missing):
        if not ready:
            waiting = np.flatnonzero(~done)
            ready.append(int(waiting[np.argmin(missing[waiting])]))
        node = ready.pop()
        if done[node]:
            continue
        done[node] = True
        order.append(node)
        for each in after[node]:
            missing[each] -= 1
            if not missing[each] and not done[each]:
                ready.append(each)
    return order
