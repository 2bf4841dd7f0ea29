"""Promises in the database: which have to be looked at, with what came in; and what judging them came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from catalog.identity import organisation_id
from catalog.payload import jsonb
from catalog.sla.happenings import Subject, SubjectType
from catalog.sla.promises import PromiseKind, Terms, terms
from catalog.sla.standing import Arrival, Judgement, Pause, Standing, State
from catalog.sql import statement

_KEPT = {"HELD": "on hold", "SKIPPED": "passed over (on ice, on noexec or bypassed)"}


@dataclass(frozen=True, slots=True)
class Pending:
    """A promise that has to be judged: how it stood, what came in since, and when its process was kept."""

    promise_id: UUID
    subject: Subject
    kind: PromiseKind
    ordinal: int
    terms: Terms
    standing: Standing
    arrivals: tuple[Arrival, ...]
    pauses: tuple[Pause, ...]
    incident_id: UUID | None
    forecast: Mapping[str, Any]

    @property
    def dataset_id(self) -> UUID | None:
        """The dataset that it is about."""
        return self.subject.id if self.subject.type is SubjectType.DATASET else None

    @property
    def process_id(self) -> UUID | None:
        """The process that it is about."""
        return self.subject.id if self.subject.type is SubjectType.PROCESS else None


@dataclass(frozen=True, slots=True)
class Judged:
    """A promise and what judging it came to; incident_id: to which incident it belongs from now on."""

    pending: Pending
    judgement: Judgement
    incident_id: UUID | None


def due(cursor: Cursor[Any], now: datetime) -> list[Pending]:
    """The promises whose time has come, or for which something came in, up to `now`."""
    rows = statement("sla_due").execute(cursor, {"organisation": organisation_id(), "now": now})
    return [_pending(row) for row in rows]


def outages(cursor: Cursor[Any], since: datetime) -> list[tuple[str, Pause]]:
    """The planned outages that are not over before a moment: the pattern of keys, and when."""
    cursor.execute(
        "SELECT subjects, begins_at, ends_at, reason FROM catalog.planned_outage "
        "WHERE organisation_id = %s AND ends_at >= %s ORDER BY begins_at, outage_id",
        [organisation_id(), since],
    )
    return [
        (row["subjects"], Pause(row["begins_at"], row["ends_at"], f"planned outage: {row['reason']}"))
        for row in cursor.fetchall()
    ]


def write(cursor: Cursor[Any], judged: Sequence[Judged], now: datetime) -> None:
    """Store how promises stand, each change, and each outcome."""
    if not judged:
        return
    promises = []
    for each in judged:
        new, old = each.judgement.standing, each.pending.standing
        promises.append(
            {
                "promise_id": each.pending.promise_id,
                "state": new.state,
                "since": new.since,
                "reason": new.reason,
                "settled": new.settled,
                "opens_at": new.opens_at,
                "deadline": new.deadline,
                "partition_key": new.partition,
                "met_at": new.met_at,
                "newest_at": new.newest_at,
                "run_id": new.run_id,
                "next_at": new.next_at,
                "incident_id": each.incident_id,
                "predicted": new.met_at is None and new.deadline == old.deadline,
            }
        )
    changes = [
        {
            **_of(each),
            "state": change.state,
            "before": change.before,
            "at": change.at,
            "deadline": change.deadline,
            "partition_key": change.partition,
            "reason": change.reason,
        }
        for each in judged
        for change in each.judgement.changes
    ]
    outcomes = {
        (each.pending.subject.id, each.pending.kind, each.pending.ordinal, outcome.deadline): {
            **_of(each),
            "deadline": outcome.deadline,
            "partition_key": outcome.partition,
            "outcome": outcome.result,
            "arrived_at": outcome.arrived_at,
        }
        for each in judged
        for outcome in each.judgement.outcomes
    }
    parameters = {
        "organisation": organisation_id(),
        "now": now,
        "promises": jsonb(promises),
        "changes": jsonb(changes),
        "outcomes": jsonb(list(outcomes.values())),
    }
    statement("sla_write").execute(cursor, parameters)


def _of(judged: Judged) -> dict[str, Any]:
    pending = judged.pending
    return {
        "dataset_id": pending.dataset_id,
        "process_id": pending.process_id,
        "kind": pending.kind,
        "ordinal": pending.ordinal,
    }


def _pending(row: Mapping[str, Any]) -> Pending:
    kind = PromiseKind(row["kind"])
    subject = Subject(
        SubjectType.DATASET if row["dataset_id"] else SubjectType.PROCESS,
        row["key"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"]),
    )
    standing = Standing(
        state=State(row["state"]),
        since=row["since"],
        reason=row["reason"],
        evaluated_at=row["evaluated_at"],
        next_at=row["next_at"],
        settled=row["settled"],
        opens_at=row["opens_at"],
        deadline=row["deadline"],
        partition=row["partition_key"],
        met_at=row["met_at"],
        newest_at=row["newest_at"],
        run_id=row["run_id"],
        chance=row["chance"],
    )
    kept = [
        Pause(_moment(since), None if until is None else _moment(until), _KEPT[status])
        for since, until, status in row["pauses"] or ()
    ]
    forecast = {
        name: row[name]
        for name in (
            "chance",
            "expected_at",
            "expected_from",
            "expected_to",
            "waits_for",
            "waits_for_id",
            "waits_minutes",
        )
        if row[name] is not None
    }
    return Pending(
        row["promise_id"],
        subject,
        kind,
        row["ordinal"],
        terms(kind, row["definition"]),
        standing,
        tuple(map(_arrival, row["arrivals"] or ())),
        tuple(kept),
        row["incident_id"],
        forecast,
    )


def _arrival(item: Sequence[Any]) -> Arrival:
    at, partition, run_id, ended_at, rows, size = item
    return Arrival(
        _moment(at),
        partition,
        UUID(run_id) if run_id else None,
        None if ended_at is None else _moment(ended_at),
        rows,
        size,
    )


def _moment(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)
