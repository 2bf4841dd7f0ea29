"""Every call of the API, and what it answers. Written by `python -m headrace.service.client_generator`."""

# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast
from urllib.parse import quote

from headrace.client.transport import Transport


class Acknowledgement(TypedDict):
    """What whoever is at it says."""

    comment: NotRequired[str | None]


class AdapterDataset(TypedDict):
    """A dataset. Of its facets, `version` may be a plain text, `rows` and `bytes` numbers, `path` a text."""

    namespace: str
    name: str
    facets: NotRequired[Mapping[str, Any]]


class AdapterEvent(TypedDict):
    """What an adapter reports of a run. eventTime: by default the run's endTime when it ends, else its startTime."""

    eventType: AdapterEventType
    eventTime: NotRequired[str | None]
    run: AdapterRun
    job: AdapterJob
    inputs: NotRequired[Sequence[AdapterDataset]]
    outputs: NotRequired[Sequence[AdapterDataset]]
    producer: NotRequired[str | None]


AdapterEventType = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]


class AdapterJob(TypedDict):
    """A job: its system (`AUTOSYS`) and what it is called there (`BOX/JobA`)."""

    namespace: str
    name: str
    facets: NotRequired[Mapping[str, Any]]


class AdapterRun(TypedDict):
    """A run: its id, and when it began and ended, as far as that is known."""

    runId: str
    startTime: NotRequired[str | None]
    endTime: NotRequired[str | None]
    facets: NotRequired[Mapping[str, Any]]


class AlertAnswer(TypedDict):
    """An alert with all that happened and all that was told."""

    alert: AlertRow
    messages: Sequence[ToldRow]
    happenings: Sequence[HappeningRow]


class AlertRow(TypedDict):
    """An alert as it stands. hit: the other datasets and processes of its incident that the caller may see."""

    alert_id: str
    incident_id: str | None
    subject_type: SubjectType
    key: str
    owners: Sequence[str]
    kind: Kind
    severity: Urgency
    state: AlertState
    at: str
    opened_at: str
    closed_at: str | None
    acknowledged_at: str | None
    acknowledged_by: str | None
    comment: str | None
    reason: str | None
    hit: Sequence[str]
    route: str | None


AlertState = Literal["OPEN", "ACKNOWLEDGED", "CLOSED"]


class Answer(TypedDict):
    """What the steward says to it."""

    comment: NotRequired[str | None]


class Assertion(TypedDict):
    """The result of a test of a dataset that a run reported; detail: what else the spec has of it."""

    run_id: str
    assertion: str
    column: str | None
    success: bool
    severity: str | None
    detail: Mapping[str, Any]
    at: str


class AttemptRow(TypedDict):
    """One attempt, and why it ended as it did."""

    number: int
    state: RunState
    started_at: str
    ended_at: str | None
    reason: str | None
    failure_kind: str | None
    log_location: str | None
    dagster_run_id: str | None
    host: str | None
    ending: NotRequired[Ending | None]
    exit_code: NotRequired[int | None]


class AuditEntry(TypedDict):
    """A change (detail: each column, as `[before, after]`), or a reading of what is sensitive (detail: of what)."""

    audit_id: int
    at: str
    subject: str
    action: str
    object_type: str
    object: str
    detail: Mapping[str, Any]
    request_id: str | None


class BatchAnswer(TypedDict):
    """What became of a batch, as the OpenLineage spec has it."""

    status: Literal["success", "partial_success"]
    summary: BatchSummary
    failed_events: Sequence[FailedEvent]


class BatchSummary(TypedDict):
    """How many events there were, and what became of them."""

    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


ChangeKind = Literal["ADDED", "REMOVED", "READS", "NO_LONGER_READS", "OTHERWISE", "UNKNOWN", "KNOWN"]


class Check(TypedDict):
    """One check on a dataset."""

    name: str
    kind: str
    column: NotRequired[str | None]
    parameters: NotRequired[Mapping[str, Any]]
    severity: NotRequired[Severity]
    quarantine: NotRequired[bool]
    description: NotRequired[str | None]


class CheckResult(TypedDict):
    """The result of the check `name` on a version; `failed_rows` is None where a count means nothing."""

    name: str
    status: CheckStatus
    failed_rows: NotRequired[int | None]
    detail: NotRequired[Mapping[str, Any]]


CheckStatus = Literal["PASS", "WARN", "FAIL"]


class Clearing(TypedDict):
    """Which column is cleared, and why."""

    column: str
    reason: str


class Column(TypedDict):
    """One column of a schema; `type` is Spark's simple string (`bigint`, `decimal(10,2)`, `struct<a:int>`)."""

    name: str
    type: str
    nullable: NotRequired[bool]
    description: NotRequired[str | None]
    tags: NotRequired[Sequence[str]]


class ColumnAsked(TypedDict):
    """A column of a dataset that is asked for; type: as Spark writes it (`bigint`, `decimal(10,2)`)."""

    name: str
    type: str
    nullable: NotRequired[bool]
    description: NotRequired[str | None]
    tags: NotRequired[Sequence[str]]


class ColumnEdge(TypedDict):
    """A column is made from another; the empty field stands for a dataset as a whole."""

    source: str
    source_key: str
    source_field: str
    target: str
    target_key: str
    target_field: str
    process: str | None
    type: str
    subtype: str
    description: str
    masking: bool
    run_id: str | None
    first_at: str
    last_at: str
    current: bool
    confidence: float
    origin: str
    unknown: str | None
    depth: int


class ColumnEdges(TypedDict):
    """Which columns come from which; truncated: there are more edges than are told."""

    key: str
    direction: Direction
    edges: Sequence[ColumnEdge]
    truncated: bool


class ColumnImpact(TypedDict):
    """What uses a column, the nearest first. truncated: there is more than was looked at."""

    key: str
    column: str | None
    used_by: Sequence[UsedBy]
    truncated: bool


class ColumnLineage(TypedDict):
    """What is known of one output column."""

    column: str
    sources: NotRequired[Sequence[ColumnSource]]
    unknown: NotRequired[str | None]
    confidence: NotRequired[float]
    origin: NotRequired[Origin]


class ColumnSource(TypedDict):
    """One way in which an output owes something to a column of an input."""

    input: str
    column: str
    type: How
    subtype: Subtype
    masking: NotRequired[bool]
    expression: NotRequired[str]


class DatasetAnswer(TypedDict):
    """A dataset: as declared or reported, how it stands, its newest versions, its names elsewhere, its facets."""

    dataset: DatasetDetail
    status: DatasetStatus
    newest_versions: Sequence[VersionRow]
    names: Sequence[DatasetName]
    facets: Mapping[str, FacetRow]


class DatasetAsked(TypedDict):
    """A dataset that is asked for."""

    key: str
    format: str
    description: NotRequired[str | None]
    owners: NotRequired[Sequence[str]]
    tags: NotRequired[Mapping[str, str]]
    columns: NotRequired[Sequence[ColumnAsked]]


class DatasetDetail(TypedDict):
    """A dataset as declared, with its neighbours and pins; known_columns, lineage_columns as in DatasetRow."""

    dataset_id: str
    key: str
    description: str | None
    format: str
    owners: Sequence[str]
    tags: Mapping[str, str]
    columns: Sequence[Column]
    checks: Sequence[Check]
    partitions: str | None
    status: str
    sla: Mapping[str, Any] | None
    metadata: Mapping[str, Any]
    declared_at: str | None
    producers: Sequence[str]
    upstream: Sequence[str]
    downstream: Sequence[str]
    pins: Sequence[PinRow]
    created_at: str
    updated_at: str
    known_columns: int | None
    lineage_columns: int | None


class DatasetName(TypedDict):
    """A name of a dataset. canonical: the one that it is shown by. kind: what a symlink says it is (TABLE, ...)."""

    namespace: str
    name: str
    canonical: bool
    kind: str | None


class DatasetRow(TypedDict):
    """A dataset in a list."""

    key: str
    description: str | None
    format: str
    owners: Sequence[str]
    tags: Mapping[str, str]
    partitions: str | None
    status: str
    declared_at: str | None
    updated_at: str
    known_columns: int | None
    lineage_columns: int | None


class DatasetStatus(TypedDict):
    """How a dataset stands."""

    key: str
    partitions: str | None
    partition_count: int
    row_count: int | None
    byte_size: int | None
    newest_tag: str | None
    newest_published_at: str | None
    latest_tag: str | None
    latest_outcome: Outcome | None
    latest_reason: str | None
    latest_at: str | None
    warning: Sequence[str]
    failing: Sequence[str]
    last_run_id: str | None
    last_run_state: RunState | None
    last_run_at: str | None
    sla: Mapping[str, Any] | None


Direction = Literal["up", "down"]


Ending = Literal["GENUINE", "FORCED", "BYPASSED"]


class FacetRow(TypedDict):
    """A facet, and when it was said. modelled: of the spec, in a version that is known here."""

    name: str
    content: Mapping[str, Any]
    at: str
    modelled: bool


class FailedEvent(TypedDict):
    """An event of a batch that is not stored. field: the place that is to blame, from the event on."""

    index: int
    reason: str
    retriable: bool
    field: NotRequired[str | None]


class Found(TypedDict):
    """A dataset that fits a query; the higher the score, the better."""

    dataset_id: str
    key: str
    description: str | None
    format: str
    owners: Sequence[str]
    tags: Mapping[str, str]
    status: str
    score: float


class HappeningRow(TypedDict):
    """One of the things that an alert is made of; key: what it happened to."""

    kind: Kind
    severity: Urgency
    key: str
    at: str


class Health(TypedDict):
    """That the service is well."""

    status: NotRequired[Literal["ok"]]


How = Literal["DIRECT", "INDIRECT"]


class ImpactAnswer(TypedDict):
    """A page of readers, the nearest first, with how many datasets and processes there are in all."""

    key: str
    datasets: int
    processes: int
    truncated: bool
    items: Sequence[Reader]
    next: str | None


class Incident(TypedDict):
    """What went wrong at one place. members: as they stood last; downstream: datasets that come of it."""

    incident_id: str
    cause_type: str
    cause: str
    owners: Sequence[str]
    reason: str
    severity: str
    run_id: str | None
    opened_at: str
    closed_at: str | None
    part_of: str | None
    members: Sequence[IncidentMember]
    downstream: Sequence[IncidentMember]


class IncidentMember(TypedDict):
    """Something that is, or was, out of order because of an incident."""

    subject_type: str
    key: str
    owners: Sequence[str]
    state: str


Kind = Literal["AT_RISK", "LATE", "MISSED", "MET_LATE", "ON_TRACK", "PAUSED", "RUN_FAILED", "CHECK_FAILED", "ROW_COUNT_ODD", "SCHEMA_CHANGED", "SENSOR_SILENT", "SENSOR_BACK", "INCIDENT_CLOSED", "INCIDENT_MERGED"]


Level = Literal["dataset", "version", "column", "process"]


class Lineage(TypedDict):
    """What one dataset comes from, or leads to."""

    key: str
    direction: Direction
    nodes: Sequence[LineageNode]
    edges: Sequence[LineageEdge]
    truncated: bool


class LineageChange(TypedDict):
    """One difference. column: '' for what all rows owe their being there to. source: the column that it is about."""

    kind: ChangeKind
    column: str
    source: str | None
    text: str


class LineageChanges(TypedDict):
    """What the lineage of one version says, and that of another does not."""

    before: VersionRef
    after: VersionRef
    changes: Sequence[LineageChange]


class LineageEdge(TypedDict):
    """Data flows from source to target; `process` computes it."""

    source: str
    target: str
    process: str | None


class LineageNode(TypedDict):
    """A dataset, `depth` steps from the first; `hidden` counts its neighbours further on that are not shown."""

    key: str
    depth: int
    hidden: int


class LineageOfOutput(TypedDict):
    """What is known of all columns of one output."""

    columns: NotRequired[Sequence[ColumnLineage]]
    whole: NotRequired[Sequence[ColumnSource]]
    note: NotRequired[str | None]


class Measured(TypedDict):
    """What a run measured of a dataset; statistics: the measures of each column, as reported."""

    run_id: str
    row_count: int | None
    byte_size: int | None
    file_count: int | None
    last_updated: str | None
    statistics: Mapping[str, Any]
    at: str


MessageState = Literal["WAITING", "SENT", "DROPPED", "MERGED", "FAILED"]


Origin = Literal["PLAN", "SQL", "DECLARED", "REPORTED"]


Outcome = Literal["PUBLISHED", "BLOCKED", "SUPERSEDED"]


class PageOfAlertRow(TypedDict):
    """PageOfAlertRow."""

    items: Sequence[AlertRow]
    next: str | None


class PageOfAuditEntry(TypedDict):
    """PageOfAuditEntry."""

    items: Sequence[AuditEntry]
    next: str | None


class PageOfDatasetRow(TypedDict):
    """PageOfDatasetRow."""

    items: Sequence[DatasetRow]
    next: str | None


class PageOfProcessSummary(TypedDict):
    """PageOfProcessSummary."""

    items: Sequence[ProcessSummary]
    next: str | None


class PageOfPublishedRow(TypedDict):
    """PageOfPublishedRow."""

    items: Sequence[PublishedRow]
    next: str | None


class PageOfQualityRow(TypedDict):
    """PageOfQualityRow."""

    items: Sequence[QualityRow]
    next: str | None


class PageOfRegistration(TypedDict):
    """PageOfRegistration."""

    items: Sequence[Registration]
    next: str | None


class PageOfRunRow(TypedDict):
    """PageOfRunRow."""

    items: Sequence[RunRow]
    next: str | None


class PageOfSchemaRow(TypedDict):
    """PageOfSchemaRow."""

    items: Sequence[SchemaRow]
    next: str | None


class PageOfSlaStanding(TypedDict):
    """PageOfSlaStanding."""

    items: Sequence[SlaStanding]
    next: str | None


class PageOfVersionRow(TypedDict):
    """PageOfVersionRow."""

    items: Sequence[VersionRow]
    next: str | None


PinReason = Literal["PUBLISHED", "PINNED", "AS_OF"]


class PinRow(TypedDict):
    """A pin in force; consumer None: for every reader."""

    tag: str
    partition: str | None
    consumer: str | None
    by: str
    reason: str
    at: str


class ProcessAnswer(TypedDict):
    """A process, its newest runs, and its OpenLineage facets."""

    process: ProcessDetail
    newest_runs: Sequence[RunRow]
    facets: Mapping[str, FacetRow]


class ProcessDetail(TypedDict):
    """A process as last declared, scanned or reported, with what it reads and writes now."""

    process_id: str
    key: str
    technology: str
    instance: str
    external_name: str | None
    standing: str
    trigger_mode: str
    owners: Sequence[str]
    description: str | None
    code_version: str | None
    steps: Sequence[Any]
    source: str | None
    metadata: Mapping[str, Any]
    created_at: str
    updated_at: str
    inputs: Sequence[str]
    outputs: Sequence[str]


class ProcessEdge(TypedDict):
    """Data, or the word to begin, goes from source to target, one of which is a process."""

    source: str
    target: str
    role: str
    condition: str | None


class ProcessLineage(TypedDict):
    """What a dataset or process comes from, or leads to, step by step."""

    direction: Direction
    nodes: Sequence[ProcessNode]
    edges: Sequence[ProcessEdge]
    truncated: bool


class ProcessNode(TypedDict):
    """A dataset or a process, `depth` edges from the first; `hidden` counts its edges to what is not shown."""

    id: str
    kind: str
    key: str
    depth: int
    hidden: int


class ProcessSummary(TypedDict):
    """A process in a list. external_name, instance: what another system calls it, and which one."""

    process_id: str
    key: str
    technology: str
    instance: str
    external_name: str | None
    standing: str
    owners: Sequence[str]
    description: str | None


PromiseKind = Literal["DELIVERY", "AGE", "START", "RUN_TIME", "VOLUME"]


class PublishedRow(TypedDict):
    """What readers of one partition get."""

    dataset: str
    partition: str | None
    version: Version
    generation: int
    published_at: str


Purpose = Literal["RAISED", "WORSENED", "ESCALATED", "RECOVERED", "JOINED", "DIGEST"]


class QualityRow(TypedDict):
    """What one check said of one version; kind, column and severity as the check is declared now, if it is."""

    version_id: str
    tag: str
    partition: str | None
    outcome: Outcome
    name: str
    status: CheckStatus
    failed_rows: int | None
    detail: Mapping[str, Any]
    executed_at: str
    kind: str | None
    column: str | None
    severity: Severity | None
    produced_at: str


class Reader(TypedDict):
    """A dataset that is computed from another, or a process that reads it or one computed from it."""

    kind: str
    id: str
    key: str
    depth: int
    owners: Sequence[str]
    description: str | None
    is_end: bool


class Registration(TypedDict):
    """A request to take a dataset in, and the steward's answer."""

    registration_id: str
    dataset_id: str
    dataset: str
    submitted_by: str
    submitted_at: str
    status: RegistrationStatus
    requested: Mapping[str, Any]
    reviewer: str | None
    comment: str | None
    reviewed_at: str | None


RegistrationStatus = Literal["PENDING", "APPROVED", "REJECTED"]


class Rejection(TypedDict):
    """Why it is rejected."""

    comment: str


class ReportedQuality(TypedDict):
    """What runs elsewhere said of a dataset's quality, the newest first."""

    assertions: Sequence[Assertion]
    metrics: Sequence[Measured]


Result = Literal["STORED", "REPEATED", "REFUSED"]


class RunAnswer(TypedDict):
    """A run with its attempts and versions; and what OpenLineage events said of it: facets, and datasets with use."""

    run: RunReport
    facets: Mapping[str, FacetRow]
    datasets: Sequence[RunDataset]


class RunDataset(TypedDict):
    """A dataset that a run read (INPUT) or wrote (OUTPUT). version: as the run knew it. facets: of this use of it."""

    role: str
    dataset_id: str
    key: str
    version: str | None
    partition: str | None
    facets: Mapping[str, Any]


class RunInput(TypedDict):
    """A version that a run read; reason is None where only the output names it."""

    version: VersionRef
    reason: PinReason | None


class RunOutput(TypedDict):
    """A version that a run wrote, and what became of it."""

    version: VersionRef
    outcome: Outcome
    reason: str | None
    row_count: int | None
    quarantine_rows: int
    location: str
    checks: Sequence[CheckResult]


class RunReport(TypedDict):
    """All that explains a run."""

    run_id: str
    process_key: str
    technology: str
    state: RunState
    started_at: str
    ended_at: str | None
    partitions: Sequence[str]
    root_dagster_run_id: str | None
    attempts: Sequence[AttemptRow]
    inputs: Sequence[RunInput]
    outputs: Sequence[RunOutput]
    parent_run_id: NotRequired[str | None]
    external_run: NotRequired[str | None]
    historical: NotRequired[bool]


class RunRow(TypedDict):
    """A run in a list."""

    run_id: str
    state: RunState
    started_at: str
    ended_at: str | None
    attempt: int
    partitions: Sequence[str]
    parent_run_id: str | None
    log_location: str | None
    historical: bool
    external_run: str | None


RunState = Literal["RUNNING", "SUCCESS", "FAILED", "BLOCKED", "SUPERSEDED", "LOST", "QUEUED", "HELD", "SKIPPED", "TERMINATED"]


class SchemaChange(TypedDict):
    """What differs, one readable line each."""

    compatible: NotRequired[Sequence[str]]
    breaking: NotRequired[Sequence[str]]


class SchemaRow(TypedDict):
    """A schema from the version on that brought it; change: against the one before, None for the first."""

    schema_hash: str
    columns: Sequence[Column]
    since: str
    version_id: str | None
    tag: str | None
    partition: str | None
    change: SchemaChange | None


class SearchPage(TypedDict):
    """Datasets that fit, the best first. misspelt: words that no dataset has, and that were taken for others."""

    items: Sequence[Found]
    next: str | None
    misspelt: Sequence[str]


class SensitiveColumn(TypedDict):
    """A column, and how it stands."""

    dataset: str
    column: str
    standing: Standing
    from_dataset: str | None
    from_column: str | None
    by: str | None
    reason: str | None
    at: str | None


class SensitiveColumns(TypedDict):
    """The columns of a dataset that are sensitive, or were and are cleared."""

    key: str
    columns: Sequence[SensitiveColumn]


Severity = Literal["ERROR", "WARN"]


class SlaChange(TypedDict):
    """A change of state: when it happened, when the engine noticed, and why."""

    kind: PromiseKind
    ordinal: int
    at: str
    noticed_at: str
    before: State
    state: State
    deadline: str | None
    partition: str | None
    reason: str


class SlaHistory(TypedDict):
    """How all promises of a dataset or process were kept: figures, the newest outcomes and changes first."""

    key: str
    since: str
    until: str
    records: Sequence[SlaRecord]
    outcomes: Sequence[SlaOutcome]
    changes: Sequence[SlaChange]


class SlaOutcome(TypedDict):
    """What became of one deadline; late_by: seconds after it, negative before it, None where nothing came."""

    kind: PromiseKind
    ordinal: int
    deadline: str
    partition: str | None
    outcome: Verdict
    arrived_at: str | None
    late_by: float | None


class SlaRecord(TypedDict):
    """How one promise was kept over some time."""

    kind: PromiseKind
    ordinal: int
    deadlines: int
    met: int
    met_late: int
    missed: int
    paused: int
    kept: float | None
    earlier: float | None
    late: float | None
    latest: float | None


class SlaStanding(TypedDict):
    """How one promise stands."""

    subject_type: str
    key: str
    dataset_id: str | None
    process_id: str | None
    owners: Sequence[str]
    kind: PromiseKind
    ordinal: int
    state: State
    since: str
    reason: str
    deadline: str | None
    partition: str | None
    met_at: str | None
    newest_at: str | None
    chance: float | None
    expected_at: str | None
    expected_from: str | None
    expected_to: str | None
    waits_for: str | None
    waits_minutes: float | None
    incident_id: str | None
    definition: Mapping[str, Any]


Standing = Literal["TAGGED", "INHERITED", "POSSIBLE", "CLEARED"]


State = Literal["UNKNOWN", "ON_TRACK", "AT_RISK", "LATE", "MET_LATE", "MISSED", "PAUSED"]


SubjectType = Literal["DATASET", "PROCESS", "SENSOR"]


Subtype = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"]


class Taken(TypedDict):
    """What became of an event. run_id: the run that it is of, if it is of one."""

    result: Result
    run_id: str | None


Technology = Literal["SPARK", "AUTOSYS", "RUNMGR", "DB2_SP", "SHELL", "EXTERNAL"]


class ToldRow(TypedDict):
    """A message: to which destination, what for, and what became of it."""

    destination: str
    purpose: Purpose
    step: int
    state: MessageState
    due_at: str
    sent_at: str | None
    tries: int
    reason: str | None


Urgency = Literal["INFO", "WARNING", "ERROR"]


class UsedBy(TypedDict):
    """A dataset that uses the column."""

    key: str
    depth: int
    owners: Sequence[str]
    sla: Mapping[str, Any] | None
    promised: str | None
    description: str | None
    direct: Sequence[str]
    possible: Sequence[str]
    indirect: Sequence[str]
    rows: bool
    reason: str | None


Verdict = Literal["MET", "MET_LATE", "MISSED", "PAUSED"]


class Version(TypedDict):
    """A dataset version as stored."""

    version_id: str
    dataset: str
    partition: str | None
    tag: str
    location: str
    format: str
    columns: Sequence[Column]
    row_count: int | None
    byte_size: int | None
    file_count: int
    checksum: str
    schema_hash: str
    code_version: str | None
    fingerprint: str | None
    run_id: str | None
    outcome: Outcome
    created_at: str
    metadata: NotRequired[Mapping[str, Any]]


class VersionAnswer(TypedDict):
    """A version, and the run that wrote it; null where none did, or the run is archived."""

    version: VersionDetail
    run: RunReport | None


class VersionColumns(TypedDict):
    """Where the columns of an exact version come from."""

    version: VersionRef
    lineage: LineageOfOutput | None
    inputs: Sequence[VersionRef]
    known: int
    columns: int


class VersionDetail(TypedDict):
    """A version with all that is known of it; used_by counts the versions computed from it."""

    version: Version
    published: bool
    reason: str | None
    process_key: str | None
    process_source: str | None
    inputs: Sequence[VersionRef]
    used_by: int
    checks: Sequence[CheckResult]
    statistics: Mapping[str, Mapping[str, Any]]
    quarantine_location: str | None
    quarantine_rows: int
    idempotency_key: str


class VersionEdge(TypedDict):
    """The version `target` was computed from the version `source`."""

    source: str
    target: str


class VersionLineage(TypedDict):
    """Which exact versions some versions come from, or led to."""

    key: str
    direction: Direction
    nodes: Sequence[VersionNode]
    edges: Sequence[VersionEdge]
    truncated: bool


class VersionNode(TypedDict):
    """A version, `depth` steps from the first; `hidden` counts its neighbours further on that are not shown."""

    version: VersionRef
    outcome: Outcome
    run_id: str | None
    depth: int
    hidden: int


class VersionRef(TypedDict):
    """Which exact version."""

    version_id: str
    dataset: str
    partition: str | None
    tag: str


class VersionRow(TypedDict):
    """A version in a list; failing and warning name its checks."""

    version: Version
    published: bool
    reason: str | None
    failing: Sequence[str]
    warning: Sequence[str]
    quarantine_rows: int


Way = Literal["upstream", "downstream"]


class Withdrawal(TypedDict):
    """Of which column the clearing is withdrawn."""

    column: str



class Catalog(Transport):
    """The catalog behind its API; each method is a call. Raises ApiError."""

    def post_run_event(
        self,
        body: Mapping[str, Any],
        *,
        historical: bool | None = None,
    ) -> Taken:
        """Report an OpenLineage event: A RunEvent, DatasetEvent or JobEvent; gzip too. One that is known changes nothing, and is answered the same."""
        return cast("Taken", self.call("POST", "/api/v1/lineage", query={"historical": historical}, body=body))

    def post_event_batch(
        self,
        body: Sequence[Mapping[str, Any]],
        *,
        historical: bool | None = None,
    ) -> BatchAnswer:
        """Report OpenLineage events: The good ones are stored whatever the others are; those that are not are told by index, with the reason."""
        return cast("BatchAnswer", self.call("POST", "/api/v1/lineage/batch", query={"historical": historical}, body=body))

    def report_run(
        self,
        body: AdapterEvent,
        *,
        historical: bool | None = None,
    ) -> Taken:
        """Report a run as an adapter: The adapters' form of a run event: times within `run`, plain values for facets, no producer and no schemaURL."""
        return cast("Taken", self.call("POST", "/api/v1/run_event", query={"historical": historical}, body=body))

    def live(
        self,
    ) -> Health:
        """Say that the service lives: Answers as long as the process does."""
        return cast("Health", self.call("GET", "/health/live"))

    def ready(
        self,
    ) -> Health:
        """Say whether the service can work: Answers 503 while the catalog's database is away, or is of another version than the service."""
        return cast("Health", self.call("GET", "/health/ready"))

    def alerting(
        self,
    ) -> Health:
        """Say whether alerts are at work: Answers 503 while what judges SLAs, or what sends alerts, gives no sign of life."""
        return cast("Health", self.call("GET", "/health/alerts"))

    def metrics(
        self,
    ) -> str:
        """Measures for Prometheus: Requests and events by what became of them, how long answers took, and how alerting stands."""
        return cast("str", self.call("GET", "/metrics"))

    def list_sla_standings(
        self,
        *,
        state: Sequence[State] | None = None,
        kind: Sequence[PromiseKind] | None = None,
        key: Sequence[str] | None = None,
        domain: str | None = None,
        owner: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfSlaStanding:
        """List how promises stand: Each promise of an SLA as it stood when the engine looked last, in the order of keys, with what is foreseen."""
        return cast("PageOfSlaStanding", self.call("GET", "/api/v1/sla/status", query={"state": state, "kind": kind, "key": key, "domain": domain, "owner": owner, "cursor": cursor, "limit": limit}))

    def show_sla_history(
        self,
        *,
        key: str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> SlaHistory:
        """Show how promises were kept: How often the promises of a dataset or process were kept and by how much; the newest outcomes and changes."""
        return cast("SlaHistory", self.call("GET", "/api/v1/sla/history", query={"key": key, "since": since, "until": until, "limit": limit}))

    def list_incidents(
        self,
        *,
        closed: bool | None = None,
        key: str | None = None,
        limit: int | None = None,
    ) -> Sequence[Incident]:
        """List incidents: What went wrong, the newest first: the cause, what is out of order because of it, and what comes of it."""
        return cast("Sequence[Incident]", self.call("GET", "/api/v1/sla/incidents", query={"closed": closed, "key": key, "limit": limit}))

    def subscribe_to_deadlines(
        self,
        *,
        domain: str | None = None,
        owner: str | None = None,
        days: int | None = None,
    ) -> str:
        """Subscribe to deadlines: The deadlines of the next days as an iCalendar file, 2,000 at most."""
        return cast("str", self.call("GET", "/api/v1/sla/deadlines.ics", query={"domain": domain, "owner": owner, "days": days}))

    def list_alerts(
        self,
        *,
        state: Sequence[AlertState] | None = None,
        subject: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfAlertRow:
        """List alerts: The newest first."""
        return cast("PageOfAlertRow", self.call("GET", "/api/v1/alert", query={"state": state, "subject": subject, "cursor": cursor, "limit": limit}))

    def show_alert(
        self,
        alert_id: str,
    ) -> AlertAnswer:
        """Show an alert: What happened, who was told of it and when, and who is at it."""
        return cast("AlertAnswer", self.call("GET", f"/api/v1/alert/{quote(alert_id, safe='/')}"))

    def acknowledge_alert(
        self,
        alert_id: str,
        body: Acknowledgement,
    ) -> AlertRow:
        """Say that one is at an alert: It escalates no further. Whoever came first stays named; an alert that is closed stays as it is."""
        return cast("AlertRow", self.call("POST", f"/api/v1/alert/{quote(alert_id, safe='/')}/acknowledge", body=body))

    def list_audit(
        self,
        *,
        subject: str | None = None,
        of: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfAuditEntry:
        """List who changed and read what: The newest first. For those who may audit all domains, since an entry may be about any."""
        return cast("PageOfAuditEntry", self.call("GET", "/api/v1/audit", query={"subject": subject, "of": of, "cursor": cursor, "limit": limit}))

    def find_datasets(
        self,
        *,
        q: str,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> SearchPage:
        """Find datasets by words: Those that have all words in name, owners, tags, columns or description; typing errors are forgiven."""
        return cast("SearchPage", self.call("GET", "/api/v1/search", query={"q": q, "cursor": cursor, "limit": limit}))

    def register_dataset(
        self,
        body: DatasetAsked,
        *,
        idempotency_key: str | None = None,
    ) -> Registration:
        """Ask for a dataset to be taken in: A dataset that nobody has heard of becomes a draft; it is active when a steward has approved it."""
        return cast("Registration", self.call("POST", "/api/v1/dataset/register", headers={"idempotency-key": idempotency_key}, body=body))

    def list_registrations(
        self,
        *,
        status: RegistrationStatus | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfRegistration:
        """List registrations: The newest first."""
        return cast("PageOfRegistration", self.call("GET", "/api/v1/registration", query={"status": status, "cursor": cursor, "limit": limit}))

    def show_registration(
        self,
        registration_id: str,
    ) -> Registration:
        """Show a registration: What was asked for, by whom, and what the steward said."""
        return cast("Registration", self.call("GET", f"/api/v1/registration/{quote(registration_id, safe='/')}"))

    def approve_registration(
        self,
        registration_id: str,
        body: Answer,
        *,
        idempotency_key: str | None = None,
    ) -> Registration:
        """Approve a registration: The dataset is then as asked for, and active."""
        return cast("Registration", self.call("POST", f"/api/v1/registration/{quote(registration_id, safe='/')}/approve", headers={"idempotency-key": idempotency_key}, body=body))

    def reject_registration(
        self,
        registration_id: str,
        body: Rejection,
        *,
        idempotency_key: str | None = None,
    ) -> Registration:
        """Reject a registration: The dataset stays as it was."""
        return cast("Registration", self.call("POST", f"/api/v1/registration/{quote(registration_id, safe='/')}/reject", headers={"idempotency-key": idempotency_key}, body=body))

    def show_lineage(
        self,
        dataset: str,
        *,
        direction: Way | None = None,
        depth: int | None = None,
        level: Level | None = None,
        as_of: str | None = None,
        version: str | None = None,
        partition: str | None = None,
        column: str | None = None,
    ) -> Lineage | VersionLineage | ColumnEdges | ProcessLineage:
        """Show what a dataset comes from, or leads to: The neighbours within some steps, and the edges between them."""
        return cast("Lineage | VersionLineage | ColumnEdges | ProcessLineage", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/lineage", query={"direction": direction, "depth": depth, "level": level, "as_of": as_of, "version": version, "partition": partition, "column": column}))

    def show_process_lineage(
        self,
        process: str,
        *,
        direction: Way | None = None,
        depth: int | None = None,
        as_of: str | None = None,
    ) -> ProcessLineage:
        """Show what a process comes from, or leads to: Datasets and processes in turn; each edge is a step."""
        return cast("ProcessLineage", self.call("GET", f"/api/v1/process/{quote(process, safe='/')}/lineage", query={"direction": direction, "depth": depth, "as_of": as_of}))

    def show_impact(
        self,
        dataset: str,
        *,
        depth: int | None = None,
        as_of: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> ImpactAnswer:
        """Show who reads a dataset, directly and in the end: Datasets that are computed from it and processes that read any of them, with their owners, the nearest first."""
        return cast("ImpactAnswer", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/impact", query={"depth": depth, "as_of": as_of, "cursor": cursor, "limit": limit}))

    def show_column_lineage(
        self,
        dataset: str,
        *,
        version: str | None = None,
        partition: str | None = None,
    ) -> VersionColumns:
        """Show where the columns of a version come from: Of the published version, or another: column by column, with the exact versions that it was computed from."""
        return cast("VersionColumns", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/column-lineage", query={"version": version, "partition": partition}))

    def show_column_lineage_changes(
        self,
        dataset: str,
        *,
        before: str,
        after: str | None = None,
        partition: str | None = None,
    ) -> LineageChanges:
        """Compare where the columns of two versions come from: What a change of the code has done to it: a column that reads more than it did, or is no longer known."""
        return cast("LineageChanges", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/column-lineage-changes", query={"before": before, "after": after, "partition": partition}))

    def show_column_impact(
        self,
        dataset: str,
        *,
        column: str | None = None,
        depth: int | None = None,
    ) -> ColumnImpact:
        """Show what a change of a column would break: The datasets that use it, with their owners and SLAs: where its values come out apart from where they decide."""
        return cast("ColumnImpact", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/column-impact", query={"column": column, "depth": depth}))

    def show_sensitive(
        self,
        dataset: str,
    ) -> SensitiveColumns:
        """Show which columns are sensitive, and why: Those that are tagged, those that are made from one, and those that an owner has cleared."""
        return cast("SensitiveColumns", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/sensitive"))

    def clear_column(
        self,
        dataset: str,
        body: Clearing,
    ) -> SensitiveColumns:
        """Clear a column of what it inherits: Its values are shown from then on, and what is made from it inherits nothing. Who, when and why are kept."""
        return cast("SensitiveColumns", self.call("POST", f"/api/v1/dataset/{quote(dataset, safe='/')}/sensitive/clear", body=body))

    def withdraw_clearing(
        self,
        dataset: str,
        body: Withdrawal,
    ) -> SensitiveColumns:
        """Withdraw the clearing of a column: It inherits again."""
        return cast("SensitiveColumns", self.call("POST", f"/api/v1/dataset/{quote(dataset, safe='/')}/sensitive/withdraw", body=body))

    def list_processes(
        self,
        *,
        technology: Technology | None = None,
        standing: Literal["ACTIVE", "UNSCANNED", "RETIRED"] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfProcessSummary:
        """List processes: Processes of every kind in the order of their keys."""
        return cast("PageOfProcessSummary", self.call("GET", "/api/v1/process", query={"technology": technology, "standing": standing, "cursor": cursor, "limit": limit}))

    def list_runs(
        self,
        process: str,
        *,
        state: RunState | None = None,
        archived: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfRunRow:
        """List a process's runs: The newest first."""
        return cast("PageOfRunRow", self.call("GET", f"/api/v1/process/{quote(process, safe='/')}/runs", query={"state": state, "archived": archived, "cursor": cursor, "limit": limit}))

    def show_process(
        self,
        process: str,
    ) -> ProcessAnswer:
        """Show a process: What it reads and writes, its code, its newest runs, and its OpenLineage facets."""
        return cast("ProcessAnswer", self.call("GET", f"/api/v1/process/{quote(process, safe='/')}"))

    def show_run(
        self,
        run_id: str,
    ) -> RunAnswer:
        """Show a run: What it read and wrote, its attempts, why each ended as it did, and where its log is."""
        return cast("RunAnswer", self.call("GET", f"/api/v1/run/{quote(run_id, safe='/')}"))

    def list_datasets(
        self,
        *,
        search: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfDatasetRow:
        """List datasets: Datasets in the order of their keys."""
        return cast("PageOfDatasetRow", self.call("GET", "/api/v1/dataset", query={"search": search, "cursor": cursor, "limit": limit}))

    def dataset_by_name(
        self,
        *,
        namespace: str,
        name: str,
    ) -> DatasetAnswer:
        """Find a dataset by namespace and name: The dataset that has this name, or had it: also by a symlink, an alias, or the path of one of its versions."""
        return cast("DatasetAnswer", self.call("GET", "/api/v1/dataset/named", query={"namespace": namespace, "name": name}))

    def list_versions(
        self,
        dataset: str,
        *,
        partition: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfVersionRow:
        """List a dataset's versions: The newest first, blocked and superseded ones too."""
        return cast("PageOfVersionRow", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/versions", query={"partition": partition, "cursor": cursor, "limit": limit}))

    def show_version(
        self,
        tag: str,
        dataset: str,
        *,
        partition: str | None = None,
    ) -> VersionAnswer:
        """Show a version and what produced it: What it is, from which exact versions it was computed, by which run with which attempts and code."""
        return cast("VersionAnswer", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/versions/{quote(tag, safe='/')}", query={"partition": partition}))

    def list_published(
        self,
        dataset: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfPublishedRow:
        """List what readers get: The published version of each partition, in the order of partition keys."""
        return cast("PageOfPublishedRow", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/published", query={"cursor": cursor, "limit": limit}))

    def list_schemas(
        self,
        dataset: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfSchemaRow:
        """Show the history of a dataset's schema: Each change by a published version, or as it was said, the newest first, and what it meant for readers."""
        return cast("PageOfSchemaRow", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/schema", query={"cursor": cursor, "limit": limit}))

    def list_quality(
        self,
        dataset: str,
        *,
        partition: str | None = None,
        status: CheckStatus | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> PageOfQualityRow:
        """List the results of a dataset's checks: Those of the newest versions first."""
        return cast("PageOfQualityRow", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/quality", query={"partition": partition, "status": status, "cursor": cursor, "limit": limit}))

    def show_reported_quality(
        self,
        dataset: str,
        *,
        limit: int | None = None,
    ) -> ReportedQuality:
        """Show what OpenLineage events said of a dataset's quality: The results of tests and the measures that runs reported, the newest first, of each at most the limit."""
        return cast("ReportedQuality", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/reported-quality", query={"limit": limit}))

    def show_last_success(
        self,
        dataset: str,
    ) -> RunReport:
        """Show the last successful run that made a dataset: The newest run that succeeded, of those that wrote a version of it, and of the processes that produce it."""
        return cast("RunReport", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}/last-success"))

    def show_dataset(
        self,
        dataset: str,
    ) -> DatasetAnswer:
        """Show a dataset: As declared or reported, how it stands, its newest versions, its names elsewhere, and its OpenLineage facets."""
        return cast("DatasetAnswer", self.call("GET", f"/api/v1/dataset/{quote(dataset, safe='/')}"))
