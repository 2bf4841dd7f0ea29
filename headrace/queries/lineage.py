"""Upstream and downstream lineage of a dataset or an exact version."""

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Outcome, Version
from headrace.database.connection import transaction
from headrace.errors import UnknownVersion
from headrace.queries.rows import (
    Direction,
    Lineage,
    LineageEdge,
    LineageNode,
    VersionEdge,
    VersionLineage,
    VersionNode,
    VersionRef,
)
from headrace.queries.sql import statement
from headrace.queries.versions import published

_T = TypeVar("_T")

MAX_NODES = 2000  # the traversal stops there and sets `truncated`

_STARTS = """
SELECT dataset_version_id FROM catalog.dataset_version
WHERE dataset_id = %(dataset_id)s AND version_tag = %(tag)s
  AND (%(partition)s::text IS NULL OR partition_key = %(partition)s)
"""
_STARTS_AS_OF = """
SELECT dataset_version_id FROM (
    SELECT DISTINCT ON (partition_key) dataset_version_id FROM catalog.pointer_move
    WHERE dataset_id = %(dataset_id)s AND moved_at <= %(as_of)s
      AND (%(partition)s::text IS NULL OR partition_key = %(partition)s)
    ORDER BY partition_key, generation DESC
) move
WHERE dataset_version_id IS NOT NULL
"""


def lineage(
    engine: Engine,
    key: str,
    direction: Direction = Direction.UP,
    depth: int = 3,
    *,
    as_of: datetime | None = None,
    max_nodes: int = MAX_NODES,
) -> Lineage:
    """Return the datasets within `depth` steps, by current edges or those at `as_of`. Raises UnknownDataset."""
    with transaction(engine) as cursor:
        walk: dict[str, Any] = {
            "dataset_id": dataset_ids(cursor, {key})[key],
            "up": direction is Direction.UP,
            "depth": depth,
            "nodes": max_nodes,
            "at": as_of or datetime.now(UTC),
        }
        nodes = statement("lineage/reach").execute(cursor, walk).fetchall()
        walk["ids"] = [node["dataset_id"] for node in nodes]
        edges = statement("lineage/edges").execute(cursor, walk).fetchall()
    hidden = Counter({edge["near"]: edge["edges"] for edge in edges if edge["far"] is None})
    names = {str(node["dataset_id"]): node["full_name"] for node in nodes}
    shown = sorted(
        (names[edge["near"]], names[edge["far"]], edge["process_key"] or "")
        for edge in edges
        if edge["far"] is not None
    )
    return Lineage(
        key=key,
        direction=direction,
        nodes=tuple(
            LineageNode(node["full_name"], node["depth"], hidden[str(node["dataset_id"])]) for node in nodes
        ),
        edges=tuple(
            LineageEdge(far, near, process or None)
            if direction is Direction.UP
            else LineageEdge(near, far, process or None)
            for near, far, process in shown
        ),
        truncated=bool(hidden),
    )


def version_lineage(
    engine: Engine,
    key: str,
    direction: Direction = Direction.UP,
    depth: int = 3,
    *,
    tag: str | None = None,
    partition: str | None = None,
    as_of: datetime | None = None,
    max_nodes: int = MAX_NODES,
) -> VersionLineage:
    """Return the exact versions within `depth` steps of the version `tag`, or of what was published at `as_of` (or is
    now).

    All partitions, or one. Raises UnknownDataset, UnknownVersion if there is no version to start from.
    """
    with transaction(engine) as cursor:
        start = {
            "dataset_id": dataset_ids(cursor, {key})[key],
            "tag": tag,
            "partition": partition,
            "as_of": as_of or datetime.now(UTC),
        }
        cursor.execute(_STARTS_AS_OF if tag is None else _STARTS, start)
        starts = [row["dataset_version_id"] for row in cursor]
        if not starts:
            which = (
                f"version {tag}"
                if tag
                else "version published" + (f" by {as_of.isoformat()}" if as_of else "")
            )
            raise UnknownVersion(f"{key}{f' partition {partition}' if partition else ''} has no {which}")
        nodes, edges = _walk_versions(cursor, starts, direction, depth, max_nodes)
    hidden = _hidden((edge["near"], edge["far"]) for edge in edges)
    return VersionLineage(
        key=key,
        direction=direction,
        nodes=tuple(
            VersionNode(
                version=VersionRef(
                    node["version_id"], node["dataset"], node["partition_key"] or None, node["tag"]
                ),
                outcome=Outcome(node["outcome"]),
                run_id=node["run_id"],
                depth=node["depth"],
                hidden=hidden[node["version_id"]],
            )
            for node in nodes
        ),
        edges=tuple(
            VersionEdge(*_oriented(direction, edge["near"], edge["far"]))
            for edge in edges
            if edge["far"] is not None
        ),
        truncated=bool(hidden),
    )


def published_from(engine: Engine, version: Version) -> dict[str, list[str | None]]:
    """Return the partitions, by dataset, whose published version was derived from `version`, directly or indirectly."""
    nodes = version_lineage(
        engine,
        version.dataset,
        Direction.DOWN,
        depth=100,
        tag=version.tag,
        partition=version.partition,
    ).nodes
    made = {node.version.version_id for node in nodes if node.depth > 0}
    keys = sorted({node.version.dataset for node in nodes if node.depth > 0})
    stale: dict[str, list[str | None]] = {}
    for row in published(engine, keys):
        if row.version.version_id in made:
            stale.setdefault(row.dataset, []).append(row.partition)
    return stale


def _walk_versions(
    cursor: Cursor[Any], starts: list[UUID], direction: Direction, depth: int, max_nodes: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    walk: dict[str, Any] = {
        "start": starts,
        "up": direction is Direction.UP,
        "depth": depth,
        "nodes": max(max_nodes, len(starts)),
    }
    nodes = statement("lineage/version_lineage").execute(cursor, walk).fetchall()
    walk["ids"] = [node["version_id"] for node in nodes]
    return nodes, statement("lineage/version_lineage_edges").execute(cursor, walk).fetchall()


def _hidden(edges: Iterable[tuple[Hashable, object]]) -> Counter[Hashable]:
    """Return, for each node, the number of its edges to hidden nodes."""
    return Counter(near for near, far in edges if far is None)


def _oriented(direction: Direction, near: _T, far: _T) -> tuple[_T, _T]:
    return (far, near) if direction is Direction.UP else (near, far)
