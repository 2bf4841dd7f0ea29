"""Routes by which a dataset is taken in: somebody asks for it, a steward approves or rejects."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.catalog.records import Column
from headrace.catalog.registrations import (
    Registration,
    RegistrationStatus,
    Requested,
    registration,
    registrations,
    request,
    review,
)
from headrace.service.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.service.api.responses import shown
from headrace.service.api.subjects import Database, Reader
from headrace.service.http.idempotency import IdempotencyKey, once
from headrace.service.security import requires

router = APIRouter(prefix="/api/v1", tags=["registration"])
REGISTER = requires(Permission.REGISTER)
REVIEW = requires(Permission.REVIEW)
RegistrationId = Annotated[UUID, Path(description="The registration's id.")]


def _is_storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains half a surrogate pair")
    return text


def _is_key(text: str) -> str:
    if not all(part.strip() == part and part for part in text.replace("://", "/").split("/")):
        raise ValueError("write domain/name, without empty parts or spaces around them")
    return text


Text = Annotated[str, AfterValidator(_is_storable)]
Short = Annotated[Text, Field(min_length=1, max_length=300)]
Key = Annotated[Text, Field(min_length=3, max_length=600, pattern="[/#]"), AfterValidator(_is_key)]


class ColumnAsked(BaseModel):
    """A column of a dataset that is asked for; type: as Spark writes it (`bigint`, `decimal(10,2)`)."""

    model_config = ConfigDict(extra="forbid")

    name: Short
    type: Short
    nullable: bool = True
    description: Annotated[Text, Field(max_length=20_000)] | None = None
    tags: Annotated[list[Short], Field(max_length=100)] = []


class DatasetAsked(BaseModel):
    """A dataset that is asked for."""

    model_config = ConfigDict(extra="forbid")

    key: Key = Field(description="`domain/name`.")
    format: Short = Field(examples=["parquet"])
    description: Annotated[Text, Field(max_length=20_000)] | None = None
    owners: Annotated[list[Short], Field(max_length=100)] = []
    tags: Annotated[dict[Short, Annotated[Text, Field(max_length=1000)]], Field(max_length=100)] = {}
    columns: Annotated[list[ColumnAsked], Field(max_length=5000)] = []

    def requested(self) -> Requested:
        """The same as the catalog takes it."""
        columns = tuple(
            Column(each.name, each.type, each.nullable, each.description, tuple(each.tags))
            for each in self.columns
        )
        return Requested(self.key, self.format, self.description, tuple(self.owners), self.tags, columns)


class Answer(BaseModel):
    """What the steward says to it."""

    model_config = ConfigDict(extra="forbid")

    comment: Annotated[Text, Field(max_length=20_000)] | None = None


class Rejection(BaseModel):
    """Why it is rejected."""

    model_config = ConfigDict(extra="forbid")

    comment: Annotated[Text, Field(min_length=1, max_length=20_000)]


@router.post(
    "/dataset/register",
    summary="Ask for a dataset to be taken in",
    status_code=HTTPStatus.CREATED,
    response_model=Registration,
)
def register_dataset(
    engine: Database,
    caller: Annotated[Caller, Depends(REGISTER)],
    asked: DatasetAsked,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """A dataset that nobody has heard of becomes a draft; it is active when a steward has approved it."""
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
        RegistrationStatus | None, Query(description="Only those of which this has become.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The newest first."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    rows = registrations(engine, status, before=before, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.submitted_at, last.registration_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get("/registration/{registration_id}", summary="Show a registration", response_model=Registration)
def show_registration(engine: Database, caller: Reader, registration_id: RegistrationId) -> Response:
    """What was asked for, by whom, and what the steward said."""
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
    """The dataset is then as asked for, and active."""
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
    """The dataset stays as it was."""
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
    caller.require(Permission.REVIEW, registration(engine, registration_id).dataset)
    return once(
        engine,
        key,
        [status, registration_id, comment],
        lambda cursor: review(cursor, registration_id, status, comment, by=caller.subject),
    )
