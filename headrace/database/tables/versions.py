"""Versions, their inputs, and the published pointers."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class DatasetVersion(Base):
    """One immutable version, and its outcome."""

    __tablename__ = "dataset_version"
    dataset_version_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    partition_key: Mapped[str]
    version_tag: Mapped[str]
    path: Mapped[str]
    format: Mapped[str]
    row_count: Mapped[int | None] = mapped_column(BigInteger)
    byte_size: Mapped[int | None] = mapped_column(BigInteger)
    file_count: Mapped[int]
    checksum: Mapped[str]
    schema_hash: Mapped[str]
    code_version: Mapped[str | None]
    fingerprint: Mapped[str | None]
    produced_by_run_id: Mapped[UUID | None]
    idempotency_key: Mapped[str]
    outcome: Mapped[str]
    reason: Mapped[str | None]
    quarantine_path: Mapped[str | None]
    quarantine_rows: Mapped[int] = mapped_column(BigInteger)
    statistics: Mapped[Json]
    metadata_json: Mapped[Json]
    produced_at: Mapped[datetime]
    lineage_hash: Mapped[str | None]
    provenance_id: Mapped[UUID | None]


class PublishedPointer(Base):
    """The published version; none if only reserved by a publish (generation 0), or withdrawn."""

    __tablename__ = "published_pointer"
    dataset_id: Mapped[UUID] = key("dataset.dataset_id")
    partition_key: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_version_id: Mapped[UUID | None] = reference("dataset_version.dataset_version_id")
    generation: Mapped[int]
    moved_at: Mapped[datetime]


class PointerMove(Base):
    """One move of a pointer, kept for `as_of`."""

    __tablename__ = "pointer_move"
    dataset_id: Mapped[UUID] = key("dataset.dataset_id")
    partition_key: Mapped[str] = mapped_column(primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_version_id: Mapped[UUID | None] = reference("dataset_version.dataset_version_id")
    previous_version_id: Mapped[UUID | None]
    kind: Mapped[str]
    run_id: Mapped[UUID | None]
    moved_by: Mapped[str | None]
    reason: Mapped[str | None]
    former_definition: Mapped[Json | None]
    moved_at: Mapped[datetime]


class VersionInput(Base):
    """An input of a version."""

    __tablename__ = "version_input"
    dataset_version_id: Mapped[UUID] = key("dataset_version.dataset_version_id")
    input_version_id: Mapped[UUID] = key("dataset_version.dataset_version_id")
    organisation_id: Mapped[UUID]


class PendingMaterialization(Base):
    """A completion of an external process, or a version of a dataset, that Dagster does not have yet."""

    __tablename__ = "pending_materialization"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    completion_id: Mapped[UUID] = key()
    subject_id: Mapped[UUID]
    partition_key: Mapped[str]
    subject_type: Mapped[str]
    event_key: Mapped[str]
    at: Mapped[datetime]
    run_id: Mapped[UUID | None]
    version_id: Mapped[UUID | None] = reference("dataset_version.dataset_version_id")
    changed_at: Mapped[datetime]


class UnreportedVersion(Base):
    """A version published by a run that has not reported it to Dagster and all notified systems."""

    __tablename__ = "unreported_version"
    dataset_version_id: Mapped[UUID] = key("dataset_version.dataset_version_id")
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    delivered: Mapped[list[str]]
    failure: Mapped[str | None]
    tries: Mapped[int]
    next_try_at: Mapped[datetime]
