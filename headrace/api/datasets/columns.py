"""Routes for columns: lineage, impact and sensitivity."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import SubjectKey
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Partition, Reader
from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.column_lineage_changes import LineageChange, changes
from headrace.catalog.sensitivity import SensitiveColumn, clear, sensitivity, withdraw
from headrace.database.connection import transaction
from headrace.http.problems import RequestRefused
from headrace.http.security import requires
from headrace.queries.columns import ColumnPlace, VersionColumns, check_column, version_columns
from headrace.queries.rows import VersionRef
from headrace.registration.registrations import StorableText as Text
from headrace.slas.column_impact import MAX_DEPTH, ColumnImpact, column_impact

router = APIRouter(prefix="/api/v1", tags=["lineage"])
REGISTER = requires(Permission.REGISTER)
Tag = Annotated[str | None, Query(max_length=1000, description="The version with this tag.")]
ColumnName = Annotated[Text, Field(min_length=1, max_length=1000)]


class LineageChanges(BaseModel):
    """Differences between the column lineage of two versions."""

    before: VersionRef
    after: VersionRef
    changes: tuple[LineageChange, ...]


class Clearing(BaseModel):
    """The column to clear, and the reason."""

    model_config = ConfigDict(extra="forbid")

    column: ColumnName
    reason: Annotated[Text, Field(min_length=1, max_length=20_000)]


class Withdrawal(BaseModel):
    """The column whose clearing is withdrawn."""

    model_config = ConfigDict(extra="forbid")

    column: ColumnName


class SensitiveColumns(BaseModel):
    """The sensitive and cleared columns of a dataset."""

    key: SubjectKey
    columns: list[SensitiveColumn]


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


@router.get(
    "/dataset/{dataset:key}/sensitive",
    summary="Show which columns are sensitive, and why",
    response_model=SensitiveColumns,
)
def show_sensitive(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """Show the tagged, inherited and cleared columns."""
    return _sensitive(engine, caller, dataset)


@router.post(
    "/dataset/{dataset:path}/sensitive/clear",
    summary="Clear an inherited sensitive column",
    response_model=SensitiveColumns,
)
def clear_column(
    engine: Database, caller: Annotated[Caller, Depends(REGISTER)], dataset: Dataset, asked: Clearing
) -> Response:
    """Clear a column: its values are shown, and derived columns inherit nothing. The decision is recorded with user,
    time and reason."""
    _require_owner(caller, dataset.key)
    with transaction(engine) as cursor:
        clear(cursor, dataset.key, asked.column, by=caller.subject, reason=asked.reason)
    return _sensitive(engine, caller, dataset)


@router.post(
    "/dataset/{dataset:path}/sensitive/withdraw",
    summary="Make a cleared column sensitive again",
    response_model=SensitiveColumns,
)
def withdraw_clearing(
    engine: Database, caller: Annotated[Caller, Depends(REGISTER)], dataset: Dataset, asked: Withdrawal
) -> Response:
    """Withdraw the clearing: the column inherits its tag again."""
    _require_owner(caller, dataset.key)
    with transaction(engine) as cursor:
        withdraw(cursor, dataset.key, asked.column, by=caller.subject)
    return _sensitive(engine, caller, dataset)


def _require_owner(caller: Caller, key: str) -> None:
    """Require that the caller may see the values of the column. Raises Forbidden."""
    caller.require(Permission.REGISTER, key)
    caller.require(Permission.READ_SENSITIVE, key)


def _sensitive(engine: Database, caller: Caller, dataset: Dataset) -> Response:
    found = SensitiveColumns(key=dataset.key, columns=sensitivity(engine, [dataset.key]))
    return shown(engine, caller, found, dataset.key)


def _known(found: VersionColumns) -> LineageOfOutput:
    if found.lineage is None:
        raise RequestRefused(
            HTTPStatus.CONFLICT, f"no column lineage is known for version {found.version.tag}"
        )
    return found.lineage
