"""The columns of a dataset."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from headrace.api.datasets.datasets import list_schemas, list_statistics, show_dataset
from headrace.api.datasets.sensitive import list_suggestions, show_sensitive
from headrace.api.paging import MAX_PAGE_SIZE
from headrace.api.subjects import Database
from headrace.catalog.sensitivity_suggestions import SuggestionStatus
from headrace.http.problems import RequestRefused
from headrace.pages.datasets.subject import Dataset, published_version, view
from headrace.pages.datasets.trends import column_trends
from headrace.pages.rendering import answered
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/datasets/{dataset:key}/columns")
def show_columns(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    column: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Show the columns of the published version with statistics, how they changed, and the trend of one."""
    about = answered(show_dataset(engine, caller, dataset))
    version = published_version(engine, caller, dataset, about)
    measured = answered(list_statistics(engine, caller, dataset, column=column)) if column else []
    known = {each["name"] for each in version["version"]["columns"]} if version else set()
    if column and column not in known and not any(each["statistics"] for each in measured):
        raise RequestRefused(HTTPStatus.NOT_FOUND, f"no version of {dataset.key} has a column {column}")
    return view(
        request,
        engine,
        caller,
        dataset,
        "columns",
        about=about,
        version=version,
        sensitive=answered(show_sensitive(engine, caller, dataset))["columns"],
        suggested={
            each["column"]: each
            for each in answered(
                list_suggestions(engine, caller, dataset.key, SuggestionStatus.PENDING, limit=MAX_PAGE_SIZE)
            )["items"]
        },
        schemas=answered(list_schemas(engine, caller, dataset))["items"],
        column=column,
        measured=measured,
        trends=column_trends(measured, column) if column else (),
    )
