"""Result rows of the queries: frozen dataclasses for pages, CLI and JSON."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from headrace.access.sensitivity import (
    DatasetKey,
    ProcessKey,
    Public,
    PublicField,
    Sensitive,
    SubjectKey,
    VersionId,
)
from headrace.catalog.records import Check, CheckResult, Column, Outcome, PinReason, RunState, Version
from headrace.catalog.run_events import Ending


class Direction(StrEnum):
    """UP: upstream. DOWN: downstream."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset in a list.

    known_columns, lineage_columns: columns with known lineage and all columns, of the version published last; None if
    it was not collected.
    """

    key: SubjectKey
    description: Public[str | None]
    format: Public[str]
    owners: Public[tuple[str, ...]]
    tags: Public[dict[str, str]]
    partitions: Public[str | None]
    status: Public[str]
    declared_at: Public[str | None]
    updated_at: datetime
    known_columns: int | None
    lineage_columns: int | None


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """A page of datasets ordered by key; `next` is the `after` of the next page, None at the end."""

    rows: tuple[DatasetRow, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class PinRow:
    """An active pin; consumer None: for every reader."""

    tag: Public[str]
    partition: Public[str | None]
    consumer: Public[str | None]
    by: Public[str]
    reason: Public[str]
    at: datetime


@dataclass(frozen=True, slots=True)
class RetirementRow:
    """Who retired or deprecated a dataset, when, and why."""

    by: Public[str]
    reason: Public[str]
    at: datetime


@dataclass(frozen=True, slots=True)
class DatasetDetail:
    """A dataset as declared, with its neighbours and pins.

    row_count, byte_size: of its published versions; None if that of one is unknown. known_columns, lineage_columns as
    in DatasetRow. retirement: of a retired or deprecated one.
    """

    dataset_id: UUID
    key: SubjectKey
    description: Public[str | None]
    format: Public[str]
    owners: Public[tuple[str, ...]]
    tags: Public[dict[str, str]]
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    partitions: Public[str | None]
    status: Public[str]
    retirement: RetirementRow | None
    sla: Public[dict[str, Any] | None]
    metadata: Annotated[dict[str, Any], Sensitive.METADATA]
    declared_at: Public[str | None]
    producers: Public[tuple[str, ...]]
    upstream: Public[tuple[str, ...]]
    downstream: Public[tuple[str, ...]]
    pins: tuple[PinRow, ...]
    created_at: datetime
    updated_at: datetime
    known_columns: int | None
    lineage_columns: int | None
    row_count: int | None
    byte_size: int | None


class MoveKind(StrEnum):
    """Why readers got a version that had been published before."""

    ROLLBACK = "ROLLBACK"
    RESTORE = "RESTORE"  # its partition had been withdrawn


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the pointer back to a version. by: null for the declaration of a partition that is there again."""

    kind: MoveKind
    by: Public[str | None]
    reason: Public[str | None]
    at: datetime


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in a list; failing and warning name its checks; moves: each time when it was published again."""

    version: Annotated[Version, PublicField.NESTED]
    published: bool
    reason: Public[str | None]
    failing: Public[tuple[str, ...]]
    warning: Public[tuple[str, ...]]
    quarantine_rows: int
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class VersionRef:
    """Identifies an exact version."""

    version_id: VersionId
    dataset: DatasetKey
    partition: Public[str | None]
    tag: Public[str]


@dataclass(frozen=True, slots=True)
class VersionDetail:
    """A version with all details; used_by counts the versions derived from it."""

    version: Annotated[Version, PublicField.NESTED]
    published: bool
    reason: Public[str | None]
    process_key: ProcessKey | None
    process_source: Annotated[str | None, Sensitive.SOURCE]
    inputs: tuple[VersionRef, ...]
    used_by: int
    checks: tuple[CheckResult, ...]
    statistics: Annotated[dict[str, dict[str, Any]], Sensitive.STATISTICS]
    quarantine_location: Annotated[str | None, Sensitive.LOCATION]
    quarantine_rows: int
    idempotency_key: Public[str]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """The published version of one partition."""

    dataset: DatasetKey
    partition: Public[str | None]
    version: Annotated[Version, PublicField.NESTED]
    generation: int
    published_at: datetime


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A dataset, `depth` steps from the first; `hidden` counts its further neighbours that are not shown."""

    key: SubjectKey
    depth: int
    hidden: int


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Data flows from source to target, through `process`."""

    source: Public[str]
    target: Public[str]
    process: ProcessKey | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Upstream or downstream lineage of one dataset."""

    key: SubjectKey
    direction: Direction
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class VersionNode:
    """A version, `depth` steps from the first; `hidden` counts its further neighbours that are not shown."""

    version: Annotated[VersionRef, PublicField.NESTED]
    outcome: Outcome
    run_id: UUID | None
    depth: int
    hidden: int


@dataclass(frozen=True, slots=True)
class VersionEdge:
    """The version `target` was derived from the version `source`."""

    source: UUID
    target: UUID


@dataclass(frozen=True, slots=True)
class VersionLineage:
    """Upstream or downstream lineage of exact versions."""

    key: SubjectKey
    direction: Direction
    nodes: tuple[VersionNode, ...]
    edges: tuple[VersionEdge, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt and its failure reason.

    ending, exit_code: of an external attempt; number 0 is a status set by an operator.
    """

    number: int
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    reason: Annotated[str | None, Sensitive.ERROR]
    failure_kind: Public[str | None]
    log_location: Annotated[str | None, Sensitive.LOCATION]
    dagster_run_id: Public[str | None]
    host: Public[str | None]
    ending: Ending | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class RunInput:
    """A version that a run read; reason is None if only the output names it."""

    version: Annotated[VersionRef, PublicField.NESTED]
    reason: PinReason | None


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A version that a run wrote, and its outcome."""

    version: Annotated[VersionRef, PublicField.NESTED]
    outcome: Outcome
    reason: Public[str | None]
    row_count: int | None
    quarantine_rows: int
    location: Annotated[str, Sensitive.LOCATION]
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that explains a run.

    parent_run_id: for a run in a box, the box's run. external_run: the external run number.
    """

    run_id: UUID
    process_key: ProcessKey
    technology: Public[str]
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    partitions: Public[tuple[str, ...]]
    root_dagster_run_id: Public[str | None]
    attempts: tuple[AttemptRow, ...]
    inputs: tuple[RunInput, ...]
    outputs: tuple[RunOutput, ...]
    parent_run_id: UUID | None = None
    external_run: Public[str | None] = None
    historical: bool = False


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """The status of a dataset.

    newest_tag: of the published version that was published last.
    latest_*: of the version written last, published or not.
    warning: checks with warnings on published versions; failing: checks that blocked the latest version.
    """

    key: SubjectKey
    partitions: Public[str | None]
    partition_count: int
    newest_tag: Public[str | None]
    newest_published_at: datetime | None
    latest_tag: Public[str | None]
    latest_outcome: Outcome | None
    latest_reason: Public[str | None]
    latest_at: datetime | None
    warning: Public[tuple[str, ...]]
    failing: Public[tuple[str, ...]]
    last_run_id: UUID | None
    last_run_state: RunState | None
    last_run_at: datetime | None
    sla: Public[dict[str, Any] | None]
