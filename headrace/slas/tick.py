"""One look at all promises: what is new, what is due, what went wrong because of what; all in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
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
    events as happenings,
)
from headrace.slas import (
    storage as store,
)
from headrace.slas import (
    upstream as awaited,
)
from headrace.slas.arrivals import Following
from headrace.slas.causes import Causes, Trouble, causes
from headrace.slas.deadlines import partition_of, remembered
from headrace.slas.evaluation import judge
from headrace.slas.events import Happening, Kind, Urgency
from headrace.slas.forecasts import foresee
from headrace.slas.incidents import Incidents
from headrace.slas.objectives import Clock, PromiseKind
from headrace.slas.sql import statement
from headrace.slas.status import OUT_OF_ORDER, Change, Judgement, Pause, State

_LOCK = 0x736C61  # "sla", beside the organisation
_PAUSE = timedelta(minutes=5)  # without a tick: nothing judged, and what else ticks was down as well
_LATE_NEWS = timedelta(minutes=15)  # by which a transaction may end after what it says
_SEVERITY = {State.AT_RISK: Urgency.WARNING, State.LATE: Urgency.ERROR, State.MISSED: Urgency.ERROR}
_WAITING = frozenset((PromiseKind.DELIVERY, PromiseKind.AGE, PromiseKind.START))
_TOLD = frozenset((*OUT_OF_ORDER, State.MET_LATE, State.PAUSED))


@dataclass(frozen=True, slots=True)
class Tick:
    """What one evaluation came to. states: how many promises have taken each. told: happenings recorded, by kind."""

    now: datetime
    compiled: int = 0
    judged: int = 0
    predicted: int = 0
    states: dict[State, int] = field(default_factory=dict)
    told: dict[Kind, int] = field(default_factory=dict)
    skipped: bool = False

    def __str__(self) -> str:
        if self.skipped:
            return "another evaluation is under way"
        said = [f"{self.compiled} SLAs are new or have changed"] if self.compiled else []
        said.append(f"{self.judged} promises judged, {self.predicted} foreseen")
        said += [f"{count} {state.value.lower().replace('_', ' ')}" for state, count in self.states.items()]
        return ", ".join(said)


def evaluate(engine: Engine, now: datetime | None = None) -> Tick:
    """Judge all promises at `now` (timezone-aware; None: by the clock), in one transaction.

    Two evaluations at once are one: the second changes nothing and says so.
    """
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    with transaction(engine) as cursor:
        key = int.from_bytes(organisation_id().bytes[:4], "big", signed=True)
        got = cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s) AS got", [_LOCK, key]).fetchone()
        if not (got and got["got"]):
            return Tick(moment, skipped=True)
        return _evaluate(cursor, moment)


def _evaluate(cursor: Cursor[Any], now: datetime) -> Tick:
    news_since, zones_changed = _begin(cursor, now)
    known = calendars.load(cursor)
    compiled = compiling.compile_slas(cursor, known, now)
    following = remembered(known)
    predicted = foresee(cursor, now)
    due = store.due(cursor, now, all_deadlines=zones_changed)
    since = min((each.standing.evaluated_at for each in due), default=now)
    outages = store.outages(cursor, since)

    def expected(clock: Clock, moment: datetime) -> tuple[datetime, str]:
        deadline = following(clock, moment)
        return deadline, partition_of(clock, known, deadline)

    judged = [(each, _judge(each, outages, now, expected)) for each in due]
    noticed = quality.notice(cursor, news_since, now)
    told, written = _assign(cursor, judged, noticed, now)
    store.write(cursor, written, now)
    told += incidents.close(cursor, told, now)
    happenings.record(cursor, told, now)
    states = Counter(change.state for _, judgement in judged for change in judgement.changes[-1:])
    return Tick(
        now, compiled, len(judged), predicted, dict(states), dict(Counter(each.kind for each in told))
    )


def _judge(
    pending: store.Pending, outages: Sequence[tuple[str, Pause]], now: datetime, expected: Following
) -> Judgement:
    pauses = [pause for pattern, pause in outages if fnmatchcase(pending.subject.key, pattern)]
    pauses += pending.pauses
    return judge(pending.terms, pending.standing, pending.arrivals, pauses, now, expected)


def _assign(
    cursor: Cursor[Any],
    judged: Sequence[tuple[store.Pending, Judgement]],
    noticed: quality.Noticed,
    now: datetime,
) -> tuple[list[Happening], list[store.Judged]]:
    """What is to be told, and to which incident each promise belongs."""
    open_incidents = incidents.load(cursor)
    found = _causes(cursor, judged, noticed.troubles, now)
    open_incidents.gather(found)
    told = [_noticed(each, trouble, found, open_incidents) for each, trouble in noticed.happenings]
    written = []
    for pending, judgement in judged:
        wrong = judgement.standing.state in OUT_OF_ORDER
        incident = None
        if wrong or any(change.state in OUT_OF_ORDER for change in judgement.changes):
            worst = max(
                (_SEVERITY[c.state] for c in judgement.changes if c.state in OUT_OF_ORDER),
                default=Urgency.INFO,
            )
            incident = open_incidents.at(found.of(_trouble(pending, judgement)), worst, pending.incident_id)
        of = incident or open_incidents.goes_on_as(pending.incident_id)
        told += [
            _happening(pending, judgement, change, of, open_incidents)
            for change in judgement.changes
            if _is_told(change)
        ]
        written.append(store.Judged(pending, judgement, incident if wrong else None))
    signs = heartbeats.listen(cursor, open_incidents, now)
    merged = open_incidents.write(cursor, now)
    heartbeats.note(cursor, signs)
    return told + signs + merged, written


def _begin(cursor: Cursor[Any], now: datetime) -> tuple[datetime, bool]:
    """Note the tick. From when on what has gone wrong is news, and whether time zones have other rules than before.

    News is what came since the last tick, and a little before; of the first tick, since now.
    """
    parameters = {
        "organisation": organisation_id(), "now": now, "pause": _PAUSE, "zone_rules": zones.rules(),
    }  # fmt: skip
    row = statement("sla_begin_tick").execute(cursor, parameters).fetchone()
    if row is None or row["before"] is None:
        return now, False
    return min(row["before"], now) - _LATE_NEWS, row["zones_changed"]


def _causes(
    cursor: Cursor[Any],
    judged: Sequence[tuple[store.Pending, Judgement]],
    failed: Sequence[Trouble],
    now: datetime,
) -> Causes:
    """Where all that is out of order comes from, when something has gone wrong just now."""
    wrong = [
        (pending, judgement)
        for pending, judgement in judged
        if judgement.standing.state in OUT_OF_ORDER
        or any(change.state in OUT_OF_ORDER for change in judgement.changes)
    ]
    if not failed and all(pending.incident_id for pending, _ in wrong):
        return Causes()
    mine = [_trouble(pending, judgement) for pending, judgement in wrong]
    better = {pending.subject.id for pending, _ in judged} - {each.subject.id for each in mine}
    standing = [
        each
        for each in quality.standing_troubles(cursor, now)
        if not (each.waits and each.subject.id in better)
    ]
    whole = graph.load(cursor)
    found = causes(whole, (*standing, *mine, *failed), quality.settled(cursor))
    waiting = {whole.number[each] for each in found.waiting if each in whole.number}
    came = awaited.load(cursor, whole, {*waiting, *whole.reached(waiting, up=True)}, now)
    heads = {whole.ids[node]: whole.ids[head] for node, head in awaited.awaited(whole, came, waiting).items()}
    named = quality.subjects(cursor, {head for node, head in heads.items() if node != head})
    return found.traced({node: named[head] for node, head in heads.items() if head != node})


def _trouble(pending: store.Pending, judgement: Judgement) -> Trouble:
    first = next((change for change in judgement.changes if change.state in OUT_OF_ORDER), None)
    standing = judgement.standing
    since, reason, state = (
        (first.at, first.reason, first.state) if first else (standing.since, standing.reason, standing.state)
    )
    return Trouble(
        pending.subject,
        since,
        reason,
        _SEVERITY[state],
        waits=pending.kind in _WAITING,
        holds=pending.kind is not PromiseKind.VOLUME
        and (pending.kind is not PromiseKind.RUN_TIME or state is not State.MISSED),
        opens_at=standing.opens_at,
        came_at=pending.standing.newest_at,
        incident_id=pending.incident_id,
    )


def _noticed(
    happening: Happening, trouble: Trouble | None, found: Causes, open_incidents: Incidents
) -> Happening:
    if trouble is None:
        return happening
    incident = open_incidents.at(found.of(trouble), trouble.severity)
    facts = dict(happening.facts)
    cause = open_incidents.cause_of(incident)
    if cause is not None and cause.id == happening.subject.id:
        facts["is_cause"] = True
    return replace(happening, incident_id=incident, facts=facts)


def _is_told(change: Change) -> bool:
    """A promise that becomes known to be kept is no news; that it is kept again is."""
    return change.state in _TOLD or (
        change.state is State.ON_TRACK and change.before in (OUT_OF_ORDER | {State.PAUSED})
    )


def _happening(
    pending: store.Pending,
    judgement: Judgement,
    change: Change,
    incident: UUID | None,
    open_incidents: Incidents,
) -> Happening:
    facts: dict[str, Any] = {
        "promise": pending.kind,
        "deadline": change.deadline.isoformat() if change.deadline else None,
        "partition": change.partition or None,
        "reason": change.reason,
        "before": change.before,
    }
    if change.arrived_at is not None:
        facts["arrived_at"] = change.arrived_at.isoformat()
        if change.deadline is not None:
            facts["late_by"] = max((change.arrived_at - change.deadline).total_seconds(), 0.0)
    if change.state is State.AT_RISK and change.deadline == pending.standing.deadline:
        forecast = pending.forecast
        facts |= {
            "chance": forecast.get("chance"),
            "expected_at": forecast.get("expected_at"),
            "expected_from": forecast.get("expected_from"),
            "expected_to": forecast.get("expected_to"),
            "waits_for": forecast.get("waits_for"),
            "by_minutes": forecast.get("waits_minutes"),
        }
    cause = open_incidents.cause_of(incident)
    if cause is not None and change.state in OUT_OF_ORDER:
        if cause.id == pending.subject.id:
            facts["is_cause"] = True
        else:
            facts["waits_for"] = facts.get("waits_for") or cause.key
    severity = _SEVERITY.get(change.state, Urgency.INFO)
    return Happening(
        Kind(change.state.value),
        severity,
        pending.subject,
        change.at,
        incident,
        {name: value for name, value in facts.items() if value is not None},
    )
