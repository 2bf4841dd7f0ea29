"""Lineage of datasets and columns."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, REAL, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class LineageEdge(Base):
    """An edge between datasets and processes, in the direction of data flow; valid_to is null while it is current."""

    __tablename__ = "lineage_edge"
    edge_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    source_type: Mapped[str]
    source_id: Mapped[UUID]
    target_type: Mapped[str]
    target_id: Mapped[UUID]
    edge_role: Mapped[str]
    process_id: Mapped[UUID | None] = reference("process.process_id")
    origin: Mapped[str]
    valid_from: Mapped[datetime]
    valid_to: Mapped[datetime | None]


class ColumnLineageReport(Base):
    """A reporter of a dataset's column lineage, with the time of its last report."""

    __tablename__ = "column_lineage_report"
    target_name_id: Mapped[UUID] = key("dataset_name.name_id")
    reporter_id: Mapped[UUID] = key()
    via: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    process_id: Mapped[UUID | None] = reference("process.process_id")
    last_at: Mapped[datetime]
    lineage_hash: Mapped[str | None]


class ColumnLineage(Base):
    """A column derived from another; an empty field means the whole dataset."""

    __tablename__ = "column_lineage"
    column_lineage_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    reporter_id: Mapped[UUID]
    process_id: Mapped[UUID | None] = reference("process.process_id")
    target_name_id: Mapped[UUID] = reference("dataset_name.name_id")
    target_field: Mapped[str]
    source_name_id: Mapped[UUID] = reference("dataset_name.name_id")
    source_field: Mapped[str]
    via: Mapped[str]
    transformation_type: Mapped[str]
    transformation_subtype: Mapped[str]
    transformation_description: Mapped[str]
    masking: Mapped[bool]
    run_id: Mapped[UUID | None]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    confidence: Mapped[float] = mapped_column(REAL)
    origin: Mapped[str]


class DatasetLineage(Base):
    """Column lineage from a run's plan; versions share it by hash."""

    __tablename__ = "dataset_lineage"
    dataset_id: Mapped[UUID] = key("dataset.dataset_id")
    lineage_hash: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    content: Mapped[Json]
    column_count: Mapped[int]
    known_count: Mapped[int]
    created_at: Mapped[datetime]


class LineageFlow(Base):
    """A column whose values flow into a column of a lineage, or may; an empty source_column means any."""

    __tablename__ = "lineage_flow"
    dataset_id: Mapped[UUID] = key()
    lineage_hash: Mapped[str] = mapped_column(primary_key=True)
    source_name_id: Mapped[UUID] = key()
    source_column: Mapped[str] = mapped_column(primary_key=True)
    target_column: Mapped[str] = mapped_column(primary_key=True)
    certain: Mapped[bool] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]


class Provenance(Base):
    """The lineage of a version with the lineages of the exact versions that it was made from; versions share it."""

    __tablename__ = "provenance"
    provenance_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    lineage_hash: Mapped[str]
    lineages: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))


class ProvenanceInput(Base):
    """A source of a provenance's lineage, and the provenance of the versions read; null if that is unknown."""

    __tablename__ = "provenance_input"
    provenance_id: Mapped[UUID] = key("provenance.provenance_id")
    source_name_id: Mapped[UUID] = mapped_column(primary_key=True)
    input_provenance_id: Mapped[UUID | None] = reference("provenance.provenance_id")
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")


class ClearedColumn(Base):
    """An owner's decision that a derived column is safe to display, as long as it has only these sources."""

    __tablename__ = "cleared_column"
    clearing_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    column_name: Mapped[str]
    cleared_by: Mapped[str]
    reason: Mapped[str]
    sources: Mapped[list[str]]
    cleared_at: Mapped[datetime]
    withdrawn_by: Mapped[str | None]
    withdrawn_at: Mapped[datetime | None]
