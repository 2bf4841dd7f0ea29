"""Routes for sensitive columns: show, suggestions, and the decisions of owners and stewards."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import SubjectKey
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Reader
from headrace.catalog.sensitivity import SensitiveColumn, clear, sensitivity, withdraw
from headrace.catalog.sensitivity_suggestions import (
    StoredSuggestion,
    SuggestionStatus,
    accept,
    dismiss,
    stored_suggestions,
)
from headrace.database.connection import transaction
from headrace.http.security import requires
from headrace.registration.registrations import StorableText as Text

router = APIRouter(prefix="/api/v1", tags=["sensitive data"])
REGISTER = requires(Permission.REGISTER)
Registrar = Annotated[Caller, Depends(REGISTER)]
ColumnName = Annotated[Text, Field(min_length=1, max_length=1000)]


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


class Acceptance(BaseModel):
    """The column whose suggestion is accepted, and a note."""

    model_config = ConfigDict(extra="forbid")

    column: ColumnName
    note: Annotated[Text, Field(min_length=1, max_length=20_000)] | None = None


class Dismissal(BaseModel):
    """The column whose suggestion is dismissed, and why."""

    model_config = ConfigDict(extra="forbid")

    column: ColumnName
    note: Annotated[Text, Field(min_length=1, max_length=20_000)]


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
def clear_column(engine: Database, caller: Registrar, dataset: Dataset, asked: Clearing) -> Response:
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
def withdraw_clearing(engine: Database, caller: Registrar, dataset: Dataset, asked: Withdrawal) -> Response:
    """Withdraw the clearing: the column inherits its tag again."""
    _require_owner(caller, dataset.key)
    with transaction(engine) as cursor:
        withdraw(cursor, dataset.key, asked.column, by=caller.subject)
    return _sensitive(engine, caller, dataset)


@router.get(
    "/sensitive/suggestions",
    summary="List suggestions of sensitive columns",
    response_model=Page[StoredSuggestion],
)
def list_suggestions(
    engine: Database,
    caller: Reader,
    dataset: Annotated[str | None, Query(max_length=4000, description="Only of this dataset.")] = None,
    status: Annotated[SuggestionStatus | None, Query(description="Only with this status.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List columns that may have personal data, by their names or a sample of their values; the most probable first."""
    (skip,) = place_of(cursor, tuple[Annotated[int, Field(ge=0)]]) if cursor else (0,)
    found = stored_suggestions(engine, dataset, status)
    following = cursor_of(skip + limit) if len(found) > skip + limit else None
    return shown(engine, caller, Page(items=found[skip : skip + limit], next=following))


@router.post(
    "/dataset/{dataset:path}/sensitive/accept",
    summary="Accept a suggestion: the column is sensitive",
    response_model=SensitiveColumns,
)
def accept_suggestion(engine: Database, caller: Registrar, dataset: Dataset, asked: Acceptance) -> Response:
    """Accept a suggestion: the column is sensitive from now on, and so is all that is made from it. The tag is shown as
    a proposed change of the declaration until it has it."""
    _require_owner(caller, dataset.key)
    with transaction(engine) as cursor:
        accept(cursor, dataset.key, asked.column, by=caller.subject, note=asked.note)
    return _sensitive(engine, caller, dataset)


@router.post(
    "/dataset/{dataset:path}/sensitive/dismiss",
    summary="Dismiss a suggestion",
    response_model=SensitiveColumns,
)
def dismiss_suggestion(engine: Database, caller: Registrar, dataset: Dataset, asked: Dismissal) -> Response:
    """Dismiss a suggestion, also one that was accepted. It comes back only with another kind or reason."""
    _require_owner(caller, dataset.key)
    with transaction(engine) as cursor:
        dismiss(cursor, dataset.key, asked.column, by=caller.subject, note=asked.note)
    return _sensitive(engine, caller, dataset)


def _require_owner(caller: Caller, key: str) -> None:
    """Require that the caller may see the values of the column. Raises Forbidden."""
    caller.require(Permission.REGISTER, key)
    caller.require(Permission.READ_SENSITIVE, key)


def _sensitive(engine: Database, caller: Caller, dataset: Dataset) -> Response:
    found = SensitiveColumns(key=dataset.key, columns=sensitivity(engine, [dataset.key]))
    return shown(engine, caller, found, dataset.key)
