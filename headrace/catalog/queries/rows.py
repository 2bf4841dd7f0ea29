"""Result rows of the queries: frozen dataclasses for pages, CLI and JSON."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from headrace.catalog.records import Check, CheckResult, Column, Outcome, PinReason, RunState, Version
from headrace.catalog.run_events import Ending


class Direction(StrEnum):
    """UP: what it was computed from. DOWN: what is computed from it."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset in a list.

    known_columns, lineage_columns: of how many of its columns it is known where they come from, by the version
    published last; None if it was not collected.
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
    """Some datasets in the order of their keys; `next` is the `after` of the page that follows, None at the end."""

    rows: tuple[DatasetRow, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class PinRow:
    """A pin in force; consumer None: for every reader."""

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
    """Which exact version."""

    version_id: UUID
    dataset: str
    partition: str | None
    tag: str


@dataclass(frozen=True, slots=True)
class VersionDetail:
    """A version with all that is known of it; used_by counts the versions computed from it."""

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
    """What readers of one partition get."""

    dataset: str
    partition: str | None
    version: Version
    generation: int
    published_at: datetime


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A dataset, `depth` steps from the first; `hidden` counts its neighbours further on that are not shown."""

    key: str
    depth: int
    hidden: int


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Data flows from source to target; `process` computes it."""

    source: str
    target: str
    process: str | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """What one dataset comes from, or leads to."""

    key: str
    direction: Direction
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class VersionNode:
    """A version, `depth` steps from the first; `hidden` counts its neighbours further on that are not shown."""

    version: VersionRef
    outcome: Outcome
    run_id: UUID | None
    depth: int
    hidden: int


@dataclass(frozen=True, slots=True)
class VersionEdge:
    """The version `target` was computed from the version `source`."""

    source: UUID
    target: UUID


@dataclass(frozen=True, slots=True)
class VersionLineage:
    """Which exact versions some versions come from, or led to."""

    key: str
    direction: Direction
    nodes: tuple[VersionNode, ...]
    edges: tuple[VersionEdge, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt, and why it ended as it did.

    ending, exit_code: of an attempt elsewhere, of which number 0 is a status that was set by hand.
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
    """A version that a run read; reason is None where only the output names it."""

    version: VersionRef
    reason: PinReason | None


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A version that a run wrote, and what became of it."""

    version: VersionRef
    outcome: Outcome
    reason: str | None
    row_count: int | None
    quarantine_rows: int
    location: str
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """All that explains a run.

    parent_run_id: of a run in a box, the box's. external_run: what the other system calls the run.
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
    """How a dataset stands.

    newest_tag, row_count, byte_size: of what is published; a count is None where that of a version is not known.
    latest_*: of the version written last, published or not.
    warning: checks of published versions that did not pass; failing: checks that blocked the latest version.
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
