"""SQLAlchemy models of the tables. A test compares them with the migrations; queries select from them.

`''` as partition_key means: not partitioned. Constraints that only the server needs are in the migrations.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    REAL,
    BigInteger,
    Date,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    MetaData,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Json = dict[str, Any]


class Base(DeclarativeBase):
    """All tables live in the schema `catalog`."""

    metadata = MetaData(schema="catalog")
    type_annotation_map = {
        str: Text(),
        datetime: DateTime(timezone=True),
        Json: JSONB(),
        list[Any]: JSONB(),
        list[str]: ARRAY(Text()),
    }


def _key(target: str | None = None) -> Mapped[UUID]:
    return mapped_column(_reference(target), primary_key=True) if target else mapped_column(primary_key=True)


def _to(target: str) -> Mapped[Any]:
    return mapped_column(_reference(target))


def _reference(target: str) -> ForeignKey:
    # Deferrable, so that a rebuild can take versions away and make them again under the same ids.
    deferrable = True if target.startswith("dataset_version.") else None
    return ForeignKey(f"catalog.{target}", deferrable=deferrable)


class Organisation(Base):
    """An organisation; every other row belongs to one."""

    __tablename__ = "organisation"
    organisation_id: Mapped[UUID] = _key()
    name: Mapped[str]
    created_at: Mapped[datetime]


class Project(Base):
    """A project that declares datasets, and the version of the platform that it last used."""

    __tablename__ = "project"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    platform_version: Mapped[str]
    registered_at: Mapped[datetime]


class Dataset(Base):
    """A logical dataset as last declared."""

    __tablename__ = "dataset"
    dataset_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
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


class Process(Base):
    """A process as last declared."""

    __tablename__ = "process"
    process_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
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


class DatasetSchema(Base):
    """One column of one schema that a dataset has had."""

    __tablename__ = "dataset_schema"
    dataset_id: Mapped[UUID] = _key("dataset.dataset_id")
    schema_hash: Mapped[str] = mapped_column(primary_key=True)
    column_order: Mapped[int] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    column_name: Mapped[str]
    column_type: Mapped[str]
    nullable: Mapped[bool]
    column_metadata: Mapped[Json]
    created_at: Mapped[datetime]


class DatasetVersion(Base):
    """One immutable version, and its outcome."""

    __tablename__ = "dataset_version"
    dataset_version_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
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


class PublishedPointer(Base):
    """The published version; at generation 0 only reserved by a publish."""

    __tablename__ = "published_pointer"
    dataset_id: Mapped[UUID] = _key("dataset.dataset_id")
    partition_key: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_version_id: Mapped[UUID | None] = _to("dataset_version.dataset_version_id")
    generation: Mapped[int]
    moved_at: Mapped[datetime]


class PointerMove(Base):
    """One move of a pointer, kept for `as_of`."""

    __tablename__ = "pointer_move"
    dataset_id: Mapped[UUID] = _key("dataset.dataset_id")
    partition_key: Mapped[str] = mapped_column(primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_version_id: Mapped[UUID] = _to("dataset_version.dataset_version_id")
    previous_version_id: Mapped[UUID | None]
    kind: Mapped[str]
    run_id: Mapped[UUID | None]
    moved_by: Mapped[str | None]
    reason: Mapped[str | None]
    moved_at: Mapped[datetime]


class VersionInput(Base):
    """A version was computed from another."""

    __tablename__ = "version_input"
    dataset_version_id: Mapped[UUID] = _key("dataset_version.dataset_version_id")
    input_version_id: Mapped[UUID] = _key("dataset_version.dataset_version_id")
    organisation_id: Mapped[UUID]


class ProcessRun(Base):
    """One execution of a process; its state is that of its newest attempt. Partitioned by month of start_ts."""

    __tablename__ = "process_run"
    run_id: Mapped[UUID] = _key()
    start_ts: Mapped[datetime] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    process_id: Mapped[UUID] = _to("process.process_id")
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


class RunAttempt(Base):
    """One attempt of a run; lock_key is the advisory lock that it holds while it lives."""

    __tablename__ = "run_attempt"
    run_id: Mapped[UUID] = _key()
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
    run_id: Mapped[UUID] = _key()
    attempt: Mapped[int] = mapped_column(primary_key=True)
    dataset_version_id: Mapped[UUID] = _key("dataset_version.dataset_version_id")
    organisation_id: Mapped[UUID]
    reason: Mapped[str]


class LineageEdge(Base):
    """An edge between datasets and processes, the way data flows; valid_to is null while it holds."""

    __tablename__ = "lineage_edge"
    edge_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    source_type: Mapped[str]
    source_id: Mapped[UUID]
    target_type: Mapped[str]
    target_id: Mapped[UUID]
    edge_role: Mapped[str]
    process_id: Mapped[UUID | None] = _to("process.process_id")
    origin: Mapped[str]
    valid_from: Mapped[datetime]
    valid_to: Mapped[datetime | None]


class RunEvent(Base):
    """A raw event as received. Partitioned by month of event_time."""

    __tablename__ = "run_event"
    event_time: Mapped[datetime] = mapped_column(primary_key=True)
    content_hash: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = _key()
    event_id: Mapped[UUID]
    run_id: Mapped[UUID | None]
    process_key: Mapped[str | None]
    event_type: Mapped[str]
    payload_json: Mapped[Json]
    historical: Mapped[bool]
    received_at: Mapped[datetime]
    intake: Mapped[str | None]
    sequence: Mapped[int] = mapped_column(BigInteger)
    reported_by: Mapped[str | None]


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
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
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


class Sla(Base):
    """An SLA of a dataset or a process; SCANNED ones come from a job's definition."""

    __tablename__ = "sla"
    sla_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    dataset_id: Mapped[UUID | None] = _to("dataset.dataset_id")
    definition: Mapped[Json]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    process_id: Mapped[UUID | None] = _to("process.process_id")
    compiled_at: Mapped[datetime | None]
    origin: Mapped[str]


class QualityCheckDef(Base):
    """A check as declared; retired when the declaration drops it."""

    __tablename__ = "quality_check_def"
    qdef_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
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
    dataset_version_id: Mapped[UUID] = _key("dataset_version.dataset_version_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    status: Mapped[str]
    failed_rows: Mapped[int | None] = mapped_column(BigInteger)
    detail_json: Mapped[Json]
    executed_at: Mapped[datetime]


class DatasetRegistration(Base):
    """A request for a new dataset, and the steward's decision."""

    __tablename__ = "dataset_registration"
    reg_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
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
    pin_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
    partition_key: Mapped[str]
    consumer_id: Mapped[UUID | None] = _to("dataset.dataset_id")
    dataset_version_id: Mapped[UUID] = _to("dataset_version.dataset_version_id")
    pinned_by: Mapped[str]
    reason: Mapped[str]
    pinned_at: Mapped[datetime]
    unpinned_by: Mapped[str | None]
    unpinned_at: Mapped[datetime | None]


class EstateScan(Base):
    """One stored scan of an estate's files, and its result."""

    __tablename__ = "estate_scan"
    scan_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
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
    """Where a scan found a process before its block moved, and the digest of the text that defines it."""

    __tablename__ = "process_text"
    process_id: Mapped[UUID] = _key("process.process_id")
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
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    instance: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    file: Mapped[str]
    line: Mapped[int]
    source: Mapped[str]


class ProcessDependency(Base):
    """A process waits for another, which is kept by name; valid_to is null while it does."""

    __tablename__ = "process_dependency"
    dependency_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    process_id: Mapped[UUID] = _to("process.process_id")
    upstream_technology: Mapped[str]
    upstream_instance: Mapped[str]
    upstream_name: Mapped[str]
    attribute: Mapped[str]
    condition: Mapped[str]
    orders: Mapped[bool]
    valid_from: Mapped[datetime]
    valid_to: Mapped[datetime | None]


class DatasetCandidate(Base):
    """Files or tables that processes seem to use, and what a person decided about them."""

    __tablename__ = "dataset_candidate"
    candidate_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    instance: Mapped[str]
    pattern: Mapped[str]
    status: Mapped[str]
    dataset_id: Mapped[UUID | None] = _to("dataset.dataset_id")
    decided_by: Mapped[str | None]
    decided_at: Mapped[datetime | None]
    found_at: Mapped[datetime]


class CandidateEvidence(Base):
    """The best reason to think that a process reads or writes a candidate."""

    __tablename__ = "candidate_evidence"
    candidate_id: Mapped[UUID] = _key("dataset_candidate.candidate_id")
    process_id: Mapped[UUID] = _key("process.process_id")
    direction: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    confidence: Mapped[float]
    attribute: Mapped[str]
    excerpt: Mapped[str]
    line: Mapped[int]


class Completion(Base):
    """A genuine success of a run elsewhere, as the events of the run come to."""

    __tablename__ = "completion"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    event_key: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger)
    run_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None] = _to("process.process_id")
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


class PendingMaterialization(Base):
    """A completion of an external process, or a version of a dataset, of which Dagster does not know yet."""

    __tablename__ = "pending_materialization"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    completion_id: Mapped[UUID] = _key()
    subject_id: Mapped[UUID]
    partition_key: Mapped[str]
    subject_type: Mapped[str]
    event_key: Mapped[str]
    at: Mapped[datetime]
    run_id: Mapped[UUID | None]
    version_id: Mapped[UUID | None] = _to("dataset_version.dataset_version_id")
    changed_at: Mapped[datetime]


class AccessGrant(Base):
    """A role of a subject in a domain (`*`: in every one), until it is revoked."""

    __tablename__ = "access_grant"
    grant_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    subject: Mapped[str]
    role: Mapped[str]
    domain: Mapped[str]
    granted_by: Mapped[str]
    granted_at: Mapped[datetime]
    revoked_by: Mapped[str | None]
    revoked_at: Mapped[datetime | None]


class ServiceToken(Base):
    """A program's token; of its secret only the digest is kept."""

    __tablename__ = "service_token"
    token_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
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
    """What one run may report about itself; outputs and inputs are dataset keys."""

    __tablename__ = "task_token"
    token_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
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
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    at: Mapped[datetime]
    subject: Mapped[str]
    action: Mapped[str]
    object_type: Mapped[str]
    object: Mapped[str]
    detail: Mapped[Json]
    request_id: Mapped[str | None]


class DatasetName(Base):
    """A name of a dataset: the spec's namespace and name. name_id is computed from it."""

    __tablename__ = "dataset_name"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    namespace: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    name_id: Mapped[UUID] = mapped_column(unique=True)
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
    reported: Mapped[bool]
    renamed: Mapped[bool]
    preferred: Mapped[bool]
    kind: Mapped[str | None]
    created_at: Mapped[datetime]


class DatasetNameChange(Base):
    """A decision about names: an alias, a merge, a rename."""

    __tablename__ = "dataset_name_change"
    change_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    kind: Mapped[str]
    namespace: Mapped[str]
    name: Mapped[str]
    into_namespace: Mapped[str]
    into_name: Mapped[str]
    former_id: Mapped[UUID | None]
    changed_by: Mapped[str]
    reason: Mapped[str]
    changed_at: Mapped[datetime]


class OpenlineageRun(Base):
    """The merged OpenLineage events of a run. native: the run is known from other sources."""

    __tablename__ = "openlineage_run"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    run_id: Mapped[UUID] = _key()
    reported_run_id: Mapped[UUID]
    process_id: Mapped[UUID] = _to("process.process_id")
    document: Mapped[Json]
    native: Mapped[bool]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]


class RunDataset(Base):
    """A dataset read or written by a run, under the reported name."""

    __tablename__ = "run_dataset"
    organisation_id: Mapped[UUID] = _key()
    run_id: Mapped[UUID] = _key()
    name_id: Mapped[UUID] = _key("dataset_name.name_id")
    role: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str | None]
    partition_key: Mapped[str]
    facets: Mapped[Json]
    at: Mapped[datetime]


class Facet(Base):
    """The newest facet of a name that a dataset (by name_id) or a process has."""

    __tablename__ = "facet"
    subject_type: Mapped[str] = mapped_column(primary_key=True)
    subject_id: Mapped[UUID] = _key()
    name: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    at: Mapped[datetime]
    digest: Mapped[str]
    content: Mapped[Json]
    modelled: Mapped[bool]
    deleted: Mapped[bool]


class ColumnLineageReport(Base):
    """A reporter of a dataset's column lineage, with the time of its last report."""

    __tablename__ = "column_lineage_report"
    target_name_id: Mapped[UUID] = _key("dataset_name.name_id")
    reporter_id: Mapped[UUID] = _key()
    via: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    process_id: Mapped[UUID | None] = _to("process.process_id")
    last_at: Mapped[datetime]
    lineage_hash: Mapped[str | None]


class ColumnLineage(Base):
    """A column derived from another; an empty field means the whole dataset."""

    __tablename__ = "column_lineage"
    column_lineage_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    reporter_id: Mapped[UUID]
    process_id: Mapped[UUID | None] = _to("process.process_id")
    target_name_id: Mapped[UUID] = _to("dataset_name.name_id")
    target_field: Mapped[str]
    source_name_id: Mapped[UUID] = _to("dataset_name.name_id")
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
    dataset_id: Mapped[UUID] = _key("dataset.dataset_id")
    lineage_hash: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    content: Mapped[Json]
    column_count: Mapped[int]
    known_count: Mapped[int]
    created_at: Mapped[datetime]


class ClearedColumn(Base):
    """An owner's decision that a derived column is safe to display."""

    __tablename__ = "cleared_column"
    clearing_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    dataset_id: Mapped[UUID] = _to("dataset.dataset_id")
    column_name: Mapped[str]
    cleared_by: Mapped[str]
    reason: Mapped[str]
    cleared_at: Mapped[datetime]
    withdrawn_by: Mapped[str | None]
    withdrawn_at: Mapped[datetime | None]


class DatasetAssertion(Base):
    """The result of a test of a dataset that a run reports."""

    __tablename__ = "dataset_assertion"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    run_id: Mapped[UUID] = _key()
    name_id: Mapped[UUID] = _key("dataset_name.name_id")
    assertion_key: Mapped[str] = mapped_column(primary_key=True)
    assertion: Mapped[str]
    column_name: Mapped[str | None]
    success: Mapped[bool]
    severity: Mapped[str | None]
    detail: Mapped[Json]
    at: Mapped[datetime]


class DatasetMetrics(Base):
    """What a run measured of a dataset."""

    __tablename__ = "dataset_metrics"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    run_id: Mapped[UUID] = _key()
    name_id: Mapped[UUID] = _key("dataset_name.name_id")
    row_count: Mapped[Decimal | None]
    byte_size: Mapped[Decimal | None]
    file_count: Mapped[Decimal | None]
    last_updated: Mapped[datetime | None]
    columns: Mapped[Json]
    at: Mapped[datetime]
    digest: Mapped[str]


class ArchiveFile(Base):
    """A Parquet file of the archive; only what is KEPT is read."""

    __tablename__ = "archive_file"
    file_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    kind: Mapped[str]
    month: Mapped[date]
    location: Mapped[str]
    state: Mapped[str]
    first_ts: Mapped[datetime | None]
    last_ts: Mapped[datetime | None]
    row_count: Mapped[int | None] = mapped_column(BigInteger)
    byte_size: Mapped[int | None] = mapped_column(BigInteger)
    written_at: Mapped[datetime]


class ArchivedRun(Base):
    """The process of an archived run that produced versions."""

    __tablename__ = "archived_run"
    run_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID]
    process_id: Mapped[UUID] = _to("process.process_id")
    start_ts: Mapped[datetime]


class RunDay(Base):
    """Sums over archived runs by process, day and state; the view run_daily adds those that are not archived."""

    __tablename__ = "run_day"
    process_id: Mapped[UUID] = _key("process.process_id")
    day: Mapped[date] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    runs: Mapped[int] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(BigInteger)
    timed: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
    longest: Mapped[float | None]


class EventDay(Base):
    """Counts of archived events by day and type; the view event_daily adds those that are not archived."""

    __tablename__ = "event_day"
    organisation_id: Mapped[UUID] = _key()
    day: Mapped[date] = mapped_column(primary_key=True)
    event_type: Mapped[str] = mapped_column(primary_key=True)
    events: Mapped[int] = mapped_column(BigInteger)


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
    organisation_id: Mapped[UUID] = _key()
    word: Mapped[str] = mapped_column(primary_key=True)


class SearchKey(Base):
    """Keys for finding misspelt words."""

    __tablename__ = "search_key"
    organisation_id: Mapped[UUID] = _key()
    key: Mapped[str] = mapped_column(primary_key=True)
    word: Mapped[str] = mapped_column(primary_key=True)


class AnsweredRequest(Base):
    """The stored response to a request with an Idempotency-Key."""

    __tablename__ = "answered_request"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    subject: Mapped[str] = mapped_column(primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(primary_key=True)
    request_hash: Mapped[str]
    status: Mapped[int]
    answer: Mapped[Json]
    answered_at: Mapped[datetime]


class Alert(Base):
    """An alert about one incident, or about a single event without an incident."""

    __tablename__ = "alert"
    alert_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    incident_id: Mapped[UUID | None] = _to("incident.incident_id")
    subject_type: Mapped[str]
    subject: Mapped[str]
    dataset_id: Mapped[UUID | None] = _to("dataset.dataset_id")
    process_id: Mapped[UUID | None] = _to("process.process_id")
    owners: Mapped[list[str]]
    kind: Mapped[str]
    severity: Mapped[str]
    state: Mapped[str]
    at: Mapped[datetime]
    opened_at: Mapped[datetime]
    facts: Mapped[Json]
    affected: Mapped[Json]
    route: Mapped[str | None]
    round: Mapped[int]
    event_count: Mapped[int]
    closed_at: Mapped[datetime | None]
    acknowledged_at: Mapped[datetime | None]
    acknowledged_by: Mapped[str | None]
    comment: Mapped[str | None]


class Notification(Base):
    """One alert to one recipient, once; a digest belongs to no alert."""

    __tablename__ = "notification"
    notification_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    alert_id: Mapped[UUID | None] = _to("alert.alert_id")
    destination: Mapped[str]
    address: Mapped[str]
    purpose: Mapped[str]
    severity: Mapped[str]
    step: Mapped[int]
    round: Mapped[int]
    state: Mapped[str]
    due_at: Mapped[datetime]
    decided_at: Mapped[datetime]
    tries: Mapped[int]
    next_try_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    digest_id: Mapped[UUID | None] = _to("notification.notification_id")
    title: Mapped[str | None]
    body: Mapped[str | None]


class BusinessCalendar(Base):
    """Days on which a business calendar of a scanned estate is open."""

    __tablename__ = "business_calendar"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    days: Mapped[list[date]] = mapped_column(ARRAY(Date()))


class Incident(Base):
    """An incident: one cause, with everything affected by it."""

    __tablename__ = "incident"
    incident_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    cause_type: Mapped[str]
    cause_key: Mapped[str]
    dataset_id: Mapped[UUID | None] = _to("dataset.dataset_id")
    process_id: Mapped[UUID | None] = _to("process.process_id")
    reason: Mapped[str]
    severity: Mapped[str]
    run_id: Mapped[UUID | None]
    waits: Mapped[bool]
    holds: Mapped[bool]
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    part_of: Mapped[UUID | None]


class SlaObjective(Base):
    """One objective of an SLA, and its state."""

    __tablename__ = "sla_objective"
    objective_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID]
    sla_id: Mapped[UUID] = mapped_column(ForeignKey("catalog.sla.sla_id", ondelete="CASCADE"))
    kind: Mapped[str]
    ordinal: Mapped[int]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    definition: Mapped[Json]
    state: Mapped[str]
    since: Mapped[datetime]
    reason: Mapped[str]
    settled: Mapped[datetime | None]
    opens_at: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    partition_key: Mapped[str]
    met_at: Mapped[datetime | None]
    newest_at: Mapped[datetime | None]
    run_id: Mapped[UUID | None]
    next_at: Mapped[datetime]
    evaluated_at: Mapped[datetime]
    forecast_at: Mapped[datetime | None]
    miss_probability: Mapped[float | None]
    expected_at: Mapped[datetime | None]
    expected_from: Mapped[datetime | None]
    expected_to: Mapped[datetime | None]
    waits_for: Mapped[str | None]
    waits_for_id: Mapped[UUID | None]
    waits_minutes: Mapped[float | None]
    incident_id: Mapped[UUID | None]


class SlaArrivalHistory(Base):
    """Arrival times, run times and row counts of a dataset or process."""

    __tablename__ = "sla_arrival_history"
    subject_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID]
    learned_at: Mapped[datetime]
    history: Mapped[bytes]


class SlaChange(Base):
    """A status change of an objective: when it happened, and when it was detected."""

    __tablename__ = "sla_change"
    change_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    kind: Mapped[str]
    ordinal: Mapped[int]
    state: Mapped[str]
    before: Mapped[str]
    at: Mapped[datetime]
    detected_at: Mapped[datetime]
    deadline: Mapped[datetime | None]
    partition_key: Mapped[str]
    reason: Mapped[str]


class SlaOutcome(Base):
    """The outcome of a deadline."""

    __tablename__ = "sla_outcome"
    subject_id: Mapped[UUID] = _key()
    kind: Mapped[str] = mapped_column(primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    deadline: Mapped[datetime] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    partition_key: Mapped[str]
    outcome: Mapped[str]
    arrived_at: Mapped[datetime | None]


class PlannedOutage(Base):
    """A time in which nothing is expected of some datasets or processes."""

    __tablename__ = "planned_outage"
    outage_id: Mapped[UUID] = _key()
    organisation_id: Mapped[UUID] = _to("organisation.organisation_id")
    subjects: Mapped[str]
    begins_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    reason: Mapped[str]
    planned_by: Mapped[str]
    planned_at: Mapped[datetime]


class SlaTick(Base):
    """The last two evaluations, the start of uninterrupted evaluation, and the time-zone rules used."""

    __tablename__ = "sla_tick"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    evaluated_at: Mapped[datetime]
    before: Mapped[datetime | None]
    steady_since: Mapped[datetime]
    zone_rules: Mapped[str]


class Heartbeat(Base):
    """When a sensor last ticked."""

    __tablename__ = "heartbeat"
    organisation_id: Mapped[UUID] = _key("organisation.organisation_id")
    sensor: Mapped[str] = mapped_column(primary_key=True)
    ticked_at: Mapped[datetime]
    silent_after: Mapped[int]
    incident_id: Mapped[UUID | None] = _to("incident.incident_id")


class AlertEvent(Base):
    """An event to alert about."""

    __tablename__ = "alert_event"
    alert_event_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    transaction_id: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str]
    severity: Mapped[str]
    subject_type: Mapped[str]
    subject: Mapped[str]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    owners: Mapped[list[str]]
    incident_id: Mapped[UUID | None]
    at: Mapped[datetime]
    detected_at: Mapped[datetime]
    facts: Mapped[Json]
    processed_at: Mapped[datetime | None]
