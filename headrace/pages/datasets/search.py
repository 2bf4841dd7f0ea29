"""Search and browse datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from headrace.api.datasets.datasets import list_datasets
from headrace.api.datasets.search import count_datasets, find_datasets
from headrace.api.paging import Cursor
from headrace.api.processes import list_processes
from headrace.api.subjects import Database, Filtered
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer
from headrace.queries.search import NAMED_TAGS

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_MAX_PROCESSES = 5  # with the words, beside the datasets
_FILTERS = (
    ("domain", "Domain"),
    ("sla", "SLA status"),
    ("quality", "Quality score"),
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
    groups = _groups(answered(count_datasets(engine, caller, wanted, q)))
    return page(request, "dataset_counts.html", groups=groups)


def _groups(counts: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, list[tuple[str, str, int]]]]:
    """Return for each heading the parameter, and the values with their texts and numbers of datasets.

    A tag of NAMED_TAGS has a heading of its own, before the other tags.
    """
    found: dict[tuple[str, str], list[tuple[str, str, int]]] = {
        place: []
        for name, label in _FILTERS
        for place in [*([(name, tag.title()) for tag in NAMED_TAGS] if name == "tag" else []), (name, label)]
    }
    for each in counts:
        name, value = each["filter"], each["value"]
        tag, _, text = value.partition(": ") if name == "tag" else ("", "", value)
        if tag in NAMED_TAGS:
            found[name, tag.title()].append((value, text, each["count"]))
        else:
            found[name, dict(_FILTERS)[name]].append((value, value, each["count"]))
    return [(*place, values) for place, values in found.items() if values]
