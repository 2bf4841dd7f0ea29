"""Scanned estates: the processes of a scheduler and their dependencies."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class EstateScan(Base):
    """One stored scan of an estate's files, and its result."""

    __tablename__ = "estate_scan"
    scan_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    instance: Mapped[str]
    scanned_by: Mapped[str]
    scanned_at: Mapped[datetime]
    files: Mapped[list[Any]]
    counts: Mapped[Json]


class TextBlock(Base):
    """Consecutive texts of a file, and how many lines they have moved since."""

    __tablename__ = "text_block"
    block_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    moved: Mapped[int]


class ProcessText(Base):
    """The place of a process before its block moved, and the digest of the text that defines it."""

    __tablename__ = "process_text"
    process_id: Mapped[UUID] = key("process.process_id")
    organisation_id: Mapped[UUID]
    block_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("catalog.text_block.block_id"))
    file: Mapped[str]
    line: Mapped[int]
    text_line: Mapped[int]
    text_digest: Mapped[str | None]
    lost: Mapped[list[Any] | None]


class EstateObject(Base):
    """A scanned object other than a job, as written: a machine, a resource, a calendar."""

    __tablename__ = "estate_object"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    instance: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    file: Mapped[str]
    line: Mapped[int]
    source: Mapped[str]


class ProcessDependency(Base):
    """A dependency of a process on another, which is stored by name; valid_to is null while it exists."""

    __tablename__ = "process_dependency"
    dependency_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    process_id: Mapped[UUID] = reference("process.process_id")
    upstream_technology: Mapped[str]
    upstream_instance: Mapped[str]
    upstream_name: Mapped[str]
    attribute: Mapped[str]
    condition: Mapped[str]
    orders: Mapped[bool]
    valid_from: Mapped[datetime]
    valid_to: Mapped[datetime | None]


class DatasetCandidate(Base):
    """Files or tables that processes seem to use, and the decision about them."""

    __tablename__ = "dataset_candidate"
    candidate_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    instance: Mapped[str]
    pattern: Mapped[str]
    status: Mapped[str]
    dataset_id: Mapped[UUID | None] = reference("dataset.dataset_id")
    decided_by: Mapped[str | None]
    decided_at: Mapped[datetime | None]
    found_at: Mapped[datetime]


class CandidateEvidence(Base):
    """The best evidence that a process reads or writes a candidate."""

    __tablename__ = "candidate_evidence"
    candidate_id: Mapped[UUID] = key("dataset_candidate.candidate_id")
    process_id: Mapped[UUID] = key("process.process_id")
    direction: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    confidence: Mapped[float]
    attribute: Mapped[str]
    excerpt: Mapped[str]
    line: Mapped[int]
