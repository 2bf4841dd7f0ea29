"""The lineage graph in JanusGraph, written by Gremlin.

JanusGraph reserves some names of properties, and a property has one value of one type: `headraceId` and `headraceKey`
stand for `id` and `key`, and lists are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Part, Position
from headrace.context import current_context
from headrace.exports.exporter import GraphChanges, GraphPart, GraphUnavailable, paged
from headrace.exports.graph import Edge
from headrace.settings import JanusGraphSettings

if TYPE_CHECKING:
    from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource

_BATCH = 100  # objects of a request, which a server limits in bytes (`maxContentLength`)
_PAGE = 1000  # objects that one transaction removes
_ID = "headraceId"
_KEYS = {"id": _ID, "key": "headraceKey"}
_ROLES = ("CONSUMES", "PRODUCES", "DERIVES", "HAS")
_SCHEMA = """
def management = graph.openManagement()
if (!management.containsPropertyKey('headraceId')) {
    def key = { management.makePropertyKey(it).dataType(String.class).make() }
    def id = key('headraceId')
    management.buildIndex('headraceVertex', Vertex.class).addKey(id).unique().buildCompositeIndex()
    management.buildIndex('headraceEdge', Edge.class).addKey(id).buildCompositeIndex()
    management.buildIndex('headraceTarget', Edge.class).addKey(key('headraceTarget')).buildCompositeIndex()
    management.buildIndex('headraceOwner', Vertex.class).addKey(key('headraceOrganisation')).buildCompositeIndex()
}
management.commit()
"""


class JanusGraph:
    """JanusGraph, at the address of the settings."""

    @property
    def is_configured(self) -> bool:
        """True if `janusgraph.uri` is set."""
        return current_context().settings.janusgraph.uri is not None

    @contextmanager
    def opened(self, engine: Engine, organisation: UUID) -> Iterator[JanusGraphCopy]:
        """Connect."""
        there = current_context().settings.janusgraph
        with connected(there) as source:
            yield JanusGraphCopy(source, organisation)


@contextmanager
def connected(there: JanusGraphSettings) -> Iterator[GraphTraversalSource]:
    """Connect, and create the indexes that are missing. Raises GraphUnavailable, also for errors while it is used."""
    if there.uri is None or not there.uri.startswith(("ws://", "wss://")):
        raise GraphUnavailable("set HEADRACE_JANUSGRAPH__URI, for example ws://localhost:8182/gremlin")
    try:
        from aiohttp import ClientError
        from gremlin_python.driver.client import Client
        from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
        from gremlin_python.driver.protocol import GremlinServerError
        from gremlin_python.driver.serializer import GraphSONSerializersV3d0
        from gremlin_python.process.anonymous_traversal import traversal
    except ImportError as error:
        raise GraphUnavailable(
            "JanusGraph's driver is not installed: pip install 'headrace[janusgraph]'"
        ) from error
    given = {
        "username": there.user,
        "password": there.password.get_secret_value(),
        # The default, GraphBinary, does not know the ids of JanusGraph's edges.
        "message_serializer": GraphSONSerializersV3d0(),
    }
    try:
        client = Client(there.uri, there.traversal_source, **given)
        try:
            client.submit(_SCHEMA).all().result()
        finally:
            client.close()
        connection = DriverRemoteConnection(there.uri, there.traversal_source, **given)
        try:
            yield traversal().with_remote(connection)
        finally:
            connection.close()
    except (ClientError, GremlinServerError, OSError, TimeoutError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise GraphUnavailable(
            f"JanusGraph at {there.uri}: {first}. Check HEADRACE_JANUSGRAPH__URI, __USER and __PASSWORD, then retry."
        ) from error


class JanusGraphCopy:
    """The copy in JanusGraph, which has its position too, in the transaction that writes."""

    problems = ()

    def __init__(self, source: GraphTraversalSource, organisation: UUID) -> None:
        """source: connected."""
        self._source = source
        self._organisation = str(organisation)

    def position(self) -> Position | None:
        """Return the position of the mark."""
        marks = self._source.V().has(_ID, self._mark).values("position").to_list()
        return Position(*map(int, marks[0].split("/"))) if marks else None

    def write(self, part: GraphPart, stamp: str) -> None:
        """Write a part, in one transaction."""
        self._transact(lambda graph: self._write(graph, part, stamp))

    def finish(self, stamp: str, reached: Position) -> int:
        """Remove what has another stamp, and columns without lineage, and store the position."""
        from gremlin_python.process.graph_traversal import __
        from gremlin_python.process.traversal import P

        own = "headraceOrganisation"
        stale = (
            lambda graph: (
                graph.V().has(own, self._organisation).out_e(*_ROLES[:3]).has("stamp", P.neq(stamp))
            ),
            lambda graph: (
                graph.V().has(own, self._organisation).has_label("Column").not_(__.both_e("DERIVES"))
            ),
            lambda graph: (
                graph.V()
                .has(own, self._organisation)
                .has_label("Dataset", "Process")
                .has("stamp", P.neq(stamp))
            ),
        )
        removed = sum(self._removed(found) for found in stale)
        self._transact(lambda graph: self._store(graph, reached))
        return removed

    def apply(self, changes: GraphChanges, reached: Position) -> None:
        """Apply a batch and store the position after it, in one transaction."""
        self._transact(lambda graph: self._apply(graph, changes, reached))

    @property
    def _mark(self) -> str:
        return f"position/{self._organisation}"

    def _apply(self, graph: GraphTraversalSource, changes: GraphChanges, reached: Position) -> None:
        from gremlin_python.process.graph_traversal import __
        from gremlin_python.process.traversal import P

        for ids in _batches(changes.reported[Part.EDGE]):
            graph.E().has(_ID, P.within(ids)).drop().iterate()
        for names in _batches(changes.reported[Part.COLUMN_EDGE]):
            graph.E().has("headraceTarget", P.within(names)).drop().iterate()
        for ids in _batches(changes.gone_datasets):
            graph.V().has(_ID, P.within(ids)).out("HAS").drop().iterate()
            graph.V().has(_ID, P.within(ids)).drop().iterate()
        for ids in _batches(changes.gone_processes):
            graph.V().has(_ID, P.within(ids)).drop().iterate()
        self._write(graph, changes.current, "")
        if changes.reported[Part.COLUMN_EDGE]:
            columns = graph.V().has("headraceOrganisation", self._organisation).has_label("Column")
            columns.not_(__.both_e("DERIVES")).drop().iterate()
        self._store(graph, reached)

    def _write(self, graph: GraphTraversalSource, part: GraphPart, stamp: str) -> None:
        own = {"headraceOrganisation": self._organisation, "stamp": stamp}
        for label, nodes in (("Dataset", part.datasets), ("Process", part.processes)):
            _merge_nodes(graph, label, [(str(node.id), {**_plain(node.properties), **own}) for node in nodes])
        _merge_edges(
            graph, [_row(edge, edge.role, edge.source.id, edge.target.id, stamp) for edge in part.edges]
        )
        columns: dict[str, dict[str, str]] = {}
        rows = []
        for edge in part.column_edges:
            ends: list[str] = []
            for dataset, field in ((edge.source.id, edge.source_field), (edge.target.id, edge.target_field)):
                ends.append(f"{dataset}/{field}")
                columns[ends[-1]] = {"name": str(field), "headraceOrganisation": self._organisation}
                rows.append(_edge_row(f"has/{ends[-1]}", "HAS", str(dataset), ends[-1], {"stamp": stamp}))
            source, target = ends
            rows.append(_row(edge, "DERIVES", source, target, stamp, headraceTarget=str(edge.target_name)))
        _merge_nodes(graph, "Column", list(columns.items()))
        _merge_edges(graph, list({row["id"]: row for row in rows}.values()))

    def _store(self, graph: GraphTraversalSource, reached: Position) -> None:
        place = {"position": f"{reached.transaction_id}/{reached.outbox_id}"}
        _merge_nodes(graph, "HeadracePosition", [(self._mark, place)])

    def _removed(self, found: Callable[[GraphTraversalSource], GraphTraversal]) -> int:
        removed = 0
        while count := found(self._source).limit(_PAGE).count().next():
            self._transact(lambda graph: found(graph).limit(_PAGE).drop().iterate())
            removed += count
        return removed

    def _transact(self, work: Callable[[GraphTraversalSource], object]) -> None:
        transaction = self._source.tx()
        graph = transaction.begin()
        try:
            work(graph)
            transaction.commit()
        except BaseException:
            if transaction.is_open():
                transaction.rollback()
            raise


def _merge_nodes(
    graph: GraphTraversalSource, label: str, nodes: Sequence[tuple[str, Mapping[str, Any]]]
) -> None:
    """Create or replace vertices, by their ids."""
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import Merge, P, T

    for page in paged(nodes, _BATCH):
        ids = [each for each, _ in page]
        graph.V().has(_ID, P.within(ids)).properties().has_key_(P.neq(_ID)).drop().iterate()
        rows = [
            {
                "match": {_ID: each},
                "create": {T.label: label, _ID: each, **properties},
                "set": dict(properties),
            }
            for each, properties in page
        ]
        graph.inject(rows).unfold().as_("row").merge_v(__.select("row").select("match")).option(
            Merge.on_create, __.select("row").select("create")
        ).option(Merge.on_match, __.select("row").select("set")).iterate()


def _merge_edges(graph: GraphTraversalSource, edges: Sequence[Mapping[str, Any]]) -> None:
    """Create or replace edges between vertices that exist, by their ids."""
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import Direction, Merge, P, T

    for page in paged(edges, _BATCH):
        ids = [row["id"] for row in page]
        graph.E().has(_ID, P.within(ids)).drop().iterate()
        ends = {T.label: "", Direction.OUT: Merge.out_v, Direction.IN: Merge.in_v}
        rows = [
            {
                "match": {**ends, T.label: row["role"], _ID: row["id"]},
                "create": {**ends, T.label: row["role"], _ID: row["id"], **row["properties"]},
                "out": {_ID: row["source"]},
                "in": {_ID: row["target"]},
            }
            for row in page
        ]
        graph.inject(rows).unfold().as_("row").merge_e(__.select("row").select("match")).option(
            Merge.out_v, __.select("row").select("out")
        ).option(Merge.in_v, __.select("row").select("in")).option(
            Merge.on_create, __.select("row").select("create")
        ).iterate()


def _row(
    edge: Edge, role: str, source: UUID | str, target: UUID | str, stamp: str, **more: str
) -> dict[str, Any]:
    return _edge_row(
        str(edge.id), role, str(source), str(target), {**_plain(edge.properties), **more, "stamp": stamp}
    )


def _edge_row(id_: str, role: str, source: str, target: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id_, "role": role, "source": source, "target": target, "properties": properties}


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return values that JanusGraph's automatic schema gives one type for ever: text, or true and false."""
    return {
        _KEYS.get(name, name): value
        if isinstance(value, str | bool)
        else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in properties.items()
    }


def _batches(ids: Sequence[UUID]) -> Iterator[list[str]]:
    for page in paged(ids, _BATCH):
        yield [str(each) for each in page]
