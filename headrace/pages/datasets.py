"""Search and browse datasets; a dataset with its columns, versions, checks and history; what readers get."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from sqlalchemy import Engine
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.api.audit import list_audit
from headrace.api.columns import show_sensitive
from headrace.api.datasets import (
    list_datasets,
    list_published,
    list_quality,
    list_schemas,
    list_versions,
    show_dataset,
    show_version,
)
from headrace.api.paging import Cursor
from headrace.api.pointers import Pin, Rollback, Unpin, pin_version, roll_back, unpin_version
from headrace.api.search import count_datasets, find_datasets
from headrace.api.slas import list_incidents, list_sla_statuses
from headrace.api.subjects import Database, Filtered, Partition, dataset_named
from headrace.errors import UnknownDataset, UnknownVersion
from headrace.http.problems import RequestRefused
from headrace.pages.comparison import compared
from headrace.pages.forms import body
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer, acts, signed_in
from headrace.queries.names import DatasetRef

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_FILTERS = (
    ("domain", "Domain"),
    ("sla", "SLA status"),
    ("owner", "Owner"),
    ("tag", "Tag"),
    ("format", "Format"),
)
Words = Annotated[str, Query(max_length=500)]
Tag = Annotated[str | None, Query(max_length=1000)]
FormText = Annotated[str, Form(max_length=20_000)]
Publisher = Annotated[Caller, Depends(acts(Permission.PUBLISH))]


def dataset_shown(
    engine: Database, caller: Viewer, dataset: Annotated[str, Path(max_length=4000)]
) -> DatasetRef:
    """Return the dataset of the address. Raises RequestRefused."""
    try:
        return dataset_named(engine, caller, dataset)
    except UnknownDataset as error:
        raise RequestRefused(
            HTTPStatus.NOT_FOUND,
            f"there is no dataset {dataset}, or you may not see it: the search finds datasets",
        ) from error


Dataset = Annotated[DatasetRef, Depends(dataset_shown)]


@router.get("/datasets")
def show_datasets(
    request: Request,
    engine: Database,
    caller: Viewer,
    wanted: Filtered,
    q: Words = "",
    cursor: Cursor = None,
) -> Response:
    """Show the datasets that match words and filters; without words, by key."""
    found = (
        find_datasets(engine, caller, wanted, q, cursor, _PER_PAGE)
        if q.strip()
        else list_datasets(engine, caller, wanted, cursor=cursor, limit=_PER_PAGE)
    )
    return page(request, "datasets.html", found=answered(found), q=q, filters=_FILTERS)


@router.get("/datasets/counts")
def show_dataset_counts(
    request: Request, engine: Database, caller: Viewer, wanted: Filtered, q: Words = ""
) -> Response:
    """Show the number of datasets for each value of the filters, a part of the page of datasets."""
    counts = answered(count_datasets(engine, caller, wanted, q))
    return page(request, "dataset_counts.html", counts=counts, filters=_FILTERS)


@router.get("/datasets/{dataset:key}/columns")
def show_columns(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show the columns of the published version with statistics, and how they changed."""
    return _tab(
        request,
        engine,
        caller,
        dataset,
        "columns",
        version=_published(engine, caller, dataset),
        sensitive=answered(show_sensitive(engine, caller, dataset))["columns"],
        schemas=answered(list_schemas(engine, caller, dataset))["items"],
    )


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
    return _tab(
        request,
        engine,
        caller,
        dataset,
        "versions",
        versions=answered(list_versions(engine, caller, dataset, partition, cursor)),
        published=answered(list_published(engine, caller, dataset, limit=_PER_PAGE)),
        partition=partition,
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
    detail = answered(show_version(engine, caller, dataset, tag, partition))
    return _tab(request, engine, caller, dataset, "version", detail=detail)


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
    """Show how two versions differ in columns, statistics, rows, checks and inputs."""
    versions = answered(list_versions(engine, caller, dataset, partition))["items"]
    pair = [
        answered(show_version(engine, caller, dataset, tag, partition))["version"]
        for tag in (before, after)
        if tag
    ]
    return _tab(
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
    )


@router.get("/datasets/{dataset:key}/checks")
def show_checks(
    request: Request, engine: Database, caller: Viewer, dataset: Dataset, cursor: Cursor = None
) -> Response:
    """Show the checks and their results, those of the newest versions first."""
    results = answered(list_quality(engine, caller, dataset, cursor=cursor))
    return _tab(request, engine, caller, dataset, "checks", results=results)


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
    return _tab(request, engine, caller, dataset, "changes", entries=entries)


@router.get("/datasets/{dataset:path}")
def show_dataset_page(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show what a dataset is, whether it is fresh, what it is made from and who uses it."""
    return _tab(
        request,
        engine,
        caller,
        dataset,
        "overview",
        version=_published(engine, caller, dataset),
        incidents=answered(list_incidents(engine, caller, key=dataset.key))["items"],
    )


@router.post("/datasets/{dataset:key}/rollback")
def roll_back_dataset(
    engine: Database,
    caller: Publisher,
    dataset: Dataset,
    to: FormText,
    reason: FormText,
    partition: FormText = "",
) -> Response:
    """Publish an earlier version again."""
    roll_back(engine, caller, dataset, body(Rollback, to=to, partition=partition or None, reason=reason))
    return _back(dataset)


@router.post("/datasets/{dataset:key}/pin")
def pin_dataset(
    engine: Database,
    caller: Publisher,
    dataset: Dataset,
    tag: FormText,
    reason: FormText,
    partition: FormText = "",
    consumer: FormText = "",
) -> Response:
    """Pin readers to a version."""
    asked = body(Pin, tag=tag, partition=partition or None, consumer=consumer or None, reason=reason)
    pin_version(engine, caller, dataset, asked)
    return _back(dataset)


@router.post("/datasets/{dataset:key}/unpin")
def unpin_dataset(
    engine: Database, caller: Publisher, dataset: Dataset, partition: FormText = "", consumer: FormText = ""
) -> Response:
    """Remove a pin."""
    unpin_version(
        engine, caller, dataset, body(Unpin, partition=partition or None, consumer=consumer or None)
    )
    return _back(dataset)


def _tab(
    request: Request, engine: Engine, caller: Caller, dataset: DatasetRef, name: str, **values: object
) -> Response:
    """Render one view of a dataset, below what all its views begin with."""
    about = answered(show_dataset(engine, caller, dataset))
    objectives = answered(list_sla_statuses(engine, caller, key=[dataset.key]))["items"]
    shown = {"tab": name, "about": about, "objectives": objectives, "key": dataset.key, **values}
    return page(request, f"dataset_{name}.html", **shown)


def _published(engine: Engine, caller: Caller, dataset: DatasetRef) -> dict[str, Any] | None:
    """Return the published version with its details, of the newest partition; None if nothing is published."""
    newest = answered(list_versions(engine, caller, dataset, limit=_PER_PAGE))["items"]
    row = next((each["version"] for each in newest if each["published"]), None)
    if row is None:
        return None
    try:
        found = answered(show_version(engine, caller, dataset, row["tag"], row["partition"]))
    except UnknownVersion:
        return None
    return dict(found["version"])


def _back(dataset: DatasetRef) -> Response:
    return RedirectResponse(f"/datasets/{quote(dataset.key, safe='/')}/versions", HTTPStatus.SEE_OTHER)
