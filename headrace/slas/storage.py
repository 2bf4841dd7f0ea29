"""Load the objectives that are due, with their arrivals, and store the results of evaluating them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg import Cursor
from pydantic_core import from_json

from headrace.context import current_context
from headrace.slas.events import Subject, SubjectType
from headrace.slas.objectives import ObjectiveKind, Terms, terms
from headrace.slas.sql import statement
from headrace.slas.staging import stage
from headrace.slas.status import OUTAGE, Arrival, Evaluation, ObjectiveState, Pause, SlaStatus
from headrace.slas.transitions import format_moment

_FORECAST = (
    "miss_probability",
    "expected_at",
    "expected_from",
    "expected_to",
    "waits_for",
    "waits_for_id",
    "waits_minutes",
)
_OF = {"dataset_id": "uuid", "process_id": "uuid", "kind": "text", "ordinal": "int4"}
_EVALUATED = {
    "objective_id": "uuid", "state": "text", "since": "timestamptz", "reason": "text", "settled": "timestamptz",
    "opens_at": "timestamptz", "deadline": "timestamptz", "partition_key": "text", "met_at": "timestamptz",
    "newest_at": "timestamptz", "run_id": "uuid", "next_at": "timestamptz", "incident_id": "uuid", "predicted": "bool",
}  # fmt: skip
_CHANGED = {
    "place": "int4", **_OF, "state": "text", "before": "text", "at": "timestamptz", "deadline": "timestamptz",
    "partition_key": "text", "reason": "text",
}  # fmt: skip
_OUTCOMES = {
    **_OF, "deadline": "timestamptz", "partition_key": "text", "outcome": "text", "arrived_at": "timestamptz",
}  # fmt: skip
_PAUSE_REASONS = {"HELD": "on hold", "SKIPPED": "skipped (on ice, on noexec or bypassed)"}


@dataclass(frozen=True, slots=True)
class PendingObjective:
    """An objective to evaluate: its state, arrivals since then, and pauses of its process."""

    objective_id: UUID
    subject: Subject
    kind: ObjectiveKind
    ordinal: int
    definition: str
    objective_state: ObjectiveState
    arrivals: tuple[Arrival, ...]
    pauses: tuple[Pause, ...]
    incident_id: UUID | None
    forecast: Mapping[str, Any]

    @property
    def terms(self) -> Terms:
        """Its terms. Raises ValueError if this version of Headrace cannot read them."""
        return _terms(self.kind, self.definition)

    @property
    def dataset_id(self) -> UUID | None:
        """Its dataset."""
        return self.subject.id if self.subject.type is SubjectType.DATASET else None

    @property
    def process_id(self) -> UUID | None:
        """Its process."""
        return self.subject.id if self.subject.type is SubjectType.PROCESS else None


@dataclass(frozen=True, slots=True)
class EvaluatedObjective:
    """An evaluated objective. incident_id: the incident it belongs to from now on."""

    pending: PendingObjective
    evaluation: Evaluation
    incident_id: UUID | None


def due(cursor: Cursor[Any], now: datetime, *, all_deadlines: bool = False) -> list[PendingObjective]:
    """Return the objectives that are due at `now` or have new arrivals.

    all_deadlines: include all with a deadline, because time-zone rules have changed.
    """
    parameters = {
        "organisation": current_context().organisation_id,
        "now": now,
        "all_deadlines": all_deadlines,
    }
    rows = statement("due").execute(cursor, parameters)
    return [_pending(row) for row in rows]


def outages(cursor: Cursor[Any], since: datetime) -> list[tuple[str, Pause]]:
    """Return the planned outages that end after a moment: key pattern and period."""
    cursor.execute(
        "SELECT subjects, begins_at, ends_at, reason FROM catalog.planned_outage "
        "WHERE organisation_id = %s AND ends_at >= %s ORDER BY begins_at, outage_id",
        [current_context().organisation_id, since],
    )
    return [
        (row["subjects"], Pause(row["begins_at"], row["ends_at"], _outage_reason(row)))
        for row in cursor.fetchall()
    ]


def _outage_reason(row: Mapping[str, Any]) -> str:
    return f"{OUTAGE} until {format_moment(row['ends_at'])}: {row['reason']}"


def write(cursor: Cursor[Any], evaluated: Sequence[EvaluatedObjective], now: datetime) -> None:
    """Store objective states, status changes, and outcomes."""
    if not evaluated:
        return
    changes = ((each.pending, change) for each in evaluated for change in each.evaluation.changes)
    outcomes = {
        (each.pending.subject.id, each.pending.kind, each.pending.ordinal, outcome.deadline): (each, outcome)
        for each in evaluated
        for outcome in each.evaluation.outcomes
    }
    stage(cursor, "evaluated", _EVALUATED, map(_evaluated_row, evaluated))
    stage(
        cursor,
        "changed",
        _CHANGED,
        (
            (
                place, *_of(pending), change.state, change.before, change.at, change.deadline, change.partition,
                change.reason,
            )
            for place, (pending, change) in enumerate(changes)
        ),
    )  # fmt: skip
    stage(
        cursor,
        "settled",
        _OUTCOMES,
        (
            (*_of(each.pending), outcome.deadline, outcome.partition, outcome.result, outcome.arrived_at)
            for each, outcome in outcomes.values()
        ),
    )
    statement("write").execute(cursor, {"organisation": current_context().organisation_id, "now": now})


def _evaluated_row(evaluated: EvaluatedObjective) -> Sequence[object]:
    new = evaluated.evaluation.objective_state
    predicted = new.met_at is None and new.deadline == evaluated.pending.objective_state.deadline
    return (
        evaluated.pending.objective_id, new.state, new.since, new.reason, new.settled, new.opens_at, new.deadline,
        new.partition, new.met_at, new.newest_at, new.run_id, new.next_at, evaluated.incident_id, predicted,
    )  # fmt: skip


def _of(pending: PendingObjective) -> Sequence[object]:
    return pending.dataset_id, pending.process_id, pending.kind, pending.ordinal


def _pending(row: Mapping[str, Any]) -> PendingObjective:
    kind = ObjectiveKind(row["kind"])
    subject = Subject(
        SubjectType.DATASET if row["dataset_id"] else SubjectType.PROCESS,
        row["key"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"]),
    )
    objective_state = ObjectiveState(
        state=SlaStatus(row["state"]),
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
        miss_probability=row["miss_probability"],
    )
    return PendingObjective(
        row["objective_id"],
        subject,
        kind,
        row["ordinal"],
        row["definition"],
        objective_state,
        tuple(map(_arrival, from_json(row["arrivals"]))) if row["arrivals"] else (),
        tuple(map(_pause, from_json(row["pauses"]))) if row["pauses"] else (),
        row["incident_id"],
        {name: row[name] for name in _FORECAST if row[name] is not None} if row["expected_at"] else {},
    )


@lru_cache(maxsize=10_000)
def _terms(kind: ObjectiveKind, definition: str) -> Terms:
    """Parse the terms, cached since many objectives have the same ones."""
    return terms(kind, from_json(definition))


def _pause(item: Sequence[Any]) -> Pause:
    since, until, status = item
    return Pause(_moment(since), _moment(until) if until else None, _PAUSE_REASONS[status])


def _arrival(item: Sequence[Any]) -> Arrival:
    at, partition, run_id, ended_at, rows, size = item
    return Arrival(
        _moment(at),
        partition,
        UUID(run_id) if run_id else None,
        _moment(ended_at) if ended_at else None,
        rows,
        size,
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
