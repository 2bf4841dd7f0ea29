"""Checks, their results, and metrics reported by others."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class QualityCheckDef(Base):
    """A check as declared; retired when the declaration drops it."""

    __tablename__ = "quality_check_def"
    qdef_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    name: Mapped[str]
    kind: Mapped[str]
    column_name: Mapped[str | None]
    parameters: Mapped[Json]
    severity: Mapped[str]
    quarantine: Mapped[bool]
    description: Mapped[str | None]
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]


class QualityCheckResult(Base):
    """The result of a check, by name, on a version."""

    __tablename__ = "quality_check_result"
    dataset_version_id: Mapped[UUID] = key("dataset_version.dataset_version_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    status: Mapped[str]
    failed_rows: Mapped[int | None] = mapped_column(BigInteger)
    detail_json: Mapped[Json]
    executed_at: Mapped[datetime]


class DatasetAssertion(Base):
    """The result of a dataset's test, reported by a run."""

    __tablename__ = "dataset_assertion"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    run_id: Mapped[UUID] = key()
    name_id: Mapped[UUID] = key("dataset_name.name_id")
    assertion_key: Mapped[str] = mapped_column(primary_key=True)
    assertion: Mapped[str]
    column_name: Mapped[str | None]
    success: Mapped[bool]
    severity: Mapped[str | None]
    detail: Mapped[Json]
    at: Mapped[datetime]


class DatasetMetrics(Base):
    """Metrics of a dataset, reported by a run."""

    __tablename__ = "dataset_metrics"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    run_id: Mapped[UUID] = key()
    name_id: Mapped[UUID] = key("dataset_name.name_id")
    row_count: Mapped[Decimal | None]
    byte_size: Mapped[Decimal | None]
    file_count: Mapped[Decimal | None]
    last_updated: Mapped[datetime | None]
    columns: Mapped[Json]
    at: Mapped[datetime]
    digest: Mapped[str]
