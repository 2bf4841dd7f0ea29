"""Organisations, grants, tokens, and the audit trail."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class Organisation(Base):
    """An organisation; every other row belongs to one."""

    __tablename__ = "organisation"
    organisation_id: Mapped[UUID] = key()
    name: Mapped[str]
    created_at: Mapped[datetime]


class AccessGrant(Base):
    """A role of a subject in a domain (`*`: all), until it is revoked."""

    __tablename__ = "access_grant"
    grant_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    subject: Mapped[str]
    role: Mapped[str]
    domain: Mapped[str]
    granted_by: Mapped[str]
    granted_at: Mapped[datetime]
    revoked_by: Mapped[str | None]
    revoked_at: Mapped[datetime | None]


class ServiceToken(Base):
    """A service's token; only a digest of its secret is stored."""

    __tablename__ = "service_token"
    token_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    name: Mapped[str]
    domain: Mapped[str]
    permissions: Mapped[list[str]]
    secret_digest: Mapped[bytes]
    issued_by: Mapped[str]
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_by: Mapped[str | None]
    revoked_at: Mapped[datetime | None]


class TaskToken(Base):
    """The permissions of one run; outputs and inputs are dataset keys."""

    __tablename__ = "task_token"
    token_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    run_id: Mapped[UUID]
    outputs: Mapped[list[str]]
    inputs: Mapped[list[str]]
    secret_digest: Mapped[bytes]
    issued_by: Mapped[str]
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class AuditEntry(Base):
    """A change, or a read of sensitive data; append-only."""

    __tablename__ = "audit_entry"
    audit_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    at: Mapped[datetime]
    subject: Mapped[str]
    action: Mapped[str]
    object_type: Mapped[str]
    object: Mapped[str]
    detail: Mapped[Json]
    request_id: Mapped[str | None]


class AnsweredRequest(Base):
    """The stored response to a request with an Idempotency-Key."""

    __tablename__ = "answered_request"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    subject: Mapped[str] = mapped_column(primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(primary_key=True)
    request_hash: Mapped[str]
    status: Mapped[int]
    answer: Mapped[Json]
    answered_at: Mapped[datetime]
