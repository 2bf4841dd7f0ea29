"""A dataset at a glance, its checks, who may see it, and who changed it."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.access import show_dataset_access
from headrace.api.audit import list_audit
from headrace.api.columns import show_sensitive
from headrace.api.datasets import (
    list_quality,
)
from headrace.api.paging import Cursor
from headrace.api.slas import list_incidents
from headrace.api.subjects import Database
from headrace.pages.datasets.subject import Dataset, published_version, view
from headrace.pages.rendering import answered
from headrace.pages.sessions import Viewer, signed_in

router = APIRouter(include_in_schema=False)


@router.get("/datasets/{dataset:key}/checks")
def show_checks(
    request: Request, engine: Database, caller: Viewer, dataset: Dataset, cursor: Cursor = None
) -> Response:
    """Show the checks and their results, those of the newest versions first."""
    results = answered(list_quality(engine, caller, dataset, cursor=cursor))
    newest = results if cursor is None else answered(list_quality(engine, caller, dataset))
    history = defaultdict(list)
    for each in reversed(newest["items"]):
        history[each["name"]].append(each["status"])
    return view(request, engine, caller, dataset, "checks", results=results, history=history)


@router.get("/datasets/{dataset:key}/changes")
def show_changes(
    request: Request,
    engine: Database,
    caller: Annotated[Caller, Depends(signed_in(Permission.AUDIT))],
    dataset: Dataset,
    cursor: Cursor = None,
) -> Response:
    """Show who changed the dataset, and who read sensitive values of it."""
    entries = answered(list_audit(engine, caller, of=dataset.key, cursor=cursor))
    return view(request, engine, caller, dataset, "changes", entries=entries)


@router.get("/datasets/{dataset:key}/access")
def show_access(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show why the caller sees the dataset; to administrators, who else may see it and why."""
    access = answered(show_dataset_access(engine, caller, dataset))
    sensitive = answered(show_sensitive(engine, caller, dataset))["columns"]
    return view(request, engine, caller, dataset, "access", access=access, sensitive=sensitive)


@router.get("/datasets/{dataset:path}")
def show_dataset_page(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show what a dataset is, whether it is fresh, what it is made from and who uses it."""
    return view(
        request,
        engine,
        caller,
        dataset,
        "overview",
        version=published_version(engine, caller, dataset),
        incidents=answered(list_incidents(engine, caller, key=dataset.key))["items"],
    )
