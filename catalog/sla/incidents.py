"""Incidents: what went wrong at one place, with all promises that are out of order because of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg import Cursor

from catalog.identity import organisation_id
from catalog.payload import jsonb
from catalog.sla.graph import Graph
from catalog.sla.happenings import Happening, Kind, Subject, SubjectType, Urgency
from catalog.sql import statement

_RANK = {severity: rank for rank, severity in enumerate(Urgency)}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is out of order at a subject, since when and why; run_id: the run that failed."""

    subject: Subject
    since: datetime
    reason: str
    severity: Urgency
    run_id: UUID | None = None


@dataclass(slots=True)
class Open:
    """An incident that is open, and how bad it is by now."""

    incident_id: UUID
    cause: Subject
    severity: Urgency
    new: bool = False


class Incidents:
    """The incidents that are open, while a tick adds to them."""

    def __init__(self, known: Sequence[Open]) -> None:
        self._by_cause = {(each.cause.type, each.cause.key): each for each in known}
        self._by_id = {each.incident_id: each for each in known}
        self._written: dict[UUID, tuple[Open, Trouble]] = {}

    def at(self, trouble: Trouble, severity: Urgency | None = None, joined: UUID | None = None) -> UUID:
        """The incident that a trouble causes: the one that the subject belongs to already, its cause's, or a new one.

        severity: of what belongs to it from now on, when that is worse.
        """
        found = self._by_id.get(joined) if joined else None
        found = found or self._by_cause.get((trouble.subject.type, trouble.subject.key))
        worst = max(severity or trouble.severity, trouble.severity, key=_RANK.__getitem__)
        if found is None:
            found = Open(uuid4(), trouble.subject, worst, new=True)
            self._by_cause[trouble.subject.type, trouble.subject.key] = found
            self._by_id[found.incident_id] = found
            self._written[found.incident_id] = (found, trouble)
        elif _RANK[worst] > _RANK[found.severity]:
            found.severity = worst
            self._written.setdefault(found.incident_id, (found, trouble))
        return found.incident_id

    def write(self, cursor: Cursor[Any]) -> None:
        """Store those that are new or have become worse; before what refers to them."""
        rows = [
            {
                "incident_id": each.incident_id,
                "cause_type": each.cause.type,
                "cause_key": each.cause.key,
                "cause_id": each.cause.id,
                "reason": trouble.reason,
                "severity": each.severity,
                "run_id": trouble.run_id,
                "opened_at": trouble.since,
            }
            for each, trouble in self._written.values()
        ]
        if rows:
            parameters = {"organisation": organisation_id(), "incidents": jsonb(rows)}
            statement("sla_write_incidents").execute(cursor, parameters)


def load(cursor: Cursor[Any]) -> Incidents:
    """The incidents that are open."""
    rows = statement("sla_open_incidents").execute(cursor, {"organisation": organisation_id()})
    return Incidents(
        [Open(row["incident_id"], _cause(row), Urgency(row["severity"])) for row in rows.fetchall()]
    )


def roots(graph: Graph, troubles: Mapping[UUID, Trouble], settled: frozenset[UUID]) -> dict[UUID, Trouble]:
    """For each subject in trouble the trouble that it comes from: the farthest one against the flow of data.

    settled: subjects whose data of today is there, through which no trouble can come. Of several the one that began
    first.
    """
    found: list[Trouble | None] = [None] * len(graph.ids)
    for node in graph.order:
        own = troubles.get(graph.ids[node])
        if own is None and graph.ids[node] in settled:
            continue
        above = [trouble for each in graph.before[node] if (trouble := found[each]) is not None]
        if own is not None:
            above = [each for each in above if each.since <= own.since or each.run_id is not None]
        found[node] = (
            min(above, key=lambda each: (each.run_id is None, each.since, each.subject.key)) if above else own
        )
    return {
        each: (found[graph.number[each]] if each in graph.number else None) or trouble
        for each, trouble in troubles.items()
    }


def close(cursor: Cursor[Any], now: datetime) -> list[Happening]:
    """Close the incidents of which nothing is out of order any more; the last happening of each."""
    parameters = {"organisation": organisation_id(), "now": now}
    return [
        Happening(
            Kind.INCIDENT_CLOSED,
            Urgency.INFO,
            _cause(row),
            row["closed_at"],
            row["incident_id"],
            {
                "cause": row["cause_key"],
                "reason": row["reason"],
                "opened_at": row["opened_at"].isoformat(),
                "members": row["members"],
            },
        )
        for row in statement("sla_close_incidents").execute(cursor, parameters).fetchall()
    ]


def _cause(row: Mapping[str, Any]) -> Subject:
    return Subject(
        SubjectType(row["cause_type"]),
        row["cause_key"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"] or ()),
    )
