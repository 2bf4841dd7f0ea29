"""Search and browse datasets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from headrace.api.datasets.datasets import list_datasets
from headrace.api.datasets.search import count_datasets, find_datasets
from headrace.api.paging import Cursor
from headrace.api.processes import list_processes
from headrace.api.subjects import Database, Filtered
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_MAX_PROCESSES = 5  # with the words, beside the datasets
_FILTERS = (
    ("domain", "Domain"),
    ("sla", "SLA status"),
    ("owner", "Owner"),
    ("tag", "Tag"),
    ("column_tag", "Tag of a column"),
    ("format", "Format"),
)
Words = Annotated[str, Query(max_length=500)]


@router.get("/datasets")
def show_datasets(
    request: Request,
    engine: Database,
    caller: Viewer,
    wanted: Filtered,
    q: Words = "",
    cursor: Cursor = None,
) -> Response:
    """Show the datasets that match words and filters, and some processes with the words; without words, by key."""
    found = (
        find_datasets(engine, caller, wanted, q, cursor, _PER_PAGE)
        if q.strip()
        else list_datasets(engine, caller, wanted, cursor=cursor, limit=_PER_PAGE)
    )
    processes = (
        answered(list_processes(engine, caller, q, limit=_MAX_PROCESSES + 1))["items"] if q.strip() else []
    )
    return page(
        request,
        "datasets.html",
        found=answered(found),
        q=q,
        filters=_FILTERS,
        processes=processes,
        max_processes=_MAX_PROCESSES,
    )


@router.get("/datasets/counts")
def show_dataset_counts(
    request: Request, engine: Database, caller: Viewer, wanted: Filtered, q: Words = ""
) -> Response:
    """Show the number of datasets for each value of the filters, a part of the page of datasets."""
    counts = answered(count_datasets(engine, caller, wanted, q))
    return page(request, "dataset_counts.html", counts=counts, filters=_FILTERS)
