"""The lineage graph in Neo4j."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Part, Position
from headrace.context import current_context
from headrace.exports import cypher
from headrace.exports.exporter import GraphChanges, GraphPart, GraphUnavailable, paged
from headrace.exports.graph import PAGE, Edge, Node

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction, Session

_BOLT = re.compile(r"(bolt|neo4j)([+]s|[+]ssc)?://.")


@contextmanager
def connected(uri: str, user: str, password: str) -> Iterator[Driver]:
    """Yield a connected driver. Raises GraphUnavailable, also for errors while it is used."""
    if not _BOLT.match(uri):
        raise GraphUnavailable(
            f"{uri!r} is not a Neo4j URI: set HEADRACE_NEO4J__URI, for example bolt://localhost:7687"
        )
    try:
        import neo4j
    except ImportError as error:
        raise GraphUnavailable("Neo4j's driver is not installed: pip install 'headrace[neo4j]'") from error
    from neo4j.exceptions import DriverError, Neo4jError

    try:
        with neo4j.GraphDatabase.driver(
            uri, auth=(user, password), notifications_min_severity="OFF"
        ) as driver:
            driver.verify_connectivity()
            yield driver
    except (DriverError, Neo4jError, ValueError) as error:  # ValueError: an invalid port
        message = str(error).strip().splitlines()
        raise GraphUnavailable(
            f"Neo4j at {uri}: {message[0] if message else type(error).__name__}. "
            "Check HEADRACE_NEO4J__URI, __USER and __PASSWORD, then retry."
        ) from error


class Neo4j:
    """Neo4j, at the address of the settings."""

    @property
    def is_configured(self) -> bool:
        """True if `neo4j.uri` is set."""
        return current_context().settings.neo4j.uri is not None

    @contextmanager
    def opened(self, engine: Engine, organisation: UUID) -> Iterator[Neo4jGraph]:
        """Connect."""
        there = current_context().settings.neo4j
        if there.uri is None:
            raise GraphUnavailable(
                "Neo4j is not configured: set HEADRACE_NEO4J__URI, for example bolt://localhost:7687"
            )
        with (
            connected(there.uri, there.user, there.password.get_secret_value()) as driver,
            driver.session(database=there.database) as session,
        ):
            yield Neo4jGraph(session, organisation)


class Neo4jGraph:
    """The copy in Neo4j, which has its position too, in the transaction that writes."""

    problems = ()

    def __init__(self, session: Session, organisation: UUID) -> None:
        """Create the constraints that are missing."""
        self._session = session
        self._organisation = organisation
        for statement in cypher.CONSTRAINTS:
            session.run(statement).consume()

    def position(self) -> Position | None:
        """Return the position of the mark."""
        marked = self._session.run(cypher.POSITION, organisation=str(self._organisation)).single()
        return Position(marked["transaction_id"], marked["outbox_id"]) if marked else None

    def write(self, part: GraphPart, stamp: str) -> None:
        """Write a part, in one transaction."""
        self._session.execute_write(_write, self._organisation, part, stamp)

    def finish(self, stamp: str, reached: Position) -> int:
        """Remove what has another stamp, in transactions of one page, and store the position."""
        removed = 0
        for statement in cypher.REMOVE_UNSTAMPED:
            given = {"organisation": str(self._organisation), "stamp": stamp, "limit": PAGE}
            while (count := self._session.execute_write(_count, statement, given)) > 0:
                removed += count
        self._session.execute_write(_mark, self._organisation, reached)
        return removed

    def apply(self, changes: GraphChanges, reached: Position) -> None:
        """Apply a batch and store the position after it, in one transaction."""
        self._session.execute_write(_apply, self._organisation, changes, reached)


def _apply(on: ManagedTransaction, organisation: UUID, changes: GraphChanges, reached: Position) -> None:
    for statement in cypher.REMOVE_EDGES:
        on.run(statement, ids=_texts(changes.reported[Part.EDGE])).consume()
    names = changes.reported[Part.COLUMN_EDGE]
    on.run(cypher.REMOVE_COLUMN_EDGES, names=_texts(names)).consume()
    on.run(cypher.REMOVE_NODES[Part.DATASET], ids=_texts(changes.gone_datasets)).consume()
    on.run(cypher.REMOVE_NODES[Part.PROCESS], ids=_texts(changes.gone_processes)).consume()
    _write(on, organisation, changes.current, None)
    if names:
        given = {"organisation": str(organisation), "limit": PAGE}
        while _count(on, cypher.REMOVE_BARE_COLUMNS, given):
            pass
    _mark(on, organisation, reached)


def _write(on: ManagedTransaction, organisation: UUID, part: GraphPart, stamp: str | None) -> None:
    for label, nodes in (("Dataset", part.datasets), ("Process", part.processes)):
        for page in paged(nodes, PAGE):
            _write_nodes(on, label, organisation, page, stamp)
    for edge_page in paged(part.edges, PAGE):
        _write_edges(on, edge_page, stamp)
    for edge_page in paged(part.column_edges, PAGE):
        _write_column_edges(on, organisation, edge_page, stamp)


def _write_nodes(
    on: ManagedTransaction, label: str, organisation: UUID, page: Sequence[Node], stamp: str | None
) -> None:
    own = {"organisation": str(organisation), "stamp": stamp}
    rows = [
        {"id": str(node.id), "properties": {**node.properties, **own, "id": str(node.id)}} for node in page
    ]
    on.run(cypher.WRITE_NODES[label], rows=rows).consume()


def _write_edges(on: ManagedTransaction, page: Iterable[Edge], stamp: str | None) -> None:
    kinds: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for edge in page:
        kinds.setdefault((edge.role, edge.source.kind, edge.target.kind), []).append(_row(edge, stamp))
    for kind, rows in kinds.items():
        on.run(cypher.WRITE_EDGES[kind], rows=rows).consume()


def _write_column_edges(
    on: ManagedTransaction, organisation: UUID, page: Iterable[Edge], stamp: str | None
) -> None:
    rows = [
        {
            **_row(edge, stamp, target_name=str(edge.target_name)),
            "organisation": str(organisation),
            "source_field": edge.source_field,
            "target_field": edge.target_field,
        }
        for edge in page
    ]
    on.run(cypher.WRITE_COLUMN_EDGES, rows=rows).consume()


def _row(edge: Edge, stamp: str | None, **more: str) -> dict[str, Any]:
    return {
        "id": str(edge.id),
        "source": str(edge.source.id),
        "target": str(edge.target.id),
        "properties": {**edge.properties, **more, "id": str(edge.id), "stamp": stamp},
    }


def _mark(on: ManagedTransaction, organisation: UUID, reached: Position) -> None:
    on.run(
        cypher.MARK,
        organisation=str(organisation),
        transaction_id=reached.transaction_id,
        outbox_id=reached.outbox_id,
    ).consume()


def _count(on: ManagedTransaction, statement: str, given: Mapping[str, Any]) -> int:
    """Return the number of objects that the statement removed."""
    return int(on.run(statement, dict(given)).single(strict=True)["removed"])


def _texts(ids: Iterable[UUID]) -> list[str]:
    return [str(each) for each in ids]
