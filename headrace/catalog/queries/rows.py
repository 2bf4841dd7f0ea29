"""Result rows of the queries: frozen dataclasses for pages, CLI and JSON."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

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

    key: str
    description: str | None
    format: str
    owners: tuple[str, ...]
    tags: dict[str, str]
    partitions: str | None
    status: str
    declared_at: str | None
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

    tag: str
    partition: str | None
    consumer: str | None
    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DatasetDetail:
    """A dataset as declared, with its neighbours and pins; known_columns, lineage_columns as in DatasetRow."""

    dataset_id: UUID
    key: str
    description: str | None
    format: str
    owners: tuple[str, ...]
    tags: dict[str, str]
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    partitions: str | None
    status: str
    sla: dict[str, Any] | None
    metadata: dict[str, Any]
    declared_at: str | None
    producers: tuple[str, ...]
    upstream: tuple[str, ...]
    downstream: tuple[str, ...]
    pins: tuple[PinRow, ...]
    created_at: datetime
    updated_at: datetime
    known_columns: int | None
    lineage_columns: int | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in a list; failing and warning name its checks."""

    version: Version
    published: bool
    reason: str | None
    failing: tuple[str, ...]
    warning: tuple[str, ...]
    quarantine_rows: int


@dataclass(frozen=True, slots=True)
class VersionRef:
    """Identifies an exact version."""

    version_id: UUID
    dataset: str
    partition: str | None
    tag: str


@dataclass(frozen=True, slots=True)
class VersionDetail:
    """A version with all details; used_by counts the versions derived from it."""

    version: Version
    published: bool
    reason: str | None
    process_key: str | None
    process_source: str | None
    inputs: tuple[VersionRef, ...]
    used_by: int
    checks: tuple[CheckResult, ...]
    statistics: dict[str, dict[str, Any]]
    quarantine_location: str | None
    quarantine_rows: int
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """The published version of one partition."""

    dataset: str
    partition: str | None
    version: Version
    generation: int
    published_at: datetime


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A dataset, `depth` steps from the first; `hidden` counts its further neighbours that are not shown."""

    key: str
    depth: int
    hidden: int


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Data flows from source to target, through `process`."""

    source: str
    target: str
    process: str | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Upstream or downstream lineage of one dataset."""

    key: str
    direction: Direction
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class VersionNode:
    """A version, `depth` steps from the first; `hidden` counts its further neighbours that are not shown."""

    version: VersionRef
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

    key: str
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
    reason: str | None
    failure_kind: str | None
    log_location: str | None
    dagster_run_id: str | None
    host: str | None
    ending: Ending | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class RunInput:
    """A version that a run read; reason is None if only the output names it."""

    version: VersionRef
    reason: PinReason | None


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A version that a run wrote, and its outcome."""

    version: VersionRef
    outcome: Outcome
    reason: str | None
    row_count: int | None
    quarantine_rows: int
    location: str
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that explains a run.

    parent_run_id: for a run in a box, the box's run. external_run: the external run number.
    """

    run_id: UUID
    process_key: str
    technology: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    partitions: tuple[str, ...]
    root_dagster_run_id: str | None
    attempts: tuple[AttemptRow, ...]
    inputs: tuple[RunInput, ...]
    outputs: tuple[RunOutput, ...]
    parent_run_id: UUID | None = None
    external_run: str | None = None
    historical: bool = False


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """The status of a dataset.

    newest_tag, row_count, byte_size: of published versions; a count is None if that of a version is unknown.
    latest_*: of the version written last, published or not.
    warning: checks with warnings on published versions; failing: checks that blocked the latest version.
    """

    key: str
    partitions: str | None
    partition_count: int
    row_count: int | None
    byte_size: int | None
    newest_tag: str | None
    newest_published_at: datetime | None
    latest_tag: str | None
    latest_outcome: Outcome | None
    latest_reason: str | None
    latest_at: datetime | None
    warning: tuple[str, ...]
    failing: tuple[str, ...]
    last_run_id: UUID | None
    last_run_state: RunState | None
    last_run_at: datetime | None
    sla: dict[str, Any] | None
