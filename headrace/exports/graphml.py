"""The lineage graph as GraphML, for Gephi, yEd, Cytoscape and networkx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any
from uuid import UUID

import networkx as nx
from sqlalchemy import Engine

from headrace.catalog.outbox import Part
from headrace.exports.graph import Edge, edges, nodes, snapshot
from headrace.nouns import counted


class GraphML:
    """Exports the graph as GraphML."""

    def write(self, engine: Engine, organisation: UUID, file: IO[bytes]) -> str:
        """Write the current graph."""
        node_count, edge_count = write_graphml(engine, organisation, file)
        return f"{counted(node_count, 'node')} and {counted(edge_count, 'edge')}"


def write_graphml(engine: Engine, organisation: UUID, file: IO[bytes]) -> tuple[int, int]:
    """Write the organisation's current graph; returns the numbers of nodes and edges.

    Nodes are datasets, processes, and columns with lineage (`kind`); an edge has its `role`. Columns are linked to
    their dataset by HAS. The graph is built in memory: about 4 kB per node or edge.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    with snapshot(engine) as cursor:
        for part, kind in ((Part.DATASET, "dataset"), (Part.PROCESS, "process")):
            for page in nodes(cursor, part, organisation):
                for node in page:
                    graph.add_node(str(node.id), kind=kind, **_flat(node.properties))
        for each in edges(cursor, Part.EDGE, organisation):
            for edge in each:
                graph.add_edge(
                    str(edge.source.id),
                    str(edge.target.id),
                    str(edge.id),
                    role=edge.role,
                    **_flat(edge.properties),
                )
        for each in edges(cursor, Part.COLUMN_EDGE, organisation):
            for edge in each:
                _add_column_edge(graph, edge)
    nx.write_graphml(graph, file, encoding="utf-8")
    return graph.number_of_nodes(), graph.number_of_edges()


def _add_column_edge(graph: nx.MultiDiGraph[str], edge: Edge) -> None:
    ends = []
    for dataset, field in ((edge.source, edge.source_field), (edge.target, edge.target_field)):
        column = f"{dataset.id}/{field}"
        if column not in graph:
            key = graph.nodes[str(dataset.id)]["key"]
            graph.add_node(column, kind="column", **_flat({"key": f"{key}#{field}", "name": field}))
            graph.add_edge(str(dataset.id), column, f"{column}/HAS", role="HAS")
        ends.append(column)
    graph.add_edge(ends[0], ends[1], str(edge.id), role=edge.role, **_flat(edge.properties))


def _flat(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a value: GraphML has no lists, and XML no control characters."""
    return {name: _plain(value) for name, value in properties.items()}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(str(_plain(each)) for each in value)
    return "".join(filter(_is_xml, value)) if isinstance(value, str) else value


def _is_xml(character: str) -> bool:
    return character in "\t\n\r" or (character >= " " and character not in "\ufffe\uffff")
