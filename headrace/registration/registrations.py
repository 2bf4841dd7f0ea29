"""Registrations: a user proposes a dataset, and a steward approves or rejects it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from psycopg import Cursor
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import Engine

from headrace.access.redacted_json import jsonb_without_secrets
from headrace.access.sensitivity import DatasetKey, Public
from headrace.catalog.organisations import create_organisation
from headrace.catalog.records import CheckStatus, Column, DatasetRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.errors import DecisionRefused, RefusedByGate, UnknownDataset
from headrace.gates import Candidate, Moment, described, gate_results, is_gated, is_held, refusal
from headrace.registration.sql import statement

_DECLARED = """
SELECT declared_at FROM catalog.dataset WHERE organisation_id = %s AND full_name = %s AND declaration_hash <> ''
"""
_REVIEW = """
UPDATE catalog.dataset_registration SET status = %s, reviewer = %s, review_comment = %s, reviewed_at = now()
WHERE reg_id = %s
"""


class RegistrationStatus(StrEnum):
    """Status of a registration."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


@dataclass(frozen=True, slots=True)
class RegistrationRequest:
    """A requested dataset. key: `domain/name`, or an OpenLineage namespace and name separated by `/`."""

    key: str
    format: str
    description: str | None = None
    owners: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()


def _is_storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains half a surrogate pair")
    return text


def _is_key(text: str) -> str:
    if not {"/", "#"} & set(text):
        raise ValueError("write domain/name")
    if not all(part.strip() == part and part for part in text.replace("://", "/").split("/")):
        raise ValueError("write domain/name, without empty parts or spaces around them")
    if {".", ".."} & set(text.replace("#", "/").split("/")):
        raise ValueError("write domain/name, without the parts . and ..")
    if not text.isprintable() or set("<>\"'`\\") & set(text):
        raise ValueError("write domain/name, without quotes, backslashes, < and > and control characters")
    return text


StorableText = Annotated[str, AfterValidator(_is_storable)]
Short = Annotated[StorableText, Field(min_length=1, max_length=300)]
Key = Annotated[
    StorableText,
    Field(min_length=3, max_length=600, json_schema_extra={"pattern": "[/#]"}),
    AfterValidator(_is_key),
]


class ColumnRequest(BaseModel):
    """A column of a requested dataset; type: as Spark writes it (`bigint`, `decimal(10,2)`)."""

    model_config = ConfigDict(extra="forbid")

    name: Short
    type: Short
    nullable: bool = True
    description: Annotated[StorableText, Field(max_length=20_000)] | None = None
    tags: Annotated[list[Short], Field(max_length=100)] = []


class DatasetRequest(BaseModel):
    """A requested dataset, as a caller writes it."""

    model_config = ConfigDict(extra="forbid")

    key: Key = Field(description="`domain/name`.")
    format: Short = Field(examples=["parquet"])
    description: Annotated[StorableText, Field(max_length=20_000)] | None = None
    owners: Annotated[list[Short], Field(max_length=100)] = []
    tags: Annotated[dict[Short, Annotated[StorableText, Field(max_length=1000)]], Field(max_length=100)] = {}
    columns: Annotated[list[ColumnRequest], Field(max_length=5000)] = []

    def requested(self) -> RegistrationRequest:
        """Return the request in the catalog's form."""
        columns = tuple(
            Column(each.name, each.type, each.nullable, each.description, tuple(each.tags))
            for each in self.columns
        )
        return RegistrationRequest(
            self.key, self.format, self.description, tuple(self.owners), self.tags, columns
        )


@dataclass(frozen=True, slots=True)
class Registration:
    """A request for a new dataset, and the steward's decision.

    objections: of gates, such as policies: `name`, `text`, and `held`: whether approving it takes a comment.
    """

    registration_id: UUID
    dataset_id: UUID
    dataset: DatasetKey
    submitted_by: Public[str]
    submitted_at: datetime
    status: RegistrationStatus
    requested: Public[dict[str, Any]]
    objections: Public[list[dict[str, Any]]]
    reviewer: Public[str | None]
    comment: Public[str | None]
    reviewed_at: datetime | None


def request(cursor: Cursor[Any], asked: RegistrationRequest, *, by: str) -> Registration:
    """Request a dataset, in a running transaction. An unknown dataset becomes a draft.

    Raises DecisionRefused if the dataset is declared, or an earlier request is pending; RefusedByGate.
    """
    declared = cursor.execute(_DECLARED, [current_context().organisation_id, asked.key]).fetchone()
    if declared is not None:
        place = f" at {declared['declared_at']}" if declared["declared_at"] else ""
        raise DecisionRefused(f"{asked.key} is declared{place}: change it there")
    [results] = gate_results(cursor, [_candidate(asked)]) if is_gated(Moment.REGISTRATION) else [[]]
    if (reason := refusal(results, held=False)) is not None:
        raise RefusedByGate(f"{asked.key} cannot be registered: {reason}")
    objections = [
        {"name": each.name, "text": described(each), "held": is_held(each)}
        for each in results
        if each.status is not CheckStatus.PASS
    ]
    create_organisation(cursor)
    namespace, _, name = asked.key.rpartition("/")
    parameters = {
        "organisation": current_context().organisation_id,
        "namespace": namespace,
        "name": name,
        "requested": jsonb_without_secrets({**asdict(asked), "tags": dict(asked.tags)}),
        "objections": jsonb(objections),
        "by": by,
    }
    statement("registration_draft").execute(cursor, parameters)
    made = statement("registration_request").execute(cursor, parameters).fetchone()
    if made is None:
        raise DecisionRefused(f"{asked.key} is already requested, and is waiting for a steward's review")
    return _one(cursor, made["reg_id"])


def review(
    cursor: Cursor[Any], registration_id: UUID, status: RegistrationStatus, comment: str | None, *, by: str
) -> Registration:
    """Approve or reject a request, in a running transaction.

    An approved dataset becomes active as requested; a rejected one is unchanged. Raises UnknownDataset for an unknown
    registration, DecisionRefused for one that has been reviewed, and for one that a gate holds without a comment.
    """
    cursor.execute("SELECT FROM catalog.dataset_registration WHERE reg_id = %s FOR UPDATE", [registration_id])
    waiting = _one(cursor, registration_id)
    if waiting.status is not RegistrationStatus.PENDING:
        raise DecisionRefused(
            f"registration {registration_id} was already {waiting.status.lower()} by {waiting.reviewer}"
        )
    held = [each["text"] for each in waiting.objections if each["held"]]
    if status is RegistrationStatus.APPROVED and held and not (comment or "").strip():
        raise DecisionRefused(
            f"{waiting.dataset} is held: {'; '.join(held)} Approve it with a comment that says why, or reject it"
        )
    if status is RegistrationStatus.APPROVED:
        parameters = {"dataset_id": waiting.dataset_id, "requested": jsonb(waiting.requested)}
        statement("registration_approve").execute(cursor, parameters)
    cursor.execute(_REVIEW, [status, by, comment, registration_id])
    return _one(cursor, registration_id)


def _candidate(asked: RegistrationRequest) -> Candidate:
    record = DatasetRecord(
        asked.key, asked.format, asked.description, asked.owners, asked.tags, asked.columns
    )
    return Candidate(Moment.REGISTRATION, asked.key, record, "registered")


def registration(engine: Engine, registration_id: UUID) -> Registration:
    """Return one registration. Raises UnknownDataset."""
    with transaction(engine) as cursor:
        return _one(cursor, registration_id)


def registrations(
    engine: Engine,
    status: RegistrationStatus | None = None,
    *,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Registration]:
    """Return registrations, newest first, before (time, id)."""
    with transaction(engine) as cursor:
        return _all(cursor, status=status, before=before, limit=limit)


def _one(cursor: Cursor[Any], registration_id: UUID) -> Registration:
    found = _all(cursor, registration_id=registration_id)
    if not found:
        raise UnknownDataset(
            f"no registration {registration_id}; `headrace registrations --all` lists registrations"
        )
    return found[0]


def _all(
    cursor: Cursor[Any],
    *,
    registration_id: UUID | None = None,
    status: RegistrationStatus | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 1,
) -> list[Registration]:
    parameters = {
        "organisation": current_context().organisation_id,
        "reg_id": registration_id,
        "status": status,
        "before_at": before and before[0],
        "before_id": before and before[1],
        "limit": limit,
    }
    rows = statement("registrations").execute(cursor, parameters)
    return [Registration(**{**row, "status": RegistrationStatus(row["status"])}) for row in rows]
