"""Alert events: stored in the transaction of the change that caused them, and consumed by alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded
from headrace.severity import Severity
from headrace.slas.sql import statement
from headrace.slas.staging import stage

_HAPPENED = {
    "place": "int4", "kind": "text", "severity": "text", "subject_type": "text", "subject": "text",
    "subject_id": "uuid", "owners": "text[]", "incident_id": "uuid", "at": "timestamptz", "facts": "text",
}  # fmt: skip


class Kind(StrEnum):
    """The kind of an event."""

    AT_RISK = "AT_RISK"  # a deadline that will probably be missed, or whose warning time has passed
    LATE = "LATE"  # a deadline has passed
    MISSED = "MISSED"  # nothing arrived before the next deadline
    MET_LATE = "MET_LATE"  # arrived late
    ON_TRACK = "ON_TRACK"  # back to normal
    PAUSED = "PAUSED"  # a planned outage, or a job on hold
    RUN_FAILED = "RUN_FAILED"
    CHECK_FAILED = "CHECK_FAILED"
    UNUSUAL_ROW_COUNT = "UNUSUAL_ROW_COUNT"  # far from the usual count
    SCHEMA_CHANGED = "SCHEMA_CHANGED"
    SENSOR_SILENT = "SENSOR_SILENT"  # no tick for longer than expected
    SENSOR_BACK = "SENSOR_BACK"
    INCIDENT_CLOSED = "INCIDENT_CLOSED"  # nothing in the incident is affected any more
    INCIDENT_MERGED = "INCIDENT_MERGED"  # merged into the incident that turned out to be its cause


class SubjectType(StrEnum):
    """The type of an event's subject."""

    DATASET = "DATASET"
    PROCESS = "PROCESS"
    SENSOR = "SENSOR"


@dataclass(frozen=True, slots=True)
class Subject:
    """A dataset, a process or a sensor by its key; `id` is None for a sensor. owners: as declared."""

    type: SubjectType
    key: str
    id: UUID | None = None
    owners: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        """The first part of its key, used for alert routing."""
        return self.key.split("/", 1)[0]


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An event about one subject.

    at: when it happened, which may be long before it was detected. incident_id: its incident, None for events without
    one (an unusual row count, a changed schema). Of the events of one incident, the first, those of a higher severity,
    and the first of its root cause (`is_cause`) are worth a notification; INCIDENT_CLOSED or INCIDENT_MERGED is the
    last. facts: plain JSON. Of objectives: `objective` (DELIVERY, ...), `before` (the previous status), `deadline`,
    `timezone` (of the deadline), `partition`, `reason` (a sentence), `late_by` (seconds), `arrived_at`,
    `miss_probability`, `expected_at`, `expected_from`, `expected_to`, `waits_for` (the key at the start of the
    critical path) and `by_minutes`. Of runs: `run_id`, `dagster_run_id`, `log_location`, `status`, `reason`. Of
    checks: `checks` (each with check, status, failed_rows), `version`, `partition`, `reason`. Of row counts: `rows`,
    `usual`, `reason`. Of schemas: `breaking`, `compatible`, `reason`. Of INCIDENT_CLOSED: `cause`, `reason`,
    `opened_at`, `members` (keys of its subjects), and if it did not recover, `ended_by`: PAUSED (with `pause`, the
    reason), SLA_CHANGED or RETIRED. Of INCIDENT_MERGED: `part_of` (the key of the other one's cause), `part_of_id`.
    """

    kind: Kind
    severity: Severity
    subject: Subject
    at: datetime
    incident_id: UUID | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredAlertEvent:
    """A stored alert event, and when it was detected."""

    alert_event: AlertEvent
    detected_at: datetime


def record(cursor: Cursor[Any], alert_events: Sequence[AlertEvent], now: datetime) -> None:
    """Store alert events in the cursor's transaction; they become visible when it commits."""
    if not alert_events:
        return
    rows = (
        (
            place, each.kind, each.severity, each.subject.type, each.subject.key, each.subject.id,
            list(each.subject.owners), each.incident_id, each.at, encoded(each.facts).decode(),
        )
        for place, each in enumerate(alert_events)
    )  # fmt: skip
    stage(cursor, "happened", _HAPPENED, rows)
    statement("record_alert_events").execute(
        cursor, {"organisation": current_context().organisation_id, "now": now}
    )


def alert_events_of(engine: Engine, incident_id: UUID) -> list[StoredAlertEvent]:
    """Return all events of an incident, in order."""
    with transaction(engine) as cursor:
        rows = statement("incidents/alert_events").execute(
            cursor, {"organisation": current_context().organisation_id, "incident_id": incident_id}
        )
        return [_stored(row) for row in rows]


def _stored(row: Mapping[str, Any]) -> StoredAlertEvent:
    subject = Subject(
        SubjectType(row["subject_type"]),
        row["subject"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"]),
    )
    alert_event = AlertEvent(
        Kind(row["kind"]), Severity(row["severity"]), subject, row["at"], row["incident_id"], row["facts"]
    )
    return StoredAlertEvent(alert_event, row["detected_at"])
