"""The versions of a dataset: all, one with its first rows, and two side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from headrace.access.callers import Permission
from headrace.api.datasets.datasets import (
    list_published,
    list_statistics,
    list_versions,
    show_version,
)
from headrace.api.datasets.differences import show_differences
from headrace.api.datasets.rows import show_rows
from headrace.api.paging import Cursor
from headrace.api.subjects import Database
from headrace.pages.datasets.comparison import compared
from headrace.pages.datasets.subject import PER_PAGE, Dataset, view
from headrace.pages.datasets.trends import row_trend
from headrace.pages.forms import none_if_empty
from headrace.pages.rendering import answered
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Field(max_length=1000)]
Tag = Annotated[Text | None, BeforeValidator(none_if_empty), Query()]
Partition = Tag


@router.get("/datasets/{dataset:key}/versions")
def show_versions(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    partition: Partition = None,
    cursor: Cursor = None,
) -> Response:
    """Show the versions, newest first, and what readers get."""
    return view(
        request,
        engine,
        caller,
        dataset,
        "versions",
        versions=answered(list_versions(engine, caller, dataset, partition, cursor)),
        published=answered(list_published(engine, caller, dataset, limit=PER_PAGE)),
        partition=partition,
        rows=row_trend(answered(list_statistics(engine, caller, dataset, partition))),
        may_publish=caller.may(Permission.PUBLISH, dataset.key),
    )


@router.get("/datasets/{dataset:key}/version/{tag:path}")
def show_one_version(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    tag: Annotated[str, Path(max_length=1000)],
    partition: Partition = None,
) -> Response:
    """Show a version: its exact inputs, the run and code that wrote it, its checks."""
    detail = answered(show_version(engine, caller, dataset, tag, partition, with_run=False))
    return view(request, engine, caller, dataset, "version", detail=detail)


@router.get("/datasets/{dataset:key}/rows")
def show_version_rows(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    version: Tag = None,
    partition: Partition = None,
) -> Response:
    """Show the first rows of a version, by default of the one published last."""
    found = answered(show_rows(engine, caller, dataset, version, partition))
    return view(request, engine, caller, dataset, "rows", found=found)


@router.get("/datasets/{dataset:key}/compare")
def compare_versions(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    before: Tag = None,
    after: Tag = None,
    partition: Partition = None,
) -> Response:
    """Show how two versions differ in columns, statistics, rows, keys, checks and inputs."""
    versions = answered(list_versions(engine, caller, dataset, partition))["items"]
    pair = [
        answered(show_version(engine, caller, dataset, tag, partition, with_run=False))["version"]
        for tag in (before, after)
        if tag
    ]
    return view(
        request,
        engine,
        caller,
        dataset,
        "compare",
        versions=versions,
        before=before,
        after=after,
        partition=partition,
        differences=compared(*pair) if len(pair) == 2 else None,
        keys=answered(show_differences(engine, caller, dataset, before, after, partition))
        if before and after
        else None,
    )
