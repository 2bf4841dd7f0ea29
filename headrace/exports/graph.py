"""The current lineage graph, read page by page: datasets, processes, columns and edges.

For external tools: passwords are redacted everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.redaction import scrubbed
from headrace.catalog.outbox import Part, Rows
from headrace.database.connection import transaction

PAGE = 2000  # rows per page: kept in memory, and in one statement of the target


@dataclass(frozen=True, slots=True)
class Node:
    """A dataset or a process. properties: text, numbers and lists of text, without unknown ones."""

    id: UUID
    properties: dict[str, Any]


class Entity(NamedTuple):
    """An end of an edge. kind: DATASET or PROCESS."""

    kind: str
    id: UUID


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge in the direction of data flow, between entities: each a DATASET or a PROCESS, and its id.

    role: CONSUMES, PRODUCES or DERIVES. For an edge between columns, source_field and target_field are the columns (`*`
    is the whole dataset), and target_name is the `dataset_name.name_id` under which the target was reported.
    """

    id: UUID
    source: Entity
    target: Entity
    role: str
    properties: dict[str, Any]
    source_field: str | None = None
    target_field: str | None = None
    target_name: UUID | None = None


@contextmanager
def snapshot(engine: Engine) -> Iterator[Rows]:
    """Yield a cursor on a snapshot of the catalog, so that edges are consistent with nodes however long reading
    takes."""
    with transaction(engine) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield cursor


def nodes(cursor: Rows, part: Part, organisation: UUID) -> Iterator[list[Node]]:
    """Yield all datasets or all processes, by page."""
    for page in _pages(cursor, part, organisation):
        yield [_node(row) for row in page]


def edges(cursor: Rows, part: Part, organisation: UUID) -> Iterator[list[Edge]]:
    """Yield all current edges, of datasets and processes or of columns, by page."""
    for page in _pages(cursor, part, organisation, only="current"):
        yield [_edge(row) for row in page]


def nodes_of(cursor: Rows, part: Part, ids: Sequence[UUID]) -> list[Node]:
    """Return the existing nodes with these ids."""
    return [_node(row) for row in _named(cursor, part, "id", ids)]


def edges_of(cursor: Rows, ids: Sequence[UUID]) -> tuple[list[Edge], list[Edge]]:
    """Return the edges of these ids: the current ones, and those that have ended."""
    rows = _named(cursor, Part.EDGE, "id", ids)
    return [_edge(row) for row in rows if row["current"]], [_edge(row) for row in rows if not row["current"]]


def column_edges_into(cursor: Rows, names: Sequence[UUID]) -> list[Edge]:
    """Return the current column edges into the datasets with these `dataset_name.name_id`s."""
    return [_edge(row) for row in _named(cursor, Part.COLUMN_EDGE, "target_name_id", names) if row["current"]]


def _pages(
    cursor: Rows, part: Part, organisation: UUID, only: str = "true"
) -> Iterator[list[dict[str, Any]]]:
    after = UUID(int=0)
    while True:
        cursor.execute(
            f"SELECT * FROM catalog.{part} "  # noqa: S608 - constants of this module
            f"WHERE organisation_id = %s AND id > %s AND {only} ORDER BY id LIMIT {PAGE}",
            [organisation, after],
        )
        page = cursor.fetchall()
        if page:
            yield page
        if len(page) < PAGE:
            return
        after = page[-1]["id"]


def _named(cursor: Rows, part: Part, by: str, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    cursor.execute(f"SELECT * FROM catalog.{part} WHERE {by} = ANY (%s)", [list(ids)])  # noqa: S608
    return cursor.fetchall()


def _node(row: dict[str, Any]) -> Node:
    return Node(row["id"], scrubbed(row["properties"]))


def _edge(row: dict[str, Any]) -> Edge:
    return Edge(
        id=row["id"],
        source=Entity(row.get("source_type", "DATASET"), row["source_id"]),
        target=Entity(row.get("target_type", "DATASET"), row["target_id"]),
        role=row["role"],
        properties=scrubbed(row["properties"]),
        source_field=row.get("source_field"),
        target_field=row.get("target_field"),
        target_name=row.get("target_name_id"),
    )
