"""Routes for dataset registrations: request, approve, reject."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.errors import Forbidden
from headrace.http.idempotency import IdempotencyKey, once
from headrace.http.security import requires
from headrace.registration.registrations import (
    DatasetRequest,
    Registration,
    RegistrationStatus,
    registration,
    registrations,
    request,
    review,
)
from headrace.registration.registrations import (
    StorableText as Text,
)

router = APIRouter(prefix="/api/v1", tags=["registration"])
REGISTER = requires(Permission.REGISTER)
REVIEW = requires(Permission.REVIEW)
RegistrationId = Annotated[UUID, Path(description="The registration's id.")]


class Answer(BaseModel):
    """The steward's comment."""

    model_config = ConfigDict(extra="forbid")

    comment: Annotated[Text, Field(max_length=20_000)] | None = None


class Rejection(BaseModel):
    """The reason for the rejection."""

    model_config = ConfigDict(extra="forbid")

    comment: Annotated[Text, Field(min_length=1, max_length=20_000)]


@router.post(
    "/dataset/register",
    summary="Register a dataset as a draft",
    status_code=HTTPStatus.CREATED,
    response_model=Registration,
)
def register_dataset(
    engine: Database,
    caller: Annotated[Caller, Depends(REGISTER)],
    asked: DatasetRequest,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Register a dataset: an unknown one becomes a draft, and active once a steward approves it."""
    caller.require(Permission.REGISTER, asked.key)
    return once(
        engine,
        idempotency_key,
        ["register", asked],
        lambda cursor: request(cursor, asked.requested(), by=caller.subject),
        HTTPStatus.CREATED,
    )


@router.get("/registration", summary="List registrations", response_model=Page[Registration])
def list_registrations(
    engine: Database,
    caller: Reader,
    status: Annotated[
        RegistrationStatus | None, Query(description="Only registrations with this status.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List registrations, newest first."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    rows = registrations(engine, status, before=before, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.submitted_at, last.registration_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get("/registration/{registration_id}", summary="Show a registration", response_model=Registration)
def show_registration(engine: Database, caller: Reader, registration_id: RegistrationId) -> Response:
    """Show a registration: the request, its author, and the steward's decision."""
    found = registration(engine, registration_id)
    return shown(engine, caller, found, found.dataset)


@router.post(
    "/registration/{registration_id}/approve", summary="Approve a registration", response_model=Registration
)
def approve_registration(
    engine: Database,
    caller: Annotated[Caller, Depends(REVIEW)],
    registration_id: RegistrationId,
    answer: Answer,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Approve a registration: the dataset becomes active as requested."""
    return _reviewed(
        engine, caller, registration_id, RegistrationStatus.APPROVED, answer.comment, idempotency_key
    )


@router.post(
    "/registration/{registration_id}/reject", summary="Reject a registration", response_model=Registration
)
def reject_registration(
    engine: Database,
    caller: Annotated[Caller, Depends(REVIEW)],
    registration_id: RegistrationId,
    answer: Rejection,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Reject a registration: the dataset is unchanged."""
    return _reviewed(
        engine, caller, registration_id, RegistrationStatus.REJECTED, answer.comment, idempotency_key
    )


def _reviewed(
    engine: Database,
    caller: Caller,
    registration_id: UUID,
    status: RegistrationStatus,
    comment: str | None,
    key: str | None,
) -> Response:
    asked = registration(engine, registration_id)
    caller.require(Permission.REVIEW, asked.dataset)
    if asked.submitted_by == caller.subject and not all(map(caller.may, Permission)):
        raise Forbidden(
            f"{caller.subject} made this registration: another steward, or a PLATFORM_ADMIN, must review it"
        )
    return once(
        engine,
        key,
        [status, registration_id, comment],
        lambda cursor: review(cursor, registration_id, status, comment, by=caller.subject),
    )
