"""Synchronise the lineage graph to Neo4j: a full load once, then changes from the outbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Change, Part, Position, Rows, changes_since, is_known, note_read, position
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.errors import CatalogError
from headrace.exports import cypher
from headrace.exports.graph import (
    PAGE,
    Edge,
    Node,
    column_edges_into,
    edges,
    edges_of,
    nodes,
    nodes_of,
    snapshot,
)

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction, Session

_T = TypeVar("_T")
_READER = "neo4j"
_BOLT = re.compile(r"(bolt|neo4j)([+]s|[+]ssc)?://.")
LABELS = {Part.DATASET: cypher.LABELS["DATASET"], Part.PROCESS: cypher.LABELS["PROCESS"]}


class GraphUnavailable(CatalogError):
    """Neo4j cannot be reached, or refuses; the message gives the reason and a solution."""

    failure_kind = "INFRASTRUCTURE"


@dataclass(frozen=True, slots=True)
class SynchronisationResult:
    """Result of synchronising the graph.

    whole: the full graph was written. written: written nodes and edges. removed: removed ones.
    """

    whole: bool
    written: int
    removed: int


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


def synchronise(
    engine: Engine, driver: Driver, organisation: UUID, *, database: str | None = None, whole: bool = False
) -> SynchronisationResult:
    """Update the organisation's graph in Neo4j to the catalog's current state. Nodes of others are left alone.

    The position is stored in Neo4j, in the transaction that writes: an interrupted synchronisation resumes there, and
    if Neo4j was emptied or restored, the full graph is written. Raises GraphUnavailable while another process
    synchronises.
    """
    with alone(engine, "neo4j") as first, driver.session(database=database) as session:
        if not first:
            raise GraphUnavailable("another process is synchronising Neo4j; try again when it has finished")
        for statement in cypher.CONSTRAINTS:
            session.run(statement).consume()
        marked = session.run(cypher.POSITION, organisation=str(organisation)).single()
        since = Position(marked["transaction_id"], marked["outbox_id"]) if marked else None
        with transaction(engine) as cursor:
            known = since is not None and not whole and is_known(cursor, organisation, _READER, since)
        if since is None or not known:
            return _write_all(engine, session, organisation)
        return _write_changes(engine, session, organisation, since)


def _write_all(engine: Engine, session: Session, organisation: UUID) -> SynchronisationResult:
    """Write everything, in transactions of one page; stale objects are removed last, and then the position is
    stored."""
    counts = [0, 0]
    with snapshot(engine) as cursor:
        reached = position(cursor)
        stamp = f"{reached.transaction_id}/{reached.outbox_id}"
        for part in LABELS:
            for page in nodes(cursor, part, organisation):
                session.execute_write(_write_nodes, part, organisation, page, stamp)
                counts[0] += len(page)
        for each in edges(cursor, Part.EDGE, organisation):
            session.execute_write(_write_edges, each, stamp)
            counts[0] += len(each)
        for each in edges(cursor, Part.COLUMN_EDGE, organisation):
            session.execute_write(_write_column_edges, organisation, each, stamp)
            counts[0] += len(each)
    for statement in cypher.REMOVE_UNSTAMPED:
        given = {"organisation": str(organisation), "stamp": stamp, "limit": PAGE}
        while (removed := session.execute_write(_count, statement, given)) > 0:
            counts[1] += removed
    session.execute_write(_mark, organisation, reached)
    note_read(engine, organisation, _READER, reached)
    return SynchronisationResult(True, *counts)


def _write_changes(
    engine: Engine, session: Session, organisation: UUID, since: Position
) -> SynchronisationResult:
    counts = [0, 0]
    while True:
        with transaction(engine) as cursor:
            changes, reached = changes_since(cursor, organisation, since)
            if reached == since:
                return SynchronisationResult(False, *counts)
            written, removed = _changed(session, cursor, organisation, changes, reached)
        note_read(engine, organisation, _READER, reached)
        counts[0] += written
        counts[1] += removed
        since = reached


def _changed(
    session: Session, cursor: Rows, organisation: UUID, changes: Sequence[Change], reached: Position
) -> tuple[int, int]:
    """Apply one batch of changes and store the position after it, in one transaction of Neo4j.

    Writes the catalog's current state, not that at the time of the change: a batch that is repeated, or late, cannot
    revert anything.
    """
    ids = {
        part: sorted({each for change in changes if change.part is part for each in change.ids})
        for part in Part
    }
    current = edges_of(cursor, ids[Part.EDGE])
    columns = column_edges_into(cursor, ids[Part.COLUMN_EDGE])
    # An edge may be reported before its ends: the required ones are written with it.
    ends = {end.id for edge in (*current, *columns) for end in (edge.source, edge.target)}
    found = {part: nodes_of(cursor, part, sorted({*ids[part], *ends})) for part in LABELS}
    gone = {part: sorted(set(ids[part]) - {node.id for node in found[part]}) for part in LABELS}

    def write(on: ManagedTransaction) -> None:
        for statement in cypher.REMOVE_EDGES:
            on.run(statement, ids=_texts(ids[Part.EDGE])).consume()
        on.run(cypher.REMOVE_COLUMN_EDGES, names=_texts(ids[Part.COLUMN_EDGE])).consume()
        for part in LABELS:
            on.run(cypher.REMOVE_NODES[part], ids=_texts(gone[part])).consume()
            for page in _paged(found[part]):
                _write_nodes(on, part, organisation, page)
        for edge_page in _paged(current):
            _write_edges(on, edge_page)
        for edge_page in _paged(columns):
            _write_column_edges(on, organisation, edge_page)
        if ids[Part.COLUMN_EDGE]:
            given = {"organisation": str(organisation), "limit": PAGE}
            while _count(on, cypher.REMOVE_BARE_COLUMNS, given):
                pass
        _mark(on, organisation, reached)

    session.execute_write(write)
    removed = len(set(ids[Part.EDGE]) - {edge.id for edge in current}) + sum(map(len, gone.values()))
    return sum(map(len, found.values())) + len(current) + len(columns), removed


def _write_nodes(
    on: ManagedTransaction, part: Part, organisation: UUID, page: Sequence[Node], stamp: str | None = None
) -> None:
    own = {"organisation": str(organisation), "stamp": stamp}
    rows = [
        {"id": str(node.id), "properties": {**node.properties, **own, "id": str(node.id)}} for node in page
    ]
    on.run(cypher.WRITE_NODES[LABELS[part]], rows=rows).consume()


def _write_edges(on: ManagedTransaction, page: Iterable[Edge], stamp: str | None = None) -> None:
    kinds: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for edge in page:
        kinds.setdefault((edge.role, edge.source.kind, edge.target.kind), []).append(_row(edge, stamp))
    for kind, rows in kinds.items():
        on.run(cypher.WRITE_EDGES[kind], rows=rows).consume()


def _write_column_edges(
    on: ManagedTransaction, organisation: UUID, page: Iterable[Edge], stamp: str | None = None
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


def _paged(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(rows), PAGE):
        yield rows[start : start + PAGE]
