"""Lineage as Graphviz DOT."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from headrace.queries.graph.process_lineage import ProcessLineage
from headrace.queries.names import ColumnEdge
from headrace.queries.rows import Lineage, VersionLineage


def dot(found: Lineage | VersionLineage | ProcessLineage) -> Iterator[str]:
    """Yield the lines of the graph of datasets, versions or processes."""
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for identity, label in _nodes(found):
        yield f"  {_quoted(identity)} [label={_quoted(label)}];"
    for edge in found.edges:
        yield f"  {_quoted(edge.source)} -> {_quoted(edge.target)};"
    yield "}"


def column_dot(edges: Iterable[ColumnEdge]) -> Iterator[str]:
    """Yield the lines of the graph of columns; dotted edges are possible, dashed ones indirect."""
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for edge in edges:
        style = "dotted" if edge.unknown is not None else "dashed" if edge.type == "INDIRECT" else "solid"
        yield (
            f"  {_column(edge.source_key, edge.source_field)} -> {_column(edge.target_key, edge.target_field)} "
            f"[style={style}, label={_quoted((edge.subtype or edge.type).lower())}];"
        )
    yield "}"


def _nodes(found: Any) -> Iterator[tuple[Hashable, str]]:  # noqa: ANN401 - either lineage
    for node in found.nodes:
        if hasattr(node, "version"):
            ref = node.version
            yield (
                ref.version_id,
                "\n".join([ref.dataset, *([ref.partition] if ref.partition else []), ref.tag]),
            )
        else:
            yield getattr(node, "id", node.key), node.key


def _column(key: str, name: str | None) -> str:
    return _quoted(f"{key}.{name}" if name else key)


def _quoted(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)
