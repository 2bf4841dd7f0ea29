"""Immutable values exchanged with the catalog, independent of the database.

A `None` partition means that the dataset (or the use of it) is not partitioned. Dataset keys are `domain/name`.
Times are timezone-aware UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from headrace.access.sensitivity import DatasetKey, Public, PublicField, Sensitive, VersionId
from headrace.catalog.column_lineage import LineageOfOutput
from headrace.catalog.locators import FILES_STORE, FilesLocator, Locator, locator_of
from headrace.errors import VersionExpired
from headrace.profiles.sketches import ColumnSketches
from headrace.severity import Severity


class Technology(StrEnum):
    """Technology of a process."""

    SPARK = "SPARK"
    AUTOSYS = "AUTOSYS"
    RUNMGR = "RUNMGR"
    DB2_SP = "DB2_SP"
    SHELL = "SHELL"
    EXTERNAL = "EXTERNAL"

    @classmethod
    def of(cls, word: str) -> "Technology | None":
        """Return the technology that a key (RUNMGR) or a YAML file (run_management) names, in any case."""
        return TECHNOLOGY_WORDS.get(word.strip().lower())


# In the problem of an input of a declaration, after its key.
UNDECLARED = "which no project of this catalog has declared yet"
TECHNOLOGY_WORDS = {
    "db2_procedure": Technology.DB2_SP,
    "run_management": Technology.RUNMGR,
    **{technology.lower(): technology for technology in Technology},
}


class TriggerMode(StrEnum):
    """Trigger of a process: the end of another process, new versions of its inputs, or both."""

    PROCESS = "PROCESS"
    DATASET = "DATASET"
    HYBRID = "HYBRID"


class RunState(StrEnum):
    """States of a run and of each of its attempts."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"  # a blocking check failed: written, not published
    SUPERSEDED = "SUPERSEDED"  # another run published the same partition first
    LOST = "LOST"  # the process died without reporting an end
    # Of external runs, in addition to the first three:
    QUEUED = "QUEUED"  # about to run: activated, starting, waiting for a machine or resource
    HELD = "HELD"  # held by an operator: on hold, suspended
    SKIPPED = "SKIPPED"  # skipped: on ice, on noexec, bypassed
    TERMINATED = "TERMINATED"  # ended by an operator or a limit


class CheckStatus(StrEnum):
    """The outcome of one check on one version."""

    PASS = "PASS"  # noqa: S105
    WARN = "WARN"
    FAIL = "FAIL"


class Outcome(StrEnum):
    """Outcome of a written version when its run published it."""

    PUBLISHED = "PUBLISHED"
    BLOCKED = "BLOCKED"
    SUPERSEDED = "SUPERSEDED"


class PinReason(StrEnum):
    """How an input version was chosen."""

    PUBLISHED = "PUBLISHED"
    PINNED = "PINNED"
    AS_OF = "AS_OF"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a schema; `type` is Spark's simple string (`bigint`, `decimal(10,2)`, `struct<a:int>`)."""

    name: Public[str]
    type: Public[str]
    nullable: bool = True
    description: Public[str | None] = None
    tags: Public[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check on a dataset.

    kind: a pandera built-in (`greater_than_or_equal_to`, `in_range`, `isin`, `str_matches`, ...), or `not_null`,
    `unique` (parameters: columns), `row_count` (min, max), `sql` (expression: true for a good row), `partition` (rows
    belong to the partition), `pandera` (a custom check of a pandera model: model, check), `references` and `reconcile`
    (values or totals of an input), `drift` (the values of a column against an earlier version: method, threshold,
    against).
    quarantine: rows that fail are set aside beside the version and do not block it.
    """

    name: Public[str]
    kind: Public[str]
    column: Annotated[str | None, PublicField.COLUMN] = None
    parameters: Annotated[Mapping[str, Any], Sensitive.CHECK] = field(default_factory=dict)
    severity: Severity = Severity.ERROR
    quarantine: bool = False
    description: Public[str | None] = None


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """A dataset as declared; registering it again with the same key updates it and keeps its UUID."""

    key: str
    format: str
    description: str | None = None
    owners: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    checks: tuple[Check, ...] = ()
    partitions: str | None = None  # e.g. "daily from 2013-01-01 (column flight_date)"
    partition_definition: Mapping[str, Any] | None = None  # type, start, time zone, keys: as declared
    sla: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    declared_at: str | None = None  # file:line
    renamed_from: str | None = None  # its former key


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process as declared: inputs, outputs and code.

    key: for Spark the asset key of its first output; for Autosys `AUTOSYS/box/job`. steps: nested sub-steps, each a
    name and the names of the steps and datasets it reads.
    """

    key: str
    technology: Technology
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    code_version: str | None = None
    trigger_mode: TriggerMode = TriggerMode.DATASET
    description: str | None = None
    owners: tuple[str, ...] = ()
    steps: tuple[tuple[str, tuple[str, ...]], ...] = ()
    source: str | None = None  # the SQL text, or the Python reference
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sla: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """The files that the write of one version left: its tag, and their place."""

    tag: str
    location: str


APPENDED_TO = "appended_to"  # of a version's metadata: the earlier segments that it has, too
SCHEMA_AT = (
    "schema_at"  # of the metadata of a rewritten version: when the version that it replaces got its columns
)


@dataclass(frozen=True, slots=True)
class Version:
    """A dataset version as stored.

    row_count, byte_size: None if another system wrote it and did not report them; checksum: '' then. expired_at: since
    when its rows cannot be read, as retention deleted them.
    """

    version_id: VersionId
    dataset: DatasetKey
    partition: Public[str | None]
    tag: Public[str]
    location: Annotated[str, Sensitive.LOCATION]
    format: Public[str]
    columns: tuple[Column, ...]
    row_count: int | None
    byte_size: int | None
    file_count: int
    checksum: Public[str]
    schema_hash: Public[str]
    code_version: Public[str | None]
    fingerprint: Public[
        str | None
    ]  # digest of code and inputs: equal if recomputing would use the same of both
    run_id: UUID | None
    outcome: Outcome
    created_at: datetime
    metadata: Annotated[Mapping[str, Any], Sensitive.METADATA] = field(default_factory=dict)
    expired_at: datetime | None = None

    def require_rows(self) -> None:
        """Raise VersionExpired if its rows were deleted."""
        if self.expired_at is not None:
            raise VersionExpired(self.dataset, self.partition, self.tag, self.expired_at)

    @property
    def store(self) -> str:
        """The name of the store that holds it."""
        return str(self.metadata.get("store", FILES_STORE))

    @property
    def schema_at(self) -> datetime:
        """Since when its partition has its columns: those of the latest are the dataset's."""
        rewritten = self.metadata.get(SCHEMA_AT)
        return self.created_at if rewritten is None else datetime.fromisoformat(rewritten)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Its files, oldest first: those of the versions that its rows were appended to, and its own."""
        earlier = (Segment(**each) for each in self.metadata.get(APPENDED_TO, ()))
        return (*earlier, Segment(self.tag, self.location))

    @property
    def locations(self) -> tuple[str, ...]:
        """The places of its segments."""
        return tuple(segment.location for segment in self.segments)

    @property
    def directory(self) -> str | None:
        """The place with its files and no others; None if it shares those of earlier versions."""
        return self.location if len(self.segments) == 1 else None

    @property
    def locator(self) -> Locator | None:
        """Its location; None if it was registered without one and cannot be read."""
        kept = locator_of(self.metadata)
        if kept is not None or not self.location:
            return kept
        return FilesLocator(self.location, self.file_count, self.byte_size, self.checksum)


MESSAGE = "message"  # of a check result's detail: what was measured, in a sentence


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of the check `name` on a version; `failed_rows` is None if a count is not meaningful."""

    name: Public[str]
    status: CheckStatus
    failed_rows: int | None = None
    detail: Annotated[Mapping[str, Any], Sensitive.CHECK] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputRequest:
    """One input of a run: the partitions of a dataset, and how to choose the version.

    partitions: the keys to read, (None,) for an unpartitioned input, () for every published partition.
    consumer: the reading dataset; a pin for it takes precedence over the published version.
    """

    dataset: str
    consumer: str
    partitions: tuple[str | None, ...] = (None,)
    version_tag: str | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class ResolvedInput:
    """The exact version that a run reads."""

    version: Version
    reason: PinReason


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """A version that has been written and audited, to be published.

    expected_generation: the pointer's generation when the run pinned its inputs (0: no pointer yet); the publish moves
    the pointer only if it is unchanged.
    """

    dataset: str
    partition: str | None
    tag: str
    location: str
    format: str
    columns: tuple[Column, ...]
    row_count: int
    byte_size: int
    file_count: int
    checksum: str
    idempotency_key: str
    expected_generation: int
    inputs: tuple[UUID, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    statistics: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # column -> null_count, min, max, and what profiles.measures shows of its sketches
    sketches: Mapping[str, ColumnSketches] = field(default_factory=dict)  # by column
    code_version: str | None = None
    fingerprint: str | None = None
    quarantine_location: str | None = None
    quarantine_rows: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    lineage: LineageOfOutput | None = None  # its column lineage; None if it was not collected


@dataclass(frozen=True, slots=True)
class Publication:
    """Outcome of publishing a draft.

    replayed: the idempotency key was known, and `version` is the first one.
    existing: for a superseded draft, the published version, if the same code produced it from the same inputs.
    """

    version: Version
    outcome: Outcome
    generation: int
    reason: str | None = None
    replayed: bool = False
    existing: Version | None = None
