"""The columns of a dataset."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from headrace.api.columns import show_sensitive
from headrace.api.datasets import (
    list_schemas,
)
from headrace.api.subjects import Database
from headrace.pages.datasets.subject import Dataset, published_version, view
from headrace.pages.rendering import answered
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/datasets/{dataset:key}/columns")
def show_columns(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show the columns of the published version with statistics, and how they changed."""
    return view(
        request,
        engine,
        caller,
        dataset,
        "columns",
        version=published_version(engine, caller, dataset),
        sensitive=answered(show_sensitive(engine, caller, dataset))["columns"],
        schemas=answered(list_schemas(engine, caller, dataset))["items"],
    )
