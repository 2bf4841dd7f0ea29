"""Routes for datasets: list, show, versions, schemas, checks, and the producing run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.access.sensitivity import Public, Sensitive, Shown
from headrace.catalog import queries
from headrace.catalog.queries.facets import FacetRow, facets
from headrace.catalog.queries.names import (
    Assertion,
    DatasetName,
    DatasetRef,
    find_dataset,
    locate,
    names,
)
from headrace.catalog.queries.names import quality as reported_quality
from headrace.catalog.queries.process_detail import last_success
from headrace.catalog.queries.quality import QualityRow, quality
from headrace.catalog.queries.rows import (
    DatasetDetail,
    DatasetRow,
    DatasetStatus,
    PublishedRow,
    RunReport,
    VersionDetail,
    VersionRow,
)
from headrace.catalog.queries.schemas import SchemaRow, place_in, schema_history
from headrace.catalog.queries.version_pages import published_page, version_page
from headrace.catalog.records import CheckStatus
from headrace.database.ids import organisation_id
from headrace.errors import UnknownDataset, UnknownRun
from headrace.retention.run_reports import why as explain_run
from headrace.service.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.service.api.responses import shown
from headrace.service.api.subjects import Database, Dataset, Partition, Reader
from headrace.service.http.problems import Refused

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
_MAX_VERSIONS = 5  # versions that a dataset is shown with


@dataclass(frozen=True, slots=True)
class DatasetAnswer:
    """A dataset: as declared or reported, how it stands, its newest versions, its names elsewhere, its facets."""

    dataset: DatasetDetail
    status: DatasetStatus
    newest_versions: list[VersionRow]
    names: list[DatasetName]
    facets: Public[dict[str, FacetRow]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run measured of a dataset; statistics: the measures of each column, as reported."""

    run_id: UUID
    row_count: int | None
    byte_size: int | None
    file_count: int | None
    last_updated: datetime | None
    statistics: Annotated[Mapping[str, Any], Sensitive.STATISTICS]
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedQuality:
    """What runs elsewhere said of a dataset's quality, the newest first."""

    assertions: list[Assertion]
    metrics: list[Measured]


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """A version, and the run that wrote it; null where none did, or the run is archived."""

    version: Annotated[VersionDetail, Shown.NESTED]
    run: RunReport | None


@router.get("", summary="List datasets", response_model=Page[DatasetRow])
def list_datasets(
    engine: Database,
    caller: Reader,
    search: Annotated[
        str | None,
        Query(max_length=200, description="Only with this in key, description or owner, or as a tag."),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Datasets in the order of their keys."""
    (after,) = place_of(cursor, tuple[str]) if cursor else ("",)
    page = queries.datasets(engine, search, after=after, limit=limit)
    following = cursor_of(page.next) if page.next is not None else None
    return shown(engine, caller, Page(items=list(page.rows), next=following))


@router.get("/named", summary="Find a dataset by namespace and name", response_model=DatasetAnswer)
def dataset_by_name(
    engine: Database,
    caller: Reader,
    namespace: Annotated[str, Query(max_length=1000, description="As OpenLineage has it.")],
    name: Annotated[str, Query(max_length=2000, description="As OpenLineage has it.")],
) -> Response:
    """The dataset that has this name, or had it: also by a symlink, an alias, or the path of one of its versions."""
    found = locate(engine, organisation_id(), namespace, name)
    subject = None if found is None else find_dataset(engine, str(found))
    if subject is None:
        raise UnknownDataset(f"no dataset is named {name} in {namespace}")
    return _answer(engine, caller, subject)


@router.get("/{dataset:key}/versions", summary="List a dataset's versions", response_model=Page[VersionRow])
def list_versions(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    partition: Partition = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The newest first, blocked and superseded ones too."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    rows = version_page(engine, dataset.id, partition, before=before, limit=limit + 1)
    last = rows[limit - 1].version if len(rows) > limit else None
    following = cursor_of(last.created_at, last.version_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), dataset.key)


@router.get(
    "/{dataset:key}/versions/{tag}",
    summary="Show a version and what produced it",
    response_model=VersionAnswer,
)
def show_version(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    tag: Annotated[
        str, Path(max_length=1000, description="The version's tag, or `published` for what readers get.")
    ],
    partition: Partition = None,
) -> Response:
    """What it is, from which exact versions it was computed, by which run with which attempts and code."""
    detail = queries.version(engine, dataset.key, None if tag == "published" else tag, partition)
    run = _run(engine, detail.version.run_id)
    return shown(engine, caller, VersionAnswer(detail, run), dataset.key)


@router.get("/{dataset:key}/published", summary="List what readers get", response_model=Page[PublishedRow])
def list_published(
    engine: Database, caller: Reader, dataset: Dataset, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """The published version of each partition, in the order of partition keys."""
    after = place_of(cursor, tuple[str])[0] if cursor else None
    rows = published_page(engine, dataset.id, after=after, limit=limit + 1)
    following = cursor_of(rows[limit - 1].partition or "") if len(rows) > limit else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), dataset.key)


@router.get(
    "/{dataset:key}/schema", summary="Show the history of a dataset's schema", response_model=Page[SchemaRow]
)
def list_schemas(
    engine: Database, caller: Reader, dataset: Dataset, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """Each change by a published version, or as it was said, the newest first, and what it meant for readers."""
    before = place_of(cursor, tuple[datetime, str]) if cursor else None
    rows = schema_history(engine, dataset.id, before=before, limit=limit + 1)
    following = cursor_of(*place_in(rows[limit - 1])) if len(rows) > limit else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), dataset.key)


@router.get(
    "/{dataset:key}/quality",
    summary="List the results of a dataset's checks",
    response_model=Page[QualityRow],
)
def list_quality(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    partition: Partition = None,
    status: Annotated[CheckStatus | None, Query(description="Only results that are this.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Those of the newest versions first."""
    after = place_of(cursor, tuple[datetime, UUID, str]) if cursor else None
    rows = quality(engine, dataset.id, partition=partition, status=status, after=after, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.produced_at, last.version_id, last.name) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), dataset.key)


@router.get(
    "/{dataset:key}/reported-quality",
    summary="Show reported quality",
    response_model=ReportedQuality,
)
def show_reported_quality(engine: Database, caller: Reader, dataset: Dataset, limit: Limit = 100) -> Response:
    """The results of tests and the measures that runs reported, the newest first, of each at most the limit."""
    found = reported_quality(engine, dataset.id, limit)
    answer = ReportedQuality(
        assertions=list(found.assertions),
        metrics=[
            Measured(
                run_id=each.run_id,
                row_count=each.row_count,
                byte_size=each.byte_size,
                file_count=each.file_count,
                last_updated=each.last_updated,
                statistics=each.columns,
                at=each.at,
            )
            for each in found.metrics
        ],
    )
    return shown(engine, caller, answer, dataset.key)


@router.get(
    "/{dataset:key}/last-success",
    summary="Show the last successful run that made a dataset",
    response_model=RunReport,
)
def show_last_success(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """The newest run that succeeded, of those that wrote a version of it, and of the processes that produce it."""
    run_id = last_success(engine, dataset.id)
    run = _run(engine, run_id)
    if run is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"no run that made {dataset.key} has succeeded yet")
    return shown(engine, caller, run, dataset.key)


@router.get("/{dataset:path}", summary="Show a dataset", response_model=DatasetAnswer)
def show_dataset(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """As declared or reported, how it stands, its newest versions, its names elsewhere, and its OpenLineage facets."""
    return _answer(engine, caller, dataset)


def _answer(engine: Engine, caller: Caller, dataset: DatasetRef) -> Response:
    detail = queries.dataset(engine, dataset.key)
    [dataset_status] = queries.status(engine, [dataset.key])
    answer = DatasetAnswer(
        dataset=detail,
        status=dataset_status,
        newest_versions=version_page(engine, dataset.id, limit=_MAX_VERSIONS),
        names=names(engine, dataset.id),
        facets=facets(engine, "DATASET", dataset.id),
    )
    return shown(engine, caller, answer, dataset.key)


def _run(engine: Engine, run_id: UUID | None) -> RunReport | None:
    """The run; None where there is none, or it is archived."""
    if run_id is None:
        return None
    try:
        return explain_run(engine, run_id)[0]
    except UnknownRun:
        return None
