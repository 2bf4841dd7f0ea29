"""Routes for columns: lineage and impact."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Partition, Reader
from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.column_lineage_changes import LineageChange, changes
from headrace.http.problems import RequestRefused
from headrace.queries.columns import ColumnPlace, VersionColumns, check_column, version_columns
from headrace.queries.rows import VersionRef
from headrace.slas.column_impact import MAX_DEPTH, ColumnImpact, column_impact

router = APIRouter(prefix="/api/v1", tags=["lineage"])
Tag = Annotated[str | None, Query(max_length=1000, description="The version with this tag.")]


class LineageChanges(BaseModel):
    """Differences between the column lineage of two versions."""

    before: VersionRef
    after: VersionRef
    changes: tuple[LineageChange, ...]


@router.get(
    "/dataset/{dataset:key}/column-lineage",
    summary="Show the column lineage of a version",
    response_model=VersionColumns,
)
def show_column_lineage(
    engine: Database, caller: Reader, dataset: Dataset, version: Tag = None, partition: Partition = None
) -> Response:
    """Show the column lineage of the published or another version, with the exact input versions."""
    return shown(engine, caller, version_columns(engine, dataset.key, version, partition), dataset.key)


@router.get(
    "/dataset/{dataset:key}/column-lineage-changes",
    summary="Compare the column lineage of two versions",
    response_model=LineageChanges,
)
def show_column_lineage_changes(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    before: Annotated[str, Query(max_length=1000, description="The tag of the earlier version.")],
    after: Annotated[
        str | None,
        Query(max_length=1000, description="The tag of the later version. [default: the published one]"),
    ] = None,
    partition: Partition = None,
) -> Response:
    """Show what a code change did to the column lineage: columns that read more than before, or are no longer known."""
    old = version_columns(engine, dataset.key, before, partition)
    new = version_columns(engine, dataset.key, after, partition)
    found = LineageChanges(before=old.version, after=new.version, changes=changes(_known(old), _known(new)))
    return shown(engine, caller, found, dataset.key)


@router.get(
    "/dataset/{dataset:key}/column-impact",
    summary="Show the impact of a change to a column",
    response_model=ColumnImpact,
)
def show_column_impact(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    column: Annotated[
        str | None, Query(max_length=1000, description="The column; all columns if omitted.")
    ] = None,
    depth: Annotated[
        int, Query(ge=1, le=MAX_DEPTH, description="Maximum number of steps: 1 for direct uses.")
    ] = MAX_DEPTH,
) -> Response:
    """Show the datasets that use the column, with owners and SLAs; direct and indirect uses are listed separately."""
    place = ColumnPlace(dataset.id, dataset.key, column)
    check_column(engine, place)
    return shown(engine, caller, column_impact(engine, place, depth), dataset.key)


def _known(found: VersionColumns) -> LineageOfOutput:
    if found.lineage is None:
        raise RequestRefused(
            HTTPStatus.CONFLICT, f"no column lineage is known for version {found.version.tag}"
        )
    return found.lineage
