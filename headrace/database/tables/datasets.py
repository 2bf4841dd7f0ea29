"""Datasets, their schemas, owners and names."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class Project(Base):
    """A project that declares datasets, and the version of the platform that it last used."""

    __tablename__ = "project"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    platform_version: Mapped[str]
    registered_at: Mapped[datetime]


class ProjectLoad(Base):
    """The invalid declarations of a project when it was last loaded."""

    __tablename__ = "project_load"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    project: Mapped[str] = mapped_column(primary_key=True)
    loaded_at: Mapped[datetime]
    problems: Mapped[list[Any]]


class Dataset(Base):
    """A logical dataset as last declared."""

    __tablename__ = "dataset"
    dataset_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    namespace: Mapped[str]
    name: Mapped[str]
    full_name: Mapped[str]
    description: Mapped[str | None]
    default_format: Mapped[str]
    owners: Mapped[list[str]]
    tags: Mapped[Json]
    columns: Mapped[list[Any]]
    partitions: Mapped[str | None]
    status: Mapped[str]
    metadata_json: Mapped[Json]
    declared_at: Mapped[str | None]
    declaration_hash: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    project: Mapped[str | None]
    partition_definition: Mapped[Json | None]


class DatasetSchema(Base):
    """One column of one schema that a dataset has had."""

    __tablename__ = "dataset_schema"
    dataset_id: Mapped[UUID] = key("dataset.dataset_id")
    schema_hash: Mapped[str] = mapped_column(primary_key=True)
    column_order: Mapped[int] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    column_name: Mapped[str]
    column_type: Mapped[str]
    nullable: Mapped[bool]
    column_metadata: Mapped[Json]
    created_at: Mapped[datetime]


class DatasetName(Base):
    """A name of a dataset: the spec's namespace and name. name_id is computed from it."""

    __tablename__ = "dataset_name"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    namespace: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    name_id: Mapped[UUID] = mapped_column(unique=True)
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    reported: Mapped[bool]
    renamed: Mapped[bool]
    preferred: Mapped[bool]
    kind: Mapped[str | None]
    created_at: Mapped[datetime]


class DatasetNameChange(Base):
    """A decision about names: an alias, a merge, a rename."""

    __tablename__ = "dataset_name_change"
    change_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    kind: Mapped[str]
    namespace: Mapped[str]
    name: Mapped[str]
    into_namespace: Mapped[str]
    into_name: Mapped[str]
    former_id: Mapped[UUID | None]
    changed_by: Mapped[str]
    reason: Mapped[str]
    changed_at: Mapped[datetime]


class DatasetRetirement(Base):
    """A retirement of a dataset, and its end: time, person and reason of both."""

    __tablename__ = "dataset_retirement"
    retirement_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    retired_by: Mapped[str]
    reason: Mapped[str]
    retired_at: Mapped[datetime]
    restored_by: Mapped[str | None]
    restore_reason: Mapped[str | None]
    restored_at: Mapped[datetime | None]


class DatasetRegistration(Base):
    """A request for a new dataset, and the steward's decision."""

    __tablename__ = "dataset_registration"
    reg_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    submitted_by: Mapped[str]
    submitted_at: Mapped[datetime]
    status: Mapped[str]
    reviewer: Mapped[str | None]
    review_comment: Mapped[str | None]
    requested: Mapped[Json]
    reviewed_at: Mapped[datetime | None]


class DatasetPin(Base):
    """Readers (all, or one dataset) get this version whatever is published, until it is unpinned."""

    __tablename__ = "dataset_pin"
    pin_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID] = reference("dataset.dataset_id")
    partition_key: Mapped[str]
    consumer_id: Mapped[UUID | None] = reference("dataset.dataset_id")
    dataset_version_id: Mapped[UUID] = reference("dataset_version.dataset_version_id")
    pinned_by: Mapped[str]
    reason: Mapped[str]
    pinned_at: Mapped[datetime]
    unpinned_by: Mapped[str | None]
    unpinned_at: Mapped[datetime | None]


class DatasetSearch(Base):
    """The search document of a dataset: its key, and its words with positions."""

    __tablename__ = "dataset_search"
    dataset_id: Mapped[UUID] = mapped_column(
        ForeignKey("catalog.dataset.dataset_id", ondelete="CASCADE"), primary_key=True
    )
    organisation_id: Mapped[UUID]
    full_name: Mapped[str]
    words: Mapped[str] = mapped_column(TSVECTOR)


class SearchWord(Base):
    """A word that datasets of an organisation have, or had."""

    __tablename__ = "search_word"
    organisation_id: Mapped[UUID] = key()
    word: Mapped[str] = mapped_column(primary_key=True)


class SearchKey(Base):
    """Keys for finding misspelt words."""

    __tablename__ = "search_key"
    organisation_id: Mapped[UUID] = key()
    key: Mapped[str] = mapped_column(primary_key=True)
    word: Mapped[str] = mapped_column(primary_key=True)
