"""Queries for SLA status, history and incidents, for the API and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, Sensitive, SensitiveIf, SubjectKey
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownIncident, UnknownSla
from headrace.queries.rows import DatasetStatus
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.sql import statement
from headrace.slas.status import OUT_OF_ORDER, DeadlineOutcome, SlaStatus

_ALL = 1_000_000
_NEWEST = (datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
WORST_FIRST = (
    SlaStatus.LATE,
    SlaStatus.MISSED,
    SlaStatus.AT_RISK,
    SlaStatus.PAUSED,
    SlaStatus.UNKNOWN,
    SlaStatus.MET_LATE,
    SlaStatus.ON_TRACK,
)


@dataclass(frozen=True, slots=True)
class SlaObjectiveStatus:
    """The status of one objective.

    subject_type: DATASET or PROCESS, identified by dataset_id or process_id. deadline: the current one. met_at: when it
    was met. miss_probability: forecast, with the expected time and its 80% interval. waits_for: the dataset or process
    at the start of the critical path. waits_minutes: its delay against the usual time. definition: the terms, durations
    in seconds.
    """

    subject_type: Public[str]
    key: SubjectKey
    dataset_id: UUID | None
    process_id: UUID | None
    owners: Public[tuple[str, ...]]
    kind: ObjectiveKind
    ordinal: int
    state: SlaStatus
    since: datetime
    reason: Public[str]
    deadline: datetime | None
    partition: Public[str | None]
    met_at: datetime | None
    newest_at: datetime | None
    miss_probability: float | None
    expected_at: datetime | None
    expected_from: datetime | None
    expected_to: datetime | None
    waits_for: Public[str | None]
    waits_minutes: float | None
    incident_id: UUID | None
    definition: Public[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SlaCount:
    """Number of objectives by one value of a filter: state, kind, domain or owner."""

    filter: Public[str]
    value: Public[str]
    count: int


@dataclass(frozen=True, slots=True)
class ObjectivePlace:
    """A place in a list of objectives, after which the next page begins."""

    state: SlaStatus
    deadline: datetime | None
    key: str
    kind: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class SlaChange:
    """A status change: when it happened, when it was detected, and why."""

    kind: ObjectiveKind
    ordinal: int
    at: datetime
    detected_at: datetime
    before: SlaStatus
    state: SlaStatus
    deadline: datetime | None
    partition: Public[str | None]
    reason: Public[str]


@dataclass(frozen=True, slots=True)
class SlaOutcome:
    """The outcome of one deadline. late_by: seconds after it, negative if before it, None if nothing arrived."""

    kind: ObjectiveKind
    ordinal: int
    deadline: datetime
    partition: Public[str | None]
    outcome: DeadlineOutcome
    arrived_at: datetime | None
    late_by: float | None


@dataclass(frozen=True, slots=True)
class SlaRecord:
    """How one objective was met over a period.

    kept: share of deadlines met, excluding those in an outage; None if there were none.
    earlier: median seconds before the deadline of arrivals in time. late, latest: median and maximum seconds after it.
    """

    kind: ObjectiveKind
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


@dataclass(frozen=True, slots=True)
class SlaDay:
    """Number of outcomes of one objective on a day in UTC. latest: maximum seconds after the deadline."""

    kind: ObjectiveKind
    ordinal: int
    day: date
    met: int
    met_late: int
    missed: int
    paused: int
    latest: float | None


@dataclass(frozen=True, slots=True)
class SlaHistory:
    """The SLA history of a dataset or process: figures, by day as well, and the newest outcomes and changes first."""

    key: SubjectKey
    since: datetime
    until: datetime
    records: list[SlaRecord]
    days: list[SlaDay]
    outcomes: list[SlaOutcome]
    changes: list[SlaChange]


@dataclass(frozen=True, slots=True)
class IncidentMember:
    """A dataset or process affected by an incident."""

    subject_type: Public[str]
    key: SubjectKey
    owners: Public[tuple[str, ...]]
    state: Public[str]


def _is_caused_by_a_run(incident: Incident) -> bool:
    return incident.run_id is not None


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident. members: with their last status. downstream: datasets derived from them.

    part_of: the incident it was merged into.
    """

    incident_id: UUID
    cause_type: Public[str]
    cause: SubjectKey
    owners: Public[tuple[str, ...]]
    reason: Annotated[str, SensitiveIf(Sensitive.ERROR, _is_caused_by_a_run)]
    severity: Public[str]
    run_id: UUID | None
    opened_at: datetime
    closed_at: datetime | None
    part_of: UUID | None
    members: list[IncidentMember]
    downstream: list[IncidentMember]


@dataclass(frozen=True, slots=True)
class IncidentDetail:
    """An incident, and those that were merged into it."""

    incident: Incident
    parts: list[Incident]


@dataclass(frozen=True, slots=True)
class OutOfOrder:
    """Number of datasets and processes with a status, and the keys of the latest few."""

    state: SlaStatus
    count: int
    keys: list[str]


def out_of_order(engine: Engine, few: int) -> list[OutOfOrder]:
    """Return late, missed and at-risk objectives as of the last tick, worst first."""
    parameters = {"organisation": current_context().organisation_id, "states": list(OUT_OF_ORDER), "few": few}
    with transaction(engine) as cursor:
        rows = statement("queries/out_of_order").execute(cursor, parameters).fetchall()
    found = {row["state"]: row for row in rows}
    return [
        OutOfOrder(state, found[state]["count"], found[state]["keys"])
        for state in (SlaStatus.LATE, SlaStatus.MISSED, SlaStatus.AT_RISK)
        if state in found
    ]


def sla_statuses(
    engine: Engine,
    states: Collection[SlaStatus] = (),
    kinds: Collection[ObjectiveKind] = (),
    *,
    keys: Collection[str] = (),
    domain: str | None = None,
    owner: str | None = None,
    worst_first: bool = False,
    after: ObjectivePlace | None = None,
    limit: int = 100,
) -> list[SlaObjectiveStatus]:
    """Return SLA objectives with their status at the last tick, by key, kind and ordinal; `limit` of those after a
    place.

    states, kinds, keys: filters; empty for all. worst_first: by status and deadline first.
    """
    ranked = list(WORST_FIRST) if worst_first else []
    parameters = {
        "organisation": current_context().organisation_id,
        "states": list(states),
        "kinds": list(kinds),
        "keys": list(keys),
        "domain": domain,
        "owner": owner,
        "ranked": ranked,
        "rank": -1 if after is None else ranked.index(after.state) + 1 if ranked else 0,
        "due": after.deadline if after and ranked else None,
        "key": after.key if after else "",
        "kind": after.kind if after else "",
        "ordinal": after.ordinal if after else -1,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("queries/statuses").execute(cursor, parameters).fetchall()
    return [
        SlaObjectiveStatus(
            **{
                **row,
                "owners": tuple(row["owners"]),
                "kind": ObjectiveKind(row["kind"]),
                "state": SlaStatus(row["state"]),
                "partition": row["partition"] or None,
            }
        )
        for row in rows
    ]


def sla_counts(
    engine: Engine,
    states: Collection[SlaStatus] = (),
    kinds: Collection[ObjectiveKind] = (),
    *,
    domain: str | None = None,
    owner: str | None = None,
    most: int = 50,
) -> list[SlaCount]:
    """Count the objectives by the values of each filter, under the other filters; the `most` frequent ones."""
    parameters = {
        "organisation": current_context().organisation_id,
        "states": list(states),
        "kinds": list(kinds),
        "domain": domain,
        "owner": owner,
        "most": most,
    }
    with transaction(engine) as cursor:
        return [SlaCount(**row) for row in statement("queries/counts").execute(cursor, parameters)]


def objectives_by_dataset(engine: Engine, keys: Collection[str] = ()) -> dict[str, list[SlaObjectiveStatus]]:
    """Return the objectives of these datasets (all by default) by key, worst status first."""
    found: dict[str, list[SlaObjectiveStatus]] = {}
    for each in sla_statuses(engine, keys=keys, limit=_ALL):
        if each.subject_type == "DATASET":
            found.setdefault(each.key, []).append(each)
    for several in found.values():
        several.sort(key=lambda each: WORST_FIRST.index(each.state))
    return found


def needs_attention(dataset: DatasetStatus, objectives: Sequence[SlaObjectiveStatus]) -> bool:
    """Return True if a person should look at the dataset. objectives: worst status first."""
    return bool(
        (objectives and objectives[0].state in OUT_OF_ORDER)
        or dataset.failing
        or dataset.warning
        or dataset.last_run_state in {"FAILED", "LOST", "RUNNING"}
    )


def attention_counts(
    statuses: Sequence[DatasetStatus], objectives: Mapping[str, Sequence[SlaObjectiveStatus]]
) -> dict[str, int]:
    """Count the datasets by what needs attention, in words; a dataset may count several times."""
    worst = Counter(objectives[each.key][0].state for each in statuses if objectives.get(each.key))
    runs = Counter(str(each.last_run_state) for each in statuses)
    return {
        "never published": sum(each.newest_tag is None for each in statuses),
        **{state.value.lower().replace("_", " "): worst[state] for state in sorted(OUT_OF_ORDER)},
        "with failed checks": sum(bool(each.failing) for each in statuses),
        "with warnings": sum(bool(each.warning) for each in statuses),
        **{f"with last run {state.lower()}": runs[state] for state in ("RUNNING", "FAILED", "LOST")},
    }


def sla_history(engine: Engine, key: str, since: datetime, until: datetime, limit: int = 50) -> SlaHistory:
    """Return the SLA history of a dataset or process. Raises UnknownSla if it never had an SLA."""
    parameters = {
        "organisation": current_context().organisation_id,
        "key": key,
        "since": since,
        "until": until,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        known = statement("queries/subject").execute(cursor, parameters).fetchone()
        if known is None:
            raise UnknownSla(f"{key} has no SLA: `headrace sla status` lists those with one")
        records = statement("queries/records").execute(cursor, parameters).fetchall()
        days = statement("queries/days").execute(cursor, parameters).fetchall()
        outcomes = statement("queries/outcomes").execute(cursor, parameters).fetchall()
        changes = statement("queries/changes").execute(cursor, parameters).fetchall()
    return SlaHistory(
        key,
        since,
        until,
        [SlaRecord(**row) for row in records],
        [SlaDay(**row) for row in days],
        [SlaOutcome(**{**row, "partition": row["partition"] or None}) for row in outcomes],
        [SlaChange(**{**row, "partition": row["partition"] or None}) for row in changes],
    )


def incident(engine: Engine, incident_id: UUID) -> IncidentDetail:
    """Return an incident and those that were merged into it. Raises UnknownIncident."""
    found = incidents(engine, open_only=False, incident_id=incident_id)
    if not found:
        raise UnknownIncident(f"no incident {incident_id}; GET /api/v1/sla/incidents lists incidents")
    return IncidentDetail(found[0], incidents(engine, open_only=False, part_of=incident_id))


def incidents(
    engine: Engine,
    *,
    open_only: bool = True,
    key: str | None = None,
    incident_id: UUID | None = None,
    part_of: UUID | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Incident]:
    """Return incidents, newest first, opened before a moment (or at that moment, with a lower id).

    key: only those whose cause or member is this dataset or process. part_of: only those merged into this one.
    """
    moment, before_id = before or _NEWEST
    parameters = {
        "organisation": current_context().organisation_id,
        "open_only": open_only,
        "key": key,
        "incident": incident_id,
        "part_of": part_of,
        "before": moment,
        "before_id": before_id,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("queries/incidents").execute(cursor, parameters).fetchall()
    return [
        Incident(
            **{
                **row,
                "owners": tuple(row["owners"] or ()),
                "members": [_member(each) for each in row["members"] or ()],
                "downstream": [_member(each) for each in row["downstream"] or ()],
            }
        )
        for row in rows
    ]


def _member(row: dict[str, Any]) -> IncidentMember:
    return IncidentMember(row["subject_type"], row["key"], tuple(row["owners"] or ()), row["state"])
