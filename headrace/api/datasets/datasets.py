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

from headrace import queries
from headrace.access.callers import Caller
from headrace.access.sensitivity import Public, PublicField, Sensitive
from headrace.api.links import Links, links_to
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Filtered, Partition, Reader
from headrace.catalog.records import CheckStatus
from headrace.context import current_context
from headrace.errors import UnknownDataset, UnknownRun
from headrace.http.problems import RequestRefused
from headrace.queries.facets import FacetRow, facets
from headrace.queries.names import (
    Assertion,
    DatasetName,
    DatasetRef,
    find_dataset,
    locate,
    names,
)
from headrace.queries.names import quality as reported_quality
from headrace.queries.process_detail import last_success
from headrace.queries.quality import QualityRow, QualityScore, quality, quality_score
from headrace.queries.rows import (
    DatasetDetail,
    DatasetRow,
    DatasetStatus,
    PublishedRow,
    RunReport,
    VersionDetail,
    VersionRow,
)
from headrace.queries.schemas import SchemaRow, place_in, schema_history
from headrace.queries.version_pages import (
    VersionStatistics,
    published_page,
    statistics_page,
    version_page,
)
from headrace.retention.run_reports import why as explain_run

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
_MAX_VERSIONS = 5  # versions shown with a dataset


@dataclass(frozen=True, slots=True)
class DatasetAnswer:
    """A dataset: declared or reported attributes, status, quality score, newest versions, aliases and facets."""

    dataset: DatasetDetail
    status: DatasetStatus
    quality: QualityScore
    newest_versions: list[VersionRow]
    names: list[DatasetName]
    facets: Public[dict[str, FacetRow]]
    links: Links


@dataclass(frozen=True, slots=True)
class Measurement:
    """Metrics of a dataset from one run; statistics: metrics per column, as reported."""

    run_id: UUID
    row_count: int | None
    byte_size: int | None
    file_count: int | None
    last_updated: datetime | None
    statistics: Annotated[Mapping[str, Any], Sensitive.STATISTICS]
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedQuality:
    """Data quality reported by external runs, newest first."""

    assertions: list[Assertion]
    metrics: list[Measurement]


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """A version and the run that wrote it; null if there is none, it is archived, or not asked for."""

    version: Annotated[VersionDetail, PublicField.NESTED]
    run: RunReport | None
    links: Links


@router.get("", summary="List datasets", response_model=Page[DatasetRow])
def list_datasets(
    engine: Database,
    caller: Reader,
    wanted: Filtered,
    search: Annotated[
        str | None,
        Query(max_length=200, description="Only datasets with this text in key, description, owner or tag."),
    ] = None,
    retired: Annotated[
        bool, Query(description="List the retired datasets, which are omitted otherwise.")
    ] = False,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List datasets ordered by key."""
    (after,) = place_of(cursor, tuple[str]) if cursor else ("",)
    page = queries.datasets(engine, search, wanted, retired=retired, after=after, limit=limit)
    following = cursor_of(page.next) if page.next is not None else None
    return shown(engine, caller, Page(items=list(page.rows), next=following))


@router.get("/named", summary="Find a dataset by namespace and name", response_model=DatasetAnswer)
def dataset_by_name(
    engine: Database,
    caller: Reader,
    namespace: Annotated[str, Query(max_length=1000, description="As in OpenLineage.")],
    name: Annotated[str, Query(max_length=2000, description="As in OpenLineage.")],
) -> Response:
    """Find the dataset that has, or had, this name: also a symlink, an alias, or the path of a version."""
    found = locate(engine, current_context().organisation_id, namespace, name)
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
    """List versions, newest first, including blocked and superseded ones."""
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
    tag: Annotated[str, Path(max_length=1000, description="The version's tag, or `published`.")],
    partition: Partition = None,
    with_run: Annotated[bool, Query(description="With the run that wrote it.")] = True,
) -> Response:
    """Show a version with its exact input versions and its run with attempts and code."""
    detail = queries.version(engine, dataset.key, None if tag == "published" else tag, partition)
    run = _run(engine, detail.version.run_id) if with_run else None
    page = links_to(
        "datasets", dataset.key, "version", detail.version.tag, partition=detail.version.partition
    )
    return shown(engine, caller, VersionAnswer(detail, run, page), dataset.key)


@router.get("/{dataset:key}/published", summary="List published versions", response_model=Page[PublishedRow])
def list_published(
    engine: Database, caller: Reader, dataset: Dataset, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """List the published version of each partition, ordered by partition key."""
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
    """List schema changes by published versions and reports, newest first, with their compatibility."""
    before = place_of(cursor, tuple[datetime, str]) if cursor else None
    rows = schema_history(engine, dataset.id, before=before, limit=limit + 1)
    following = cursor_of(*place_in(rows[limit - 1])) if len(rows) > limit else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), dataset.key)


@router.get(
    "/{dataset:key}/statistics",
    summary="Show the statistics of a dataset's versions",
    response_model=list[VersionStatistics],
)
def list_statistics(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    partition: Partition = None,
    column: Annotated[str | None, Query(max_length=1000, description="Only of this column.")] = None,
    limit: Limit = 30,
) -> Response:
    """Show the statistics of the newest versions; of a dataset with partitions, those published in the last ones."""
    found = statistics_page(engine, dataset.key, dataset.id, partition, column, limit)
    return shown(engine, caller, found, dataset.key)


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
    status: Annotated[CheckStatus | None, Query(description="Only results with this status.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List check results, those of the newest versions first."""
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
    """Show reported test results and metrics, newest first; the limit applies to each."""
    found = reported_quality(engine, dataset.id, limit)
    answer = ReportedQuality(
        assertions=list(found.assertions),
        metrics=[
            Measurement(
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
    summary="Show the last successful run of a dataset",
    response_model=RunReport,
)
def show_last_success(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """Show the newest successful run among those that wrote a version and those of the producing processes."""
    run_id = last_success(engine, dataset.id)
    run = _run(engine, run_id)
    if run is None:
        raise RequestRefused(HTTPStatus.NOT_FOUND, f"no run of {dataset.key} has succeeded yet")
    return shown(engine, caller, run, dataset.key)


@router.get("/{dataset:path}", summary="Show a dataset", response_model=DatasetAnswer)
def show_dataset(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """Show a dataset: declared or reported attributes, status, newest versions, aliases and OpenLineage facets."""
    return _answer(engine, caller, dataset)


def _answer(engine: Engine, caller: Caller, dataset: DatasetRef) -> Response:
    detail = queries.dataset(engine, dataset.key)
    [dataset_status] = queries.status(engine, [dataset.key])
    answer = DatasetAnswer(
        dataset=detail,
        status=dataset_status,
        quality=quality_score(engine, dataset.id),
        newest_versions=version_page(engine, dataset.id, limit=_MAX_VERSIONS),
        names=names(engine, dataset.id),
        facets=facets(engine, "DATASET", dataset.id),
        links=links_to("datasets", dataset.key),
    )
    return shown(engine, caller, answer, dataset.key)


def _run(engine: Engine, run_id: UUID | None) -> RunReport | None:
    """Return the run, or None if there is none or it is archived."""
    if run_id is None:
        return None
    try:
        return explain_run(engine, run_id)[0]
    except UnknownRun:
        return None
