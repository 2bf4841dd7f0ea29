"""Evaluate all objectives in one transaction: status changes, incidents and their causes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.nouns import counted
from headrace.queries.quality import store_quality_scores
from headrace.severity import Severity
from headrace.slas import (
    calendars,
    graph,
    heartbeats,
    incidents,
    quality,
    zones,
)
from headrace.slas import (
    deadline_plan as compiling,
)
from headrace.slas import (
    events as alert_events,
)
from headrace.slas import (
    storage as store,
)
from headrace.slas import (
    upstream as awaited,
)
from headrace.slas.arrivals import Following
from headrace.slas.causes import Causes, Issue, causes
from headrace.slas.deadline_plan import PlanChanges
from headrace.slas.deadlines import partition_of, remembered
from headrace.slas.evaluation import evaluate_objective, unevaluable
from headrace.slas.events import AlertEvent, Kind
from headrace.slas.forecasting.forecasts import forecast_deadlines
from headrace.slas.incidents import Incidents
from headrace.slas.objectives import Clock, ObjectiveKind
from headrace.slas.sql import statement
from headrace.slas.status import OUT_OF_ORDER, Change, Evaluation, Pause, SlaStatus

_LOG = logging.getLogger(__name__)
_LOCK = 0x736C61  # "sla", combined with the organisation
_PAUSE = timedelta(minutes=5)  # silence after which other sensors are assumed to have been down as well
_LATE_NEWS = timedelta(minutes=15)  # delay with which a transaction may still commit
_SEVERITY = {
    SlaStatus.AT_RISK: Severity.WARNING,
    SlaStatus.LATE: Severity.ERROR,
    SlaStatus.MISSED: Severity.ERROR,
}
_MISSING_KINDS = frozenset((ObjectiveKind.DELIVERY, ObjectiveKind.AGE, ObjectiveKind.START))
_REPORTED = frozenset((*OUT_OF_ORDER, SlaStatus.MET_LATE, SlaStatus.PAUSED))


@dataclass(frozen=True, slots=True)
class Tick:
    """Result of one evaluation. states: objectives that changed, by new status. events: recorded events by kind."""

    now: datetime
    compiled: int = 0
    evaluated: int = 0
    predicted: int = 0
    states: dict[SlaStatus, int] = field(default_factory=dict)
    events: dict[Kind, int] = field(default_factory=dict)
    skipped: bool = False

    def __add__(self, later: Tick) -> Tick:
        return Tick(
            later.now,
            self.compiled + later.compiled,
            self.evaluated + later.evaluated,
            self.predicted + later.predicted,
            Counter(self.states) + Counter(later.states),
            Counter(self.events) + Counter(later.events),
        )

    def __str__(self) -> str:
        if self.skipped:
            return "another evaluation is running"
        parts = [counted(self.compiled, "new or changed SLA")] if self.compiled else []
        parts.append(f"{counted(self.evaluated, 'objective')} evaluated, {self.predicted} forecast")
        parts += [f"{count} {state.value.lower().replace('_', ' ')}" for state, count in self.states.items()]
        return ", ".join(parts)


def evaluate(engine: Engine, now: datetime | None = None) -> Tick:
    """Evaluate all objectives at `now` (timezone-aware; None: the current time), in one transaction.

    After a change of declarations, a transaction before it evaluates them by their former terms up to the change, so
    that an edit erases no breach. Of two concurrent evaluations, the second changes nothing and reports that.
    """
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    with transaction(engine) as cursor:
        if not _is_alone(cursor):
            return Tick(moment, skipped=True)
        changed_at = compiling.changed_at(cursor)
        if changed_at is None:
            return _evaluate(cursor, moment)
        former = _evaluate(cursor, min(changed_at, moment), compiles=False)
    with transaction(engine) as cursor:
        return former + _evaluate(cursor, moment) if _is_alone(cursor) else former


def _is_alone(cursor: Cursor[Any]) -> bool:
    """Take the lock of evaluation until the transaction ends; returns False if another process has it."""
    key = int.from_bytes(current_context().organisation_id.bytes[:4], "big", signed=True)
    got = cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s) AS got", [_LOCK, key]).fetchone()
    return bool(got and got["got"])


def _evaluate(cursor: Cursor[Any], now: datetime, *, compiles: bool = True) -> Tick:
    news_since, zones_changed = _begin(cursor, now)
    known = calendars.load(cursor)
    compiled = compiling.compile_slas(cursor, known, now) if compiles else PlanChanges()
    following = remembered(known)
    predicted = forecast_deadlines(cursor, now)
    due = store.due(cursor, now, all_deadlines=zones_changed)
    since = min((each.objective_state.evaluated_at for each in due), default=now)
    outages = store.outages(cursor, since)

    def expected(clock: Clock, moment: datetime) -> tuple[datetime, str]:
        deadline = following(clock, moment)
        return deadline, partition_of(clock, known, deadline)

    evaluated = [(each, _evaluate_one(each, outages, now, expected)) for each in due]
    detected = quality.detect(cursor, news_since, now)
    events, written = _assign(cursor, evaluated, detected, now)
    store.write(cursor, written, now)
    judged = {each.pending.dataset_id for each in written if each.evaluation.outcomes}
    if scored := {each for each in (*detected.datasets, *judged) if each}:
        store_quality_scores(cursor, scored, now)
    events += incidents.close(cursor, events, now, compiled.withdrawn)
    alert_events.record(cursor, events, now)
    states = Counter(change.state for _, evaluation in evaluated for change in evaluation.changes[-1:])
    return Tick(
        now,
        compiled.slas,
        len(evaluated),
        predicted,
        dict(states),
        dict(Counter(each.kind for each in events)),
    )


def _evaluate_one(
    pending: store.PendingObjective, outages: Sequence[tuple[str, Pause]], now: datetime, expected: Following
) -> Evaluation:
    pauses = [pause for pattern, pause in outages if fnmatchcase(pending.subject.key, pattern)]
    pauses += pending.pauses
    try:
        return evaluate_objective(
            pending.terms, pending.objective_state, pending.arrivals, pauses, now, expected
        )
    except (ValueError, OverflowError) as error:
        # Stored by an older version, or by a scan: it must not stop the evaluation of the others.
        _LOG.warning("the %s SLA of %s cannot be evaluated", pending.kind, pending.subject.key, exc_info=True)
        return unevaluable(pending.objective_state, _first_line(error), now)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _assign(
    cursor: Cursor[Any],
    evaluated: Sequence[tuple[store.PendingObjective, Evaluation]],
    detected: quality.DetectedEvents,
    now: datetime,
) -> tuple[list[AlertEvent], list[store.EvaluatedObjective]]:
    """Return the events to record, and the incident of each objective."""
    open_incidents = incidents.load(cursor)
    found = _causes(cursor, evaluated, detected.issues, now)
    open_incidents.gather(found)
    events = [_detected_event(each, issue, found, open_incidents) for each, issue in detected.alert_events]
    written = []
    for pending, evaluation in evaluated:
        wrong = evaluation.objective_state.state in OUT_OF_ORDER
        incident = None
        if wrong or any(change.state in OUT_OF_ORDER for change in evaluation.changes):
            worst = max(
                (_SEVERITY[c.state] for c in evaluation.changes if c.state in OUT_OF_ORDER),
                default=Severity.INFO,
            )
            incident = open_incidents.at(found.of(_issue(pending, evaluation)), worst, pending.incident_id)
        of = incident or open_incidents.continues_as(pending.incident_id)
        events += [
            _alert_event(pending, evaluation, change, of, open_incidents)
            for change in evaluation.changes
            if _is_reported(change)
        ]
        written.append(store.EvaluatedObjective(pending, evaluation, incident if wrong else None))
    audit_only = heartbeats.detect_silent_sensors(cursor, open_incidents, now)
    merged = open_incidents.write(cursor, now)
    heartbeats.note(cursor, audit_only)
    return events + audit_only + merged, written


def _begin(cursor: Cursor[Any], now: datetime) -> tuple[datetime, bool]:
    """Record the tick. Returns since when failures are new, and whether time-zone rules have changed.

    Failures are new since shortly before the last tick; in the first tick, since now.
    """
    parameters = {
        "organisation": current_context().organisation_id, "now": now, "pause": _PAUSE, "zone_rules": zones.rules(),
    }  # fmt: skip
    row = statement("begin_tick").execute(cursor, parameters).fetchone()
    if row is None or row["before"] is None:
        return now, False
    return min(row["before"], now) - _LATE_NEWS, row["zones_changed"]


def _causes(
    cursor: Cursor[Any],
    evaluated: Sequence[tuple[store.PendingObjective, Evaluation]],
    failed: Sequence[Issue],
    now: datetime,
) -> Causes:
    """Trace the causes of all open issues, if there are new ones."""
    wrong = [
        (pending, evaluation)
        for pending, evaluation in evaluated
        if evaluation.objective_state.state in OUT_OF_ORDER
        or any(change.state in OUT_OF_ORDER for change in evaluation.changes)
    ]
    if not failed and all(pending.incident_id for pending, _ in wrong):
        return Causes()
    mine = [_issue(pending, evaluation) for pending, evaluation in wrong]
    better = {pending.subject.id for pending, _ in evaluated} - {each.subject.id for each in mine}
    objective_state = [
        each for each in quality.open_issues(cursor, now) if not (each.waits and each.subject.id in better)
    ]
    whole = graph.load(cursor)
    found = causes(whole, (*objective_state, *mine, *failed), quality.settled(cursor))
    waiting = {whole.number[each] for each in found.waiting if each in whole.number}
    arrived = awaited.load(cursor, whole, {*waiting, *whole.reached(waiting, up=True)}, now)
    heads = {
        whole.ids[node]: whole.ids[head] for node, head in awaited.awaited(whole, arrived, waiting).items()
    }
    named = quality.subjects(cursor, {head for node, head in heads.items() if node != head})
    return found.traced({node: named[head] for node, head in heads.items() if head != node})


def _issue(pending: store.PendingObjective, evaluation: Evaluation) -> Issue:
    first = next((change for change in evaluation.changes if change.state in OUT_OF_ORDER), None)
    objective_state = evaluation.objective_state
    since, reason, state = (
        (first.at, first.reason, first.state)
        if first
        else (objective_state.since, objective_state.reason, objective_state.state)
    )
    return Issue(
        pending.subject,
        since,
        reason,
        _SEVERITY[state],
        waits=pending.kind in _MISSING_KINDS,
        holds=pending.kind is not ObjectiveKind.VOLUME
        and (pending.kind is not ObjectiveKind.RUN_TIME or state is not SlaStatus.MISSED),
        opens_at=objective_state.opens_at,
        last_arrival_at=pending.objective_state.newest_at,
        incident_id=pending.incident_id,
    )


def _detected_event(
    alert_event: AlertEvent, issue: Issue | None, found: Causes, open_incidents: Incidents
) -> AlertEvent:
    if issue is None:
        return alert_event
    incident = open_incidents.at(found.of(issue), issue.severity)
    facts = dict(alert_event.facts)
    cause = open_incidents.cause_of(incident)
    if cause is not None and cause.id == alert_event.subject.id:
        facts["is_cause"] = True
    return replace(alert_event, incident_id=incident, facts=facts)


def _is_reported(change: Change) -> bool:
    """Return True except for the first ON_TRACK; a return to ON_TRACK is an event."""
    return change.state in _REPORTED or (
        change.state is SlaStatus.ON_TRACK and change.before in (OUT_OF_ORDER | {SlaStatus.PAUSED})
    )


def _alert_event(
    pending: store.PendingObjective,
    evaluation: Evaluation,
    change: Change,
    incident: UUID | None,
    open_incidents: Incidents,
) -> AlertEvent:
    facts: dict[str, Any] = {
        "objective": pending.kind,
        "deadline": change.deadline.isoformat() if change.deadline else None,
        "partition": change.partition or None,
        "reason": change.reason,
        "before": change.before,
    }
    if change.arrived_at is not None:
        facts["arrived_at"] = change.arrived_at.isoformat()
        if change.deadline is not None:
            facts["late_by"] = max((change.arrived_at - change.deadline).total_seconds(), 0.0)
    if change.state is SlaStatus.AT_RISK and change.deadline == pending.objective_state.deadline:
        forecast = pending.forecast
        facts |= {
            "miss_probability": forecast.get("miss_probability"),
            "expected_at": forecast.get("expected_at"),
            "expected_from": forecast.get("expected_from"),
            "expected_to": forecast.get("expected_to"),
            "waits_for": forecast.get("waits_for"),
            "by_minutes": forecast.get("waits_minutes"),
        }
    if isinstance(pending.terms, Clock):
        facts["timezone"] = pending.terms.timezone
    cause = open_incidents.cause_of(incident)
    if cause is not None and change.state in OUT_OF_ORDER:
        if cause.id == pending.subject.id:
            facts["is_cause"] = True
        else:
            facts["waits_for"] = facts.get("waits_for") or cause.key
    severity = _SEVERITY.get(change.state, Severity.INFO)
    return AlertEvent(
        Kind(change.state.value),
        severity,
        pending.subject,
        change.at,
        incident,
        {name: value for name, value in facts.items() if value is not None},
    )
