"""What goes wrong beside promises: failed runs, failing checks, odd row counts, changed schemas, silent sensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.outbox import Position, position
from headrace.catalog.queries.schemas import schema_columns
from headrace.catalog.schema import classify, schema_hash
from headrace.database.ids import organisation_id
from headrace.slas.causes import Trouble
from headrace.slas.events import Happening, Kind, Subject, SubjectType, Urgency
from headrace.slas.row_counts import odd
from headrace.slas.sql import statement

_READER = "slas"
_AT_ONCE = 2000  # versions of one tick
_REACHED = """
INSERT INTO catalog.outbox_reader (organisation_id, reader, transaction_id, outbox_id)
SELECT organisation_id, %s, %s, %s FROM catalog.organisation WHERE organisation_id = %s
ON CONFLICT (organisation_id, reader) DO UPDATE
    SET transaction_id = excluded.transaction_id, outbox_id = excluded.outbox_id, read_at = now()
"""


@dataclass(slots=True)
class Noticed:
    """Happenings beside promises, each with the trouble that makes an incident of it, where it does."""

    happenings: list[tuple[Happening, Trouble | None]] = field(default_factory=list)

    @property
    def troubles(self) -> list[Trouble]:
        """The troubles among them."""
        return [trouble for _, trouble in self.happenings if trouble is not None]


def notice(cursor: Cursor[Any], since: datetime, now: datetime) -> Noticed:
    """What has gone wrong since a moment (of the last tick): each thing once, however often one looks."""
    found = Noticed()
    parameters = {"organisation": organisation_id(), "since": since, "now": now}
    for row in statement("sla_failed_runs").execute(cursor, parameters).fetchall():
        _failed_run(found, row)
    for row in _new_versions(cursor, now):
        if row["checks"] or row["outcome"] == "BLOCKED":
            _bad_version(found, row)
        if row["outcome"] == "PUBLISHED":
            _published_version(cursor, found, row)
    return found


def standing_troubles(cursor: Cursor[Any], now: datetime) -> list[Trouble]:
    """The troubles of incidents that are open, and of promises, as they were before this look."""
    rows = statement("sla_troubles").execute(cursor, {"organisation": organisation_id(), "now": now})
    return [
        Trouble(
            subject_of(row),
            row["since"],
            row["reason"],
            Urgency(row["severity"]),
            row["run_id"],
            row["waits"],
            row["holds"],
            row["opens_at"],
            row["came_at"],
            row["incident_id"],
        )
        for row in rows
    ]


def settled(cursor: Cursor[Any]) -> frozenset[UUID]:
    """The subjects whose promises are all kept, or made up for."""
    rows = statement("sla_settled").execute(cursor, {"organisation": organisation_id()})
    return frozenset(row["subject_id"] for row in rows)


def subjects(cursor: Cursor[Any], ids: Collection[UUID]) -> dict[UUID, Subject]:
    """Datasets and processes by their ids."""
    if not ids:
        return {}
    rows = statement("sla_subjects").execute(cursor, {"ids": list(ids)}).fetchall()
    return {row["subject_id"]: subject_of(row) for row in rows}


def subject_of(row: Mapping[str, Any]) -> Subject:
    """The subject that a row is about: subject_type, subject, subject_id, owners."""
    return Subject(
        SubjectType(row["subject_type"]), row["subject"], row["subject_id"], tuple(row["owners"] or ())
    )


def _new_versions(cursor: Cursor[Any], now: datetime) -> list[dict[str, Any]]:
    """Versions that the outbox tells of since the tick before; the first one begins with what comes then."""
    known = cursor.execute(
        "SELECT transaction_id, outbox_id FROM catalog.outbox_reader WHERE organisation_id = %s AND reader = %s",
        [organisation_id(), _READER],
    ).fetchone()
    rows: list[dict[str, Any]] = []
    if known is not None:
        parameters = {
            "organisation": organisation_id(),
            "now": now,
            "limit": _AT_ONCE,
            "no_schema": schema_hash(()),
            **known,
        }
        rows = statement("sla_new_versions").execute(cursor, parameters).fetchall()
    if known is None or rows:
        reached = Position(rows[-1]["transaction_id"], rows[-1]["outbox_id"]) if rows else position(cursor)
        cursor.execute(_REACHED, [_READER, reached.transaction_id, reached.outbox_id, organisation_id()])
    return rows


def _failed_run(found: Noticed, row: Mapping[str, Any]) -> None:
    subject = subject_of(row)
    reason = row["reason"] or f"the run ended {row['status']}"
    facts = {
        "run_id": str(row["run_id"]),
        "dagster_run_id": row["dagster_run_id"],
        "log_location": row["log_location"],
        "status": row["status"],
        "reason": reason,
    }
    trouble = Trouble(
        subject, row["at"], reason, Urgency.ERROR, row["run_id"], holds=True, came_at=row["came_at"]
    )
    facts = {name: value for name, value in facts.items() if value is not None}
    found.happenings.append(
        (Happening(Kind.RUN_FAILED, Urgency.ERROR, subject, row["at"], None, facts), trouble)
    )


def _bad_version(found: Noticed, row: Mapping[str, Any]) -> None:
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
    severity = Urgency.ERROR if blocked else Urgency.WARNING
    trouble = Trouble(subject, row["at"], reason, severity, row["run_id"], holds=True) if blocked else None
    found.happenings.append(
        (Happening(Kind.CHECK_FAILED, severity, subject, row["at"], None, facts), trouble)
    )


def _published_version(cursor: Cursor[Any], found: Noticed, row: Mapping[str, Any]) -> None:
    subject = subject_of(row)
    facts: dict[str, Any] = {"version": row["tag"]}
    if row["partition_key"]:
        facts["partition"] = row["partition_key"]
    history = [(datetime.fromtimestamp(at, UTC), int(count)) for at, count in row["history"] or ()]
    if row["row_count"] is not None and (strange := odd(row["at"], row["row_count"], history)):
        reason = f"{row['row_count']:,} rows, where {strange.fewest:,} to {strange.most:,} are usual"
        told = facts | {"rows": row["row_count"], "usual": strange.usual, "reason": reason}
        odd_count = Happening(Kind.ROW_COUNT_ODD, Urgency.WARNING, subject, row["at"], None, told)
        found.happenings.append((odd_count, None))
    if row["previous_hash"] is not None and row["previous_hash"] != row["schema_hash"]:
        columns = schema_columns(cursor, row["subject_id"], {row["previous_hash"], row["schema_hash"]})
        change = classify(columns[row["previous_hash"]], columns[row["schema_hash"]])
        told = facts | {
            "breaking": change.breaking,
            "compatible": change.compatible,
            "reason": "; ".join((*change.breaking, *change.compatible)),
        }
        severity = Urgency.WARNING if change.breaking else Urgency.INFO
        found.happenings.append(
            (Happening(Kind.SCHEMA_CHANGED, severity, subject, row["at"], None, told), None)
        )
