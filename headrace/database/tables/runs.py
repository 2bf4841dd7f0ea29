"""Processes, their runs, and the run events that runs are projected from."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKeyConstraint
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class Process(Base):
    """A process as last declared."""

    __tablename__ = "process"
    process_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    process_key: Mapped[str]
    description: Mapped[str | None]
    technology: Mapped[str]
    trigger_mode: Mapped[str]
    owners: Mapped[list[str]]
    code_version: Mapped[str | None]
    steps: Mapped[list[Any]]
    source: Mapped[str | None]
    metadata_json: Mapped[Json]
    declaration_hash: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    instance: Mapped[str]
    external_name: Mapped[str | None]
    lifecycle: Mapped[str]
    job_namespace: Mapped[str | None]
    job_name: Mapped[str | None]
    project: Mapped[str | None]


class ProcessRun(Base):
    """One execution of a process; its state is that of its newest attempt. Partitioned by month of start_ts."""

    __tablename__ = "process_run"
    run_id: Mapped[UUID] = key()
    start_ts: Mapped[datetime] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    process_id: Mapped[UUID] = reference("process.process_id")
    status: Mapped[str]
    end_ts: Mapped[datetime | None]
    attempt: Mapped[int]
    parent_run_id: Mapped[UUID | None]
    root_dagster_run_id: Mapped[str | None]
    partitions: Mapped[list[str]]
    log_location: Mapped[str | None]
    facets_json: Mapped[Json]
    historical: Mapped[bool]
    parent_process_id: Mapped[UUID | None]
    archived_day: Mapped[date | None]


class RunAttempt(Base):
    """One attempt of a run; lock_key is the advisory lock that it holds while it is alive."""

    __tablename__ = "run_attempt"
    run_id: Mapped[UUID] = key()
    attempt: Mapped[int] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    run_start_ts: Mapped[datetime]
    dagster_run_id: Mapped[str | None]
    state: Mapped[str]
    start_ts: Mapped[datetime]
    end_ts: Mapped[datetime | None]
    reason: Mapped[str | None]
    failure_kind: Mapped[str | None]
    log_location: Mapped[str | None]
    host: Mapped[str | None]
    os_pid: Mapped[int | None]
    lock_key: Mapped[int | None] = mapped_column(BigInteger)
    ending: Mapped[str | None]
    exit_code: Mapped[int | None]


class RunInput(Base):
    """A version read by an attempt, and the reason for the choice."""

    __tablename__ = "run_input"
    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "attempt"], ["catalog.run_attempt.run_id", "catalog.run_attempt.attempt"]
        ),
    )
    run_id: Mapped[UUID] = key()
    attempt: Mapped[int] = mapped_column(primary_key=True)
    dataset_version_id: Mapped[UUID] = key("dataset_version.dataset_version_id")
    organisation_id: Mapped[UUID]
    reason: Mapped[str]


class RunEvent(Base):
    """A raw event as received. Partitioned by month of event_time."""

    __tablename__ = "run_event"
    event_time: Mapped[datetime] = mapped_column(primary_key=True)
    content_hash: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = key()
    event_id: Mapped[UUID]
    run_id: Mapped[UUID | None]
    process_key: Mapped[str | None]
    event_type: Mapped[str]
    payload_json: Mapped[Json]
    historical: Mapped[bool]
    received_at: Mapped[datetime]
    source: Mapped[str | None]
    sequence: Mapped[int] = mapped_column(BigInteger)
    reported_by: Mapped[str | None]


class OpenlineageRun(Base):
    """The merged OpenLineage events of a run. native: the run is known from other sources."""

    __tablename__ = "openlineage_run"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    run_id: Mapped[UUID] = key()
    reported_run_id: Mapped[UUID]
    named_run_id: Mapped[UUID | None]
    process_id: Mapped[UUID] = reference("process.process_id")
    document: Mapped[Json]
    native: Mapped[bool]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]


class RunDataset(Base):
    """A dataset read or written by a run, under the reported name."""

    __tablename__ = "run_dataset"
    organisation_id: Mapped[UUID] = key()
    run_id: Mapped[UUID] = key()
    name_id: Mapped[UUID] = key("dataset_name.name_id")
    role: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str | None]
    partition_key: Mapped[str]
    facets: Mapped[Json]
    at: Mapped[datetime]


class Facet(Base):
    """The newest facet of a name of a dataset (by name_id) or a process."""

    __tablename__ = "facet"
    subject_type: Mapped[str] = mapped_column(primary_key=True)
    subject_id: Mapped[UUID] = key()
    name: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    at: Mapped[datetime]
    digest: Mapped[str]
    content: Mapped[Json]
    modelled: Mapped[bool]
    deleted: Mapped[bool]


class Completion(Base):
    """A genuine success of an external run, derived from its events."""

    __tablename__ = "completion"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    event_key: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger)
    run_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None] = reference("process.process_id")
    run: Mapped[str | None]
    attempt: Mapped[int]
    status: Mapped[str]
    at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    moment: Mapped[datetime]
    exit_code: Mapped[int | None]
    machine: Mapped[str | None]
    log_location: Mapped[str | None]
    partition_key: Mapped[str]
    run_partition_key: Mapped[str]
    historical: Mapped[bool]


class Outbox(Base):
    """Changes to deliver; a row is deleted after delivery."""

    __tablename__ = "outbox"
    outbox_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    topic: Mapped[str]
    payload_json: Mapped[Json]
    created_at: Mapped[datetime]
    transaction_id: Mapped[int] = mapped_column(BigInteger)


class OutboxReader(Base):
    """The position of a reader of the outbox."""

    __tablename__ = "outbox_reader"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    reader: Mapped[str] = mapped_column(primary_key=True)
    transaction_id: Mapped[int] = mapped_column(BigInteger)
    outbox_id: Mapped[int] = mapped_column(BigInteger)
    read_at: Mapped[datetime]


class OpenlineageModelVersion(Base):
    """The version of the OL_* model that the views implement."""

    __tablename__ = "openlineage_model_version"
    version_id: Mapped[int] = mapped_column(primary_key=True)
    openlineage_spec_version: Mapped[str]
    schema_version: Mapped[str]
    applied_at: Mapped[datetime]
    description: Mapped[str]
