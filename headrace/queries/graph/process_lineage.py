"""Lineage including processes: writers, readers and scheduling dependencies."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.database.connection import transaction
from headrace.queries.lineage import MAX_NODES
from headrace.queries.rows import Direction
from headrace.queries.sql import statement


@dataclass(frozen=True, slots=True)
class ProcessNode:
    """A dataset or a process, `depth` edges from the first; `hidden` counts its edges to nodes that are not shown.

    technology, box: of a process. migration: its migration state; that of a scanned job is `legacy`.
    """

    id: UUID
    kind: Public[str]
    key: SubjectKey
    depth: int
    hidden: int
    owners: Public[tuple[str, ...]]
    technology: Public[str | None]
    box: Public[str | None]
    migration: Public[str | None]


@dataclass(frozen=True, slots=True)
class ProcessEdge:
    """Data or a dependency from source to target.

    role: CONSUMES, PRODUCES, DERIVES (from process to process, or between datasets if no process is known), or AWAITS:
    the target runs after the source has met the condition, in its system's notation (`s(JOB)`).
    """

    source: UUID
    target: UUID
    role: Public[str]
    condition: Public[str | None]


@dataclass(frozen=True, slots=True)
class ProcessLineage:
    """Upstream or downstream lineage of a dataset or process, including processes."""

    direction: Direction
    nodes: tuple[ProcessNode, ...]
    edges: tuple[ProcessEdge, ...]
    truncated: bool


def process_lineage(
    engine: Engine,
    start: UUID,
    direction: Direction,
    depth: int,
    *,
    as_of: datetime | None = None,
    max_nodes: int = MAX_NODES,
) -> ProcessLineage:
    """Return the datasets and processes within `depth` edges, by current edges or those at `as_of`."""
    walk: dict[str, Any] = {
        "start": start,
        "up": direction is Direction.UP,
        "depth": depth,
        "nodes": max_nodes,
        "at": as_of or datetime.now(UTC),
    }
    with transaction(engine) as cursor:
        nodes = statement("lineage/process_lineage").execute(cursor, walk).fetchall()
        walk["ids"] = [node["id"] for node in nodes]
        edges = statement("lineage/process_lineage_edges").execute(cursor, walk).fetchall()
    hidden = Counter({row["near"]: row["edges"] for row in edges if row["far"] is None})
    return ProcessLineage(
        direction=direction,
        nodes=tuple(
            ProcessNode(**{**node, "owners": tuple(node["owners"]), "hidden": hidden[node["id"]]})
            for node in nodes
        ),
        edges=tuple(
            ProcessEdge(
                *((row["far"], row["near"]) if direction is Direction.UP else (row["near"], row["far"])),
                row["role"],
                row["condition"],
            )
            for row in edges
            if row["far"] is not None
        ),
        truncated=bool(hidden),
    )
