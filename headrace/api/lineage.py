"""Routes for lineage and impact: datasets, versions, columns and processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Engine
from starlette.responses import Response

from headrace import queries
from headrace.access.sensitivity import Public, SubjectKey
from headrace.api.paging import Cursor, Limit, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import (
    AsOf,
    Database,
    Dataset,
    Kind,
    Partition,
    Process,
    Reader,
    Subject,
    subject_named,
)
from headrace.http.problems import RequestRefused
from headrace.queries.columns import ColumnPlace, check_column
from headrace.queries.graph.paths import Ends, Paths, shortest_paths
from headrace.queries.graph.process_lineage import ProcessLineage, process_lineage
from headrace.queries.impact import MAX_DEPTH, impact
from headrace.queries.impact import Reader as Hit
from headrace.queries.lineage import MAX_NODES
from headrace.queries.names import ColumnEdge, column_lineage
from headrace.queries.process_detail import find_process
from headrace.queries.rows import Direction, Lineage, VersionLineage

router = APIRouter(prefix="/api/v1", tags=["lineage"])
_MAX_COLUMN_EDGES = 10_000


class Way(StrEnum):
    """Direction: UPSTREAM for sources, DOWNSTREAM for derived nodes."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"

    @property
    def direction(self) -> Direction:
        """The direction in the catalog's terms."""
        return Direction.UP if self is Way.UPSTREAM else Direction.DOWN


class Level(StrEnum):
    """Node level of the lineage."""

    DATASET = "dataset"
    VERSION = "version"
    COLUMN = "column"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class ColumnEdges:
    """Column edges. truncated: there are more than are returned."""

    key: SubjectKey
    direction: Direction
    edges: list[ColumnEdge]
    truncated: bool


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    """A page of readers, nearest first, with the total numbers of datasets and processes.

    truncated: there are more than were counted. next: the cursor of the next page.
    """

    key: SubjectKey
    datasets: int
    processes: int
    truncated: bool
    items: tuple[Hit, ...]
    next: Public[str | None]


Direction_ = Annotated[Way, Query(alias="direction", description="The direction of the traversal.")]
Nodes = Annotated[
    int, Query(ge=1, le=MAX_NODES, description="Maximum number of nodes; not for level column.")
]
Depth = Annotated[int, Query(ge=1, le=100, description="Maximum number of steps.")]
ImpactDepth = Annotated[
    int | None,
    Query(ge=1, le=MAX_DEPTH, description="Maximum number of steps: 1 for direct readers; all if omitted."),
]
End = Annotated[str, Query(max_length=4000, description="Key or id of a dataset, or else of a process.")]
EndKind = Annotated[Kind | None, Query(description="Its kind, where both have this key.")]


@router.get(
    "/dataset/{dataset:key}/lineage",
    summary="Show the lineage of a dataset",
    response_model=Lineage | VersionLineage | ColumnEdges | ProcessLineage,
)
def show_lineage(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    way: Direction_ = Way.UPSTREAM,
    depth: Depth = 3,
    level: Annotated[Level, Query(description="Between what.")] = Level.DATASET,
    as_of: AsOf = None,
    version: Annotated[
        str | None, Query(max_length=1000, description="Only the version with this tag; for level version.")
    ] = None,
    partition: Partition = None,
    column: Annotated[
        str | None, Query(max_length=1000, description="Only this column; for level column.")
    ] = None,
    nodes: Nodes = MAX_NODES,
) -> Response:
    """Show the neighbours within some steps, and the edges between them.

    A traversal stops at some number of nodes and says so; each node has the number of its hidden neighbours.
    """
    _refuse_misplaced(level, version=version, partition=partition, column=column, as_of=as_of)
    direction = way.direction
    found: Lineage | VersionLineage | ProcessLineage
    if level is Level.VERSION:
        found = queries.version_lineage(
            engine,
            dataset.key,
            direction,
            depth,
            tag=version,
            partition=partition,
            as_of=as_of,
            max_nodes=nodes,
        )
    elif level is Level.COLUMN:
        check_column(engine, ColumnPlace(dataset.id, dataset.key, column))
        edges = column_lineage(
            engine, dataset.id, direction, depth, field=column, as_of=as_of, limit=_MAX_COLUMN_EDGES + 1
        )
        more = len(edges) > _MAX_COLUMN_EDGES
        columns = ColumnEdges(dataset.key, direction, edges[:_MAX_COLUMN_EDGES], more)
        return shown(engine, caller, columns)
    elif level is Level.PROCESS:
        found = process_lineage(engine, dataset.id, direction, depth, as_of=as_of, max_nodes=nodes)
    else:
        found = queries.lineage(engine, dataset.key, direction, depth, as_of=as_of, max_nodes=nodes)
    return shown(engine, caller, found)


@router.get(
    "/process/{process:key}/lineage",
    summary="Show the lineage of a process",
    response_model=ProcessLineage,
)
def show_process_lineage(
    engine: Database,
    caller: Reader,
    process: Process,
    way: Direction_ = Way.UPSTREAM,
    depth: Depth = 3,
    as_of: AsOf = None,
    nodes: Nodes = MAX_NODES,
) -> Response:
    """Show alternating datasets and processes; each edge is a step."""
    found = process_lineage(engine, process, way.direction, depth, as_of=as_of, max_nodes=nodes)
    return shown(engine, caller, found)


@router.get("/lineage/path", summary="Show the shortest paths between two nodes", response_model=Paths)
def show_paths(
    engine: Database,
    caller: Reader,
    source: End,
    target: End,
    source_kind: EndKind = None,
    target_kind: EndKind = None,
    as_of: AsOf = None,
) -> Response:
    """Show all datasets and processes on the shortest paths from source to target, in the direction of the data.

    A path leads over what the caller may see. `steps` is null if the two are not connected in this direction.
    """
    ends = [
        subject_named(engine, caller, key, kind)
        for key, kind in ((source, source_kind), (target, target_kind))
    ]
    found = shortest_paths(engine, Ends(*(each.id for each in ends)), as_of)
    return shown(engine, caller, found)


@router.get(
    "/dataset/{dataset:key}/impact",
    summary="Show direct and transitive readers of a dataset",
    response_model=ImpactAnswer,
)
def show_impact(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    depth: ImpactDepth = None,
    as_of: AsOf = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Show derived datasets and the processes that read any of them, with owners, nearest first."""
    start = Subject("DATASET", dataset.id, dataset.key)
    return shown(engine, caller, _impact(engine, start, depth, as_of, cursor, limit))


@router.get(
    "/process/{process:key}/impact",
    summary="Show what is downstream of a process",
    response_model=ImpactAnswer,
)
def show_process_impact(
    engine: Database,
    caller: Reader,
    process: Process,
    depth: ImpactDepth = None,
    as_of: AsOf = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Show the datasets that it writes, and everything that reads them or waits for it, with owners, nearest first;
    each edge is a step."""
    start = Subject("PROCESS", *find_process(engine, str(process)))
    return shown(engine, caller, _impact(engine, start, depth, as_of, cursor, limit))


def _impact(
    engine: Engine, start: Subject, depth: int | None, as_of: datetime | None, cursor: str | None, limit: int
) -> ImpactAnswer:
    after = place_of(cursor, tuple[int, str, str]) if cursor else (0, "", "")
    found = impact(
        engine,
        start.id,
        depth or MAX_DEPTH,
        of_process=start.kind == "PROCESS",
        after=after,
        limit=limit + 1,
        as_of=as_of,
    )
    last = found.readers[limit - 1] if len(found.readers) > limit else None
    return ImpactAnswer(
        key=start.key,
        datasets=found.datasets,
        processes=found.processes,
        truncated=found.truncated,
        items=found.readers[:limit],
        next=cursor_of(last.depth, last.kind, last.key) if last else None,
    )


def _refuse_misplaced(level: Level, **given: object) -> None:
    """Raise Refused for parameters without a meaning at this level: ignoring them would give a misleading answer."""
    means = {
        Level.DATASET: {"as_of"},
        Level.VERSION: {"version", "partition", "as_of"},
        Level.COLUMN: {"column", "as_of"},
        Level.PROCESS: {"as_of"},
    }[level]
    for name, value in given.items():
        if value is not None and name not in means:
            raise RequestRefused(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"{name} does not apply to level {level}",
                field=f"query.{name}",
            )
    if given["version"] is not None and given["as_of"] is not None:
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "version and as_of cannot be combined", field="query.as_of"
        )
