"""The lineage of a dataset or process: a drawing, the same as a table, who is affected, and the sources of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import StringConstraints
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.api.datasets.datasets import show_dataset
from headrace.api.lineage import Level, Way, show_impact, show_lineage, show_process_lineage
from headrace.api.paging import Cursor
from headrace.api.slas import list_sla_statuses
from headrace.api.subjects import Database, dataset_named, process_named
from headrace.context import current_context
from headrace.errors import UnknownDataset
from headrace.pages.downloads import csv_file, file
from headrace.pages.forms import Time
from headrace.pages.lineage.folding import MAX_NODES, Graph, graph
from headrace.pages.lineage.layout import HEIGHT, WIDTH, drawing
from headrace.pages.rendering import answered, page, rendered
from headrace.pages.sessions import Viewer
from headrace.slas.queries import WORST_FIRST

router = APIRouter(include_in_schema=False)
_MAX_DEPTH = 10
_MAX_EXPANDED = 20  # nodes
_MAX_WALKED = 2 * MAX_NODES  # of each walk, from which the drawn ones are chosen
_MAX_READERS = 25  # on a page
_MAX_EXPORTED = 100_000  # readers in a CSV file
_MAX_MARKED = 500  # SLA objectives
_RANKS = {state.value: rank for rank, state in enumerate(WORST_FIRST)}
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_COLUMNS = ("depth", "kind", "key", "owners", "description")  # of the readers, in the CSV file

Kind = Literal["DATASET", "PROCESS"]
Shown = Literal["both", "upstream", "downstream"]
Expanded = Annotated[
    str, StringConstraints(pattern=r"^(upstream|downstream):(DATASET|PROCESS):[0-9a-f-]{36}$")
]


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
    as_of: Time = None,
    cursor: Cursor = None,
    show: Literal["impact"] | None = None,
    format: Literal["svg", "csv"] | None = None,
) -> Response:
    """Show the lineage of a dataset, or of a process of this key. show: only the readers, which
    take longer to find. format: the drawing, or the readers."""
    start_kind, start, start_key = _start(engine, caller, key, kind)
    if start_kind == "DATASET" and format == "csv":
        readers = _impact(engine, caller, start_key, as_of, None, _MAX_EXPORTED)["items"]
        rows = ([each[name] for name in _COLUMNS] for each in readers)
        return csv_file(f"{start_key}-impact.csv", ("steps", *_COLUMNS[1:]), rows)
    if start_kind == "DATASET" and show == "impact":
        impact = _impact(engine, caller, start_key, as_of, cursor, _MAX_READERS)
        return page(request, "lineage_impact.html", key=start_key, impact=impact)
    found = _graph(engine, caller, (start_kind, start), direction, depth, expand or (), as_of)
    marks = _marks(engine, caller, found)
    drawn = drawing([node.id for node in found.nodes], [(edge.source, edge.target) for edge in found.edges])
    shared: dict[str, Any] = {
        "key": start_key,
        "kind": start_kind,
        "graph": found,
        "nodes": {node.id: node for node in found.nodes},
        "drawing": drawn,
        "size": (WIDTH, HEIGHT),
        "marks": marks,
        "conditions": {(edge.source, edge.target): edge.condition for edge in found.edges if edge.condition},
        "expanded": expand or [],
    }
    if format == "svg":
        site = current_context().settings.service_url
        text = rendered(request, "lineage.svg", site=site, **shared)
        xml = _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text.strip())
        return file(f"{start_key}.svg", xml, "image/svg+xml")
    return page(
        request,
        "lineage.html",
        direction=direction,
        depth=depth,
        max_depth=_MAX_DEPTH,
        max_nodes=MAX_NODES,
        as_of=as_of,
        sources=_sources(found),
        columns=_columns(engine, caller, start_key) if start_kind == "DATASET" else [],
        column=column,
        column_sources=_column_sources(engine, caller, start_key, column, as_of) if column else None,
        **shared,
    )


def _start(engine: Engine, caller: Caller, key: str, kind: Kind | None) -> tuple[Kind, UUID, str]:
    """Return kind, id and key of the dataset, or else the process, of this key. Raises UnknownDataset,
    UnknownProcess."""
    if kind != "PROCESS":
        try:
            dataset = dataset_named(engine, caller, key)
        except UnknownDataset:
            if kind == "DATASET":
                raise
        else:
            return "DATASET", dataset.id, dataset.key
    return "PROCESS", process_named(engine, caller, key), key


def _graph(
    engine: Engine,
    caller: Caller,
    start: tuple[Kind, UUID],
    direction: Shown,
    depth: int,
    expand: Iterable[str],
    at: datetime | None,
) -> Graph:
    ways = list(Way) if direction == "both" else [Way(direction)]
    walks = [_walk(engine, caller, *start, way, _steps(start[0], depth), at) for way in ways]
    expanded: dict[str, set[str]] = {}
    for each in expand:
        way, kind, named = each.split(":")
        walks.append(_walk(engine, caller, kind, UUID(named), Way(way), _steps(kind, 1), at))
        expanded.setdefault(Way(way).direction, set()).add(named)
    return graph(str(start[1]), walks, expanded, depth)


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


def _sources(found: Graph) -> dict[str, list[str]]:
    """Return the nodes from which something leads directly to each node."""
    sources: dict[str, list[str]] = {node.id: [] for node in found.nodes}
    for edge in found.edges:
        sources[edge.target].append(edge.source)
    return sources


def _impact(
    engine: Engine, caller: Caller, key: str, at: datetime | None, cursor: str | None, limit: int
) -> Any:  # noqa: ANN401 - JSON
    dataset = dataset_named(engine, caller, key)
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
