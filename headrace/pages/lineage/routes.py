"""The lineage of a dataset or process: a drawing, the same as a table, who is affected, and the sources of a column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, StringConstraints
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.api.datasets.datasets import show_dataset
from headrace.api.datasets.search import find_datasets
from headrace.api.lineage import (
    Level,
    Way,
    show_impact,
    show_lineage,
    show_paths,
    show_process_impact,
    show_process_lineage,
)
from headrace.api.paging import Cursor
from headrace.api.slas import list_sla_statuses
from headrace.api.subjects import Database, Kind, Subject, dataset_named, process_named, subject_named
from headrace.context import current_context
from headrace.errors import UnknownProcess
from headrace.pages.downloads import csv_file, file
from headrace.pages.forms import Time, none_if_empty
from headrace.pages.lineage.folding import MAX_NODES, Graph, graph, path_graph
from headrace.pages.lineage.grouping import Grouping, filtered, groups
from headrace.pages.lineage.layout import HEIGHT, WIDTH, drawing
from headrace.pages.rendering import answered, page, rendered
from headrace.pages.sessions import Viewer
from headrace.queries.filters import ALL_DATASETS
from headrace.queries.names import DatasetRef
from headrace.slas.queries import WORST_FIRST

router = APIRouter(include_in_schema=False)
_MAX_DEPTH = 10
_MAX_EXPANDED = 20  # nodes
_MAX_WALKED = 2 * MAX_NODES  # of each walk, from which the drawn ones are chosen
_MAX_READERS = 25  # on a page
_MAX_EXPORTED = 100_000  # readers in a CSV file
_MAX_MARKED = 500  # SLA objectives
_MAX_SUGGESTED = 5  # datasets, for a name that no dataset has
_RANKS = {state.value: rank for rank, state in enumerate(WORST_FIRST)}
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_COLUMNS = ("depth", "kind", "key", "owners", "description")  # of the readers, in the CSV file

Shown = Literal["both", "upstream", "downstream"]
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
Expanded = Annotated[str, StringConstraints(pattern=rf"^(upstream|downstream):(DATASET|PROCESS):{_UUID}$")]


@router.get("/lineage/{key:path}")
def show_lineage_page(
    request: Request,
    engine: Database,
    caller: Viewer,
    key: str,
    kind: Kind | None = None,
    direction: Shown = "both",
    depth: Annotated[int, Query(ge=1, le=_MAX_DEPTH)] = 1,
    expand: Annotated[list[Expanded] | None, Query(max_length=_MAX_EXPANDED)] = None,
    column: Annotated[str, Query(max_length=1000)] = "",
    to: Annotated[str, Query(max_length=4000)] = "",
    status: Annotated[str, Query(max_length=100)] = "",
    owner: Annotated[str, Query(max_length=1000)] = "",
    migration: Annotated[str, Query(max_length=100)] = "",
    group: Annotated[Grouping | None, BeforeValidator(none_if_empty)] = None,
    as_of: Time = None,
    cursor: Cursor = None,
    show: Literal["impact"] | None = None,
    format: Literal["svg", "csv"] | None = None,
) -> Response:
    """Show the lineage of a dataset, or of a process of this key. to: only the shortest paths between
    the two. status, owner, migration: only what has them, the rest folded. group: in a lane each. show: only the
    readers, which take longer to find. format: the drawing, or the readers."""
    start = subject_named(engine, caller, key, kind)
    if format == "csv":
        readers = _impact(engine, caller, start, as_of, None, _MAX_EXPORTED)["items"]
        rows = ([each[name] for name in _COLUMNS] for each in readers)
        return csv_file(f"{start.key}-impact.csv", ("steps", *_COLUMNS[1:]), rows)
    if show == "impact":
        impact = _impact(engine, caller, start, as_of, cursor, _MAX_READERS)
        return page(request, "lineage_impact.html", key=start.key, kind=start.kind, impact=impact)
    path = _path(engine, caller, start, to.strip(), as_of) if to.strip() else None
    if path and path.answer:
        found = path_graph(str(start.id), path.answer)
        status, owner, migration, group = "", "", "", None
    else:
        found = _graph(engine, caller, start, direction, depth, expand or (), as_of)
    # SLA statuses are those of today, and would be wrong beside a lineage of the past.
    whole, marks = found, {} if as_of else _marks(engine, caller, found)
    if status or owner or migration:
        found = filtered(whole, _wanted(whole, marks, status, owner, migration))
    drawn = drawing(
        [node.id for node in found.nodes],
        [(edge.source, edge.target) for edge in found.edges],
        groups(found, group) if group else None,
    )
    shared: dict[str, Any] = {
        "key": start.key,
        "kind": start.kind,
        "graph": found,
        "nodes": {node.id: node for node in found.nodes},
        "drawing": drawn,
        "size": (WIDTH, HEIGHT),
        "marks": marks,
        "conditions": {(edge.source, edge.target): edge.condition for edge in found.edges if edge.condition},
        "expanded": expand or [],
        "group": group,
    }
    if format == "svg":
        site = current_context().settings.service_url
        text = rendered(request, "lineage.svg", site=site, **shared)
        xml = _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text.strip())
        return file(f"{start.key}.svg", xml, "image/svg+xml")
    return page(
        request,
        "lineage.html",
        direction=direction,
        depth=depth,
        max_depth=_MAX_DEPTH,
        max_nodes=MAX_NODES,
        as_of=as_of,
        path=path,
        owner=owner,
        migration=migration,
        migrations=sorted({each.migration for each in whole.nodes if each.migration} | ({migration} - {""})),
        status_wanted=status,
        owners=sorted({each for node in whole.nodes for each in node.owners} | ({owner} - {""})),
        statuses=sorted(set(marks.values()) | ({status} - {""})),
        count=len(whole.nodes),
        matching=sum(not node.folded for node in found.nodes),
        sources=_sources(found),
        columns=_columns(engine, caller, start.key) if start.kind == "DATASET" else [],
        column=column,
        column_sources=_column_sources(engine, caller, start.key, column, as_of) if column else None,
        **shared,
    )


@dataclass(frozen=True, slots=True)
class Path:
    """The search for a path to what was named `to`. answer: of the API, if a path was found. suggested: similar
    datasets, if the name is unknown."""

    to: str
    is_known: bool = True
    answer: Mapping[str, Any] | None = None
    truncated: bool = False
    suggested: tuple[str, ...] = ()


def _path(engine: Engine, caller: Caller, start: Subject, to: str, at: datetime | None) -> Path:
    """Find the shortest paths in the direction of the data, or else against it."""
    try:
        end = subject_named(engine, caller, to)
    except UnknownProcess:
        similar = answered(find_datasets(engine, caller, ALL_DATASETS, to[:500], None, _MAX_SUGGESTED))
        return Path(to, is_known=False, suggested=tuple(each["key"] for each in similar["items"]))
    truncated = False
    for source, target in ((start, end), (end, start)):
        answer = answered(
            show_paths(engine, caller, str(source.id), str(target.id), source.kind, target.kind, at)
        )
        if answer["steps"] is not None:
            return Path(end.key, answer=answer)
        truncated = truncated or answer["truncated"]
    return Path(end.key, truncated=truncated)


def _graph(
    engine: Engine,
    caller: Caller,
    start: Subject,
    direction: Shown,
    depth: int,
    expand: Iterable[str],
    at: datetime | None,
) -> Graph:
    ways = list(Way) if direction == "both" else [Way(direction)]
    steps = _steps(start.kind, depth)
    walks = [_walk(engine, caller, start.kind, start.id, way, steps, at) for way in ways]
    expanded: dict[str, set[str]] = {}
    for each in expand:
        way, kind, named = each.split(":")
        walks.append(_walk(engine, caller, kind, UUID(named), Way(way), _steps(kind, 1), at))
        expanded.setdefault(Way(way).direction, set()).add(named)
    return graph(str(start.id), walks, expanded, depth)


def _steps(kind: str, depth: int) -> int:
    """Return the steps of the API: a dataset's neighbours are behind a process."""
    return 2 * depth if kind == "DATASET" else 2 * depth - 1


def _walk(
    engine: Engine, caller: Caller, kind: str, start: UUID, way: Way, steps: int, at: datetime | None
) -> Any:  # noqa: ANN401 - JSON
    if kind == "PROCESS":
        process = process_named(engine, caller, str(start))
        return answered(show_process_lineage(engine, caller, process, way, steps, at, _MAX_WALKED))
    dataset = dataset_named(engine, caller, str(start))
    return answered(show_lineage(engine, caller, dataset, way, steps, Level.PROCESS, at, nodes=_MAX_WALKED))


def _marks(engine: Engine, caller: Caller, found: Graph) -> dict[tuple[str, str], str]:
    """Return the worst SLA status of each drawn dataset and process, by kind and key."""
    keys = sorted({node.key for node in found.nodes})
    items = answered(list_sla_statuses(engine, caller, key=keys, limit=_MAX_MARKED))["items"]
    items.sort(key=lambda each: _RANKS[each["state"]], reverse=True)
    return {(each["subject_type"], each["key"]): each["state"] for each in items}


def _wanted(
    found: Graph, marks: Mapping[tuple[str, str], str], status: str, owner: str, migration: str
) -> Collection[str]:
    return {
        node.id
        for node in found.nodes
        if (not status or marks.get((node.kind, node.key)) == status)
        and (not owner or owner in node.owners)
        and (not migration or node.migration == migration)
    }


def _sources(found: Graph) -> dict[str, list[str]]:
    """Return the nodes from which something leads directly to each node."""
    sources: dict[str, list[str]] = {node.id: [] for node in found.nodes}
    for edge in found.edges:
        sources[edge.target].append(edge.source)
    return sources


def _impact(
    engine: Engine, caller: Caller, start: Subject, at: datetime | None, cursor: str | None, limit: int
) -> Any:  # noqa: ANN401 - JSON
    if start.kind == "PROCESS":
        return answered(show_process_impact(engine, caller, start.id, None, at, cursor, limit))
    dataset = DatasetRef(start.id, start.key)
    return answered(show_impact(engine, caller, dataset, None, at, cursor, limit))


def _columns(engine: Engine, caller: Caller, key: str) -> list[str]:
    found = answered(show_dataset(engine, caller, dataset_named(engine, caller, key)))
    columns = found["dataset"]["columns"]
    if not columns and found["newest_versions"]:
        columns = found["newest_versions"][0]["version"]["columns"]
    return [each["name"] for each in columns]


def _column_sources(engine: Engine, caller: Caller, key: str, column: str, at: datetime | None) -> Any:  # noqa: ANN401 - JSON
    dataset = dataset_named(engine, caller, key)
    return answered(show_lineage(engine, caller, dataset, Way.UPSTREAM, 1, Level.COLUMN, at, column=column))
