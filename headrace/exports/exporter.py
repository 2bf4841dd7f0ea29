"""Copies of the lineage graph in other systems: the protocol, and those that the platform has.

`synchronisation` reads the outbox and says what to write; an exporter knows how to write it in its system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Part, Position
from headrace.errors import CatalogError
from headrace.exports.graph import Edge, Node
from headrace.plugins import Registry

_T = TypeVar("_T")


class GraphUnavailable(CatalogError):
    """Another system cannot be reached, or refuses; the message gives the reason and a solution."""

    failure_kind = "INFRASTRUCTURE"


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Some objects of the graph. An edge comes with its ends, or after them."""

    datasets: Sequence[Node] = ()
    processes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
    column_edges: Sequence[Edge] = ()

    @property
    def size(self) -> int:
        """The number of its nodes and edges."""
        return len(self.datasets) + len(self.processes) + len(self.edges) + len(self.column_edges)


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """A batch of changes, as the catalog is now: a batch that is repeated, or late, cannot revert anything.

    reported: ids of the objects that changed, by the ids of their topic. current: those that exist, and the ends of the
    edges. ended: edges among them that are not current any more.
    """

    reported: Mapping[Part, Sequence[UUID]]
    current: GraphPart
    ended: Sequence[Edge]

    @property
    def gone_datasets(self) -> list[UUID]:
        """Reported datasets that the catalog no longer has."""
        return sorted(set(self.reported[Part.DATASET]) - {each.id for each in self.current.datasets})

    @property
    def gone_processes(self) -> list[UUID]:
        """Reported processes that the catalog no longer has."""
        return sorted(set(self.reported[Part.PROCESS]) - {each.id for each in self.current.processes})

    @property
    def removed(self) -> int:
        """The number of nodes, and of edges between nodes, that are no more."""
        edges = set(self.reported[Part.EDGE]) - {edge.id for edge in self.current.edges}
        return len(edges) + len(self.gone_datasets) + len(self.gone_processes)


class GraphCopy(Protocol):
    """The copy of one organisation's graph in another system. Objects of others there are left alone.

    problems: what the system refused, while the rest was written.
    """

    problems: Sequence[str]

    def position(self) -> Position | None:
        """Return the position in the outbox up to which the copy is complete; None if there is no copy."""
        ...

    def write(self, part: GraphPart, stamp: str) -> None:
        """Write a part of the whole graph. Objects that exist are replaced. stamp: of this writing of the whole."""
        ...

    def finish(self, stamp: str, reached: Position) -> int:
        """Remove objects without this stamp after the whole was written, and then store the position.

        Returns the number of removed objects.
        """
        ...

    def apply(self, changes: GraphChanges, reached: Position) -> None:
        """Apply changes, and store the position after them in the same transaction, or after them."""
        ...


class Exporter(Protocol):
    """A system that can have a copy of the graph."""

    @property
    def is_configured(self) -> bool:
        """True if the settings say where it is."""
        ...

    def opened(self, engine: Engine, organisation: UUID) -> AbstractContextManager[GraphCopy]:
        """Connect. Raises GraphUnavailable, also for errors while it is used."""
        ...


EXPORTERS: Registry[Exporter] = Registry(
    "headrace.exporters",
    "exporter",
    {
        "datahub": "headrace.exports.datahub:DataHub",
        "janusgraph": "headrace.exports.janusgraph:JanusGraph",
        "neo4j": "headrace.exports.neo4j:Neo4j",
    },
)


def paged(rows: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """Yield the rows in pages of a size."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
