"""Detect issues other than deadlines: failed runs, failed checks, unusual row counts, changed schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.outbox import Position, position
from headrace.catalog.schema import classify, schema_hash
from headrace.context import current_context
from headrace.queries.schemas import schema_columns
from headrace.severity import Severity
from headrace.slas.causes import Issue
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType
from headrace.slas.forecasting.row_counts import unusual_row_count
from headrace.slas.sql import statement

_READER = "slas"
_BATCH_SIZE = 2000  # versions per tick
_REACHED = """
INSERT INTO catalog.outbox_reader (organisation_id, reader, transaction_id, outbox_id)
SELECT organisation_id, %s, %s, %s FROM catalog.organisation WHERE organisation_id = %s
ON CONFLICT (organisation_id, reader) DO UPDATE
    SET transaction_id = excluded.transaction_id, outbox_id = excluded.outbox_id, read_at = now()
"""


@dataclass(slots=True)
class DetectedEvents:
    """Detected events, each with the issue that opens an incident, if any. datasets: those with new versions."""

    alert_events: list[tuple[AlertEvent, Issue | None]] = field(default_factory=list)
    datasets: set[UUID] = field(default_factory=set)

    @property
    def issues(self) -> list[Issue]:
        """The issues among them."""
        return [issue for _, issue in self.alert_events if issue is not None]


def detect(cursor: Cursor[Any], since: datetime, now: datetime) -> DetectedEvents:
    """Detect problems since the last tick, each event once."""
    found = DetectedEvents()
    parameters = {"organisation": current_context().organisation_id, "since": since, "now": now}
    for row in statement("failed_runs").execute(cursor, parameters).fetchall():
        _failed_run(found, row)
    for row in _new_versions(cursor, now):
        found.datasets.add(row["subject_id"])
        if row["checks"] or row["outcome"] == "BLOCKED":
            _bad_version(found, row)
        if row["outcome"] == "PUBLISHED":
            _published_version(cursor, found, row)
    return found


def open_issues(cursor: Cursor[Any], now: datetime) -> list[Issue]:
    """Return the issues of open incidents and objectives before this tick."""
    rows = statement("issues").execute(
        cursor, {"organisation": current_context().organisation_id, "now": now}
    )
    return [
        Issue(
            subject_of(row),
            row["since"],
            row["reason"],
            Severity(row["severity"]),
            row["run_id"],
            row["waits"],
            row["holds"],
            row["opens_at"],
            row["last_arrival_at"],
            row["incident_id"],
        )
        for row in rows
    ]


def settled(cursor: Cursor[Any]) -> frozenset[UUID]:
    """Return the subjects whose objectives are all met, or met late."""
    rows = statement("met_subjects").execute(cursor, {"organisation": current_context().organisation_id})
    return frozenset(row["subject_id"] for row in rows)


def subjects(cursor: Cursor[Any], ids: Collection[UUID]) -> dict[UUID, Subject]:
    """Return datasets and processes by their ids."""
    if not ids:
        return {}
    rows = statement("subjects").execute(cursor, {"ids": list(ids)}).fetchall()
    return {row["subject_id"]: subject_of(row) for row in rows}


def subject_of(row: Mapping[str, Any]) -> Subject:
    """Return the subject of a row: subject_type, subject, subject_id, owners."""
    return Subject(
        SubjectType(row["subject_type"]), row["subject"], row["subject_id"], tuple(row["owners"] or ())
    )


def _new_versions(cursor: Cursor[Any], now: datetime) -> list[dict[str, Any]]:
    """Return versions in the outbox since the previous tick; the first tick starts at the current position."""
    known = cursor.execute(
        "SELECT transaction_id, outbox_id FROM catalog.outbox_reader WHERE organisation_id = %s AND reader = %s",
        [current_context().organisation_id, _READER],
    ).fetchone()
    rows: list[dict[str, Any]] = []
    if known is not None:
        parameters = {
            "organisation": current_context().organisation_id,
            "now": now,
            "limit": _BATCH_SIZE,
            "no_schema": schema_hash(()),
            **known,
        }
        rows = statement("new_versions").execute(cursor, parameters).fetchall()
    if known is None or rows:
        reached = Position(rows[-1]["transaction_id"], rows[-1]["outbox_id"]) if rows else position(cursor)
        cursor.execute(
            _REACHED, [_READER, reached.transaction_id, reached.outbox_id, current_context().organisation_id]
        )
    return rows


def _failed_run(found: DetectedEvents, row: Mapping[str, Any]) -> None:
    subject = subject_of(row)
    reason = row["reason"] or f"the run ended {row['status']}"
    facts = {
        "run_id": str(row["run_id"]),
        "dagster_run_id": row["dagster_run_id"],
        "log_location": row["log_location"],
        "status": row["status"],
        "reason": reason,
    }
    issue = Issue(
        subject,
        row["at"],
        reason,
        Severity.ERROR,
        row["run_id"],
        holds=True,
        last_arrival_at=row["last_arrival_at"],
    )
    facts = {name: value for name, value in facts.items() if value is not None}
    found.alert_events.append(
        (AlertEvent(Kind.RUN_FAILED, Severity.ERROR, subject, row["at"], None, facts), issue)
    )


def _bad_version(found: DetectedEvents, row: Mapping[str, Any]) -> None:
    subject = subject_of(row)
    reason = row["reason"] or f"checks warn: {row['names']}"
    facts = {
        "version": row["tag"],
        "partition": row["partition_key"] or None,
        "checks": row["checks"],
        "reason": reason,
    }
    facts = {name: value for name, value in facts.items() if value is not None}
    blocked = row["outcome"] == "BLOCKED"
    severity = Severity.ERROR if blocked else Severity.WARNING
    issue = Issue(subject, row["at"], reason, severity, row["run_id"], holds=True) if blocked else None
    found.alert_events.append(
        (AlertEvent(Kind.CHECK_FAILED, severity, subject, row["at"], None, facts), issue)
    )


def _published_version(cursor: Cursor[Any], found: DetectedEvents, row: Mapping[str, Any]) -> None:
    subject = subject_of(row)
    facts: dict[str, Any] = {"version": row["tag"]}
    if row["partition_key"]:
        facts["partition"] = row["partition_key"]
    history = [(datetime.fromtimestamp(at, UTC), int(count)) for at, count in row["history"] or ()]
    if row["row_count"] is not None and (strange := unusual_row_count(row["at"], row["row_count"], history)):
        reason = f"{row['row_count']:,} rows, where {strange.fewest:,} to {strange.most:,} are usual"
        events = facts | {"rows": row["row_count"], "usual": strange.usual, "reason": reason}
        unusual = AlertEvent(Kind.UNUSUAL_ROW_COUNT, Severity.WARNING, subject, row["at"], None, events)
        found.alert_events.append((unusual, None))
    if row["previous_hash"] is not None and row["previous_hash"] != row["schema_hash"]:
        columns = schema_columns(cursor, row["subject_id"], {row["previous_hash"], row["schema_hash"]})
        change = classify(columns[row["previous_hash"]], columns[row["schema_hash"]])
        events = facts | {
            "breaking": change.breaking,
            "compatible": change.compatible,
            "reason": "; ".join((*change.breaking, *change.compatible)),
        }
        severity = Severity.WARNING if change.breaking else Severity.INFO
        found.alert_events.append(
            (AlertEvent(Kind.SCHEMA_CHANGED, severity, subject, row["at"], None, events), None)
        )
