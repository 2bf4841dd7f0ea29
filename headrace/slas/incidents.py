"""Incidents: one cause, with every objective affected by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg import Cursor

from headrace.context import current_context
from headrace.database.jsonb import jsonb
from headrace.severity import Severity
from headrace.slas.causes import Causes, Issue
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType
from headrace.slas.sql import statement


@dataclass(slots=True)
class OpenIncident:
    """An open incident: the issue at its cause, and its severity so far.

    apart: a member does not wait for anything (a version that is too small), and stays in this incident.
    """

    incident_id: UUID
    issue: Issue
    severity: Severity
    apart: bool = False
    changed: bool = False

    @property
    def cause(self) -> Subject:
        """The subject of its cause."""
        return self.issue.subject

    def worsen(self, severity: Severity) -> None:
        """Raise the severity to at least this one."""
        if severity > self.severity:
            self.severity, self.changed = severity, True


@dataclass(frozen=True, slots=True)
class _MovedIncident:
    """An incident whose waiting members moved to another. closed: no members are left."""

    old: OpenIncident
    new: OpenIncident
    closed: bool


class Incidents:
    """The open incidents, while a tick adds to them and merges those with the same cause."""

    def __init__(self, known: Sequence[OpenIncident]) -> None:
        self._by_cause = {_place(each.cause): each for each in known}
        self._by_id = {each.incident_id: each for each in known}
        self._moved: dict[UUID, _MovedIncident] = {}

    def gather(self, causes: Causes) -> None:
        """Merge incidents whose causes share a root cause; the oldest one continues."""
        for each in sorted(self._by_id.values(), key=lambda each: (each.issue.since, each.cause.key)):
            root = causes.beyond(each.issue)
            if root is None:
                continue
            there = self._of(root)
            if there is each:
                continue
            if there is None and not each.apart:
                del self._by_cause[_place(each.cause)]
                each.issue, each.changed = root, True
                self._by_cause[_place(root.subject)] = each
                continue
            there = there or self._open(root, each.severity)
            there.worsen(each.severity)
            self._moved[each.incident_id] = _MovedIncident(each, there, closed=not each.apart)
            if not each.apart:
                del self._by_cause[_place(each.cause)], self._by_id[each.incident_id]

    def at(self, issue: Issue, severity: Severity | None = None, joined: UUID | None = None) -> UUID:
        """Return the incident of an issue: the one its subject is already in, the one of its cause, or a new one.

        severity: raises the incident's severity if higher.
        """
        worst = max(severity or issue.severity, issue.severity)
        found = self._known(joined, holds=issue.holds) or self._of(issue)
        if found is None:
            return self._open(issue, worst).incident_id
        found.worsen(worst)
        if (
            found.issue.waits
            and issue.holds
            and not issue.waits
            and _place(issue.subject) == _place(found.cause)
        ):
            found.issue, found.changed = issue, True  # a missing dataset whose run failed
        return found.incident_id

    def continues_as(self, incident_id: UUID | None) -> UUID | None:
        """Return the incident itself, or the one it was merged into."""
        moved = self._moved.get(incident_id) if incident_id else None
        return self._end(moved).incident_id if moved and moved.closed else incident_id

    def cause_of(self, incident_id: UUID | None) -> Subject | None:
        """Return the cause of an open incident."""
        found = self._by_id.get(incident_id) if incident_id else None
        return found.cause if found else None

    def write(self, cursor: Cursor[Any], now: datetime) -> list[AlertEvent]:
        """Store the changed incidents, before rows that refer to them.

        Returns the closing event of each merged incident.
        """
        if self._moved:
            moved = [
                {
                    "incident_id": each.old.incident_id,
                    "part_of": self._end(each).incident_id,
                    "closed": each.closed,
                }
                for each in self._moved.values()
            ]
            parameters = {
                "organisation": current_context().organisation_id,
                "now": now,
                "moved": jsonb(moved),
            }
            statement("incidents/join").execute(cursor, parameters)
        rows = [_row(each) for each in self._by_id.values() if each.changed]
        if rows:
            parameters = {"organisation": current_context().organisation_id, "incidents": jsonb(rows)}
            statement("incidents/write").execute(cursor, parameters)
        return [
            AlertEvent(
                Kind.INCIDENT_MERGED,
                Severity.INFO,
                each.old.cause,
                now,
                each.old.incident_id,
                {"part_of": self._end(each).cause.key, "part_of_id": str(self._end(each).incident_id)},
            )
            for each in self._moved.values()
            if each.closed
        ]

    def _of(self, issue: Issue) -> OpenIncident | None:
        """Return the incident of an issue: the one at its subject, or the one its subject belongs to."""
        found = self._by_cause.get(_place(issue.subject))
        return found or self._known(issue.incident_id, holds=issue.holds)

    def _known(self, incident_id: UUID | None, *, holds: bool) -> OpenIncident | None:
        if incident_id is None:
            return None
        moved = self._moved.get(incident_id) if holds else None
        return self._end(moved) if moved else self._by_id.get(incident_id)

    def _end(self, moved: _MovedIncident) -> OpenIncident:
        """Follow merges to the incident that continues."""
        new = moved.new
        while further := self._moved.get(new.incident_id):
            new = further.new
        return new

    def _open(self, issue: Issue, severity: Severity) -> OpenIncident:
        found = OpenIncident(uuid4(), issue, severity, changed=True)
        self._by_cause[_place(issue.subject)] = self._by_id[found.incident_id] = found
        return found


def load(cursor: Cursor[Any]) -> Incidents:
    """Load the open incidents."""
    rows = statement("incidents/open").execute(cursor, {"organisation": current_context().organisation_id})
    return Incidents(
        [
            OpenIncident(
                row["incident_id"],
                Issue(
                    _cause(row),
                    row["opened_at"],
                    row["reason"],
                    Severity(row["severity"]),
                    row["run_id"],
                    waits=row["waits"],
                    holds=row["holds"],
                ),
                Severity(row["severity"]),
                row["apart"],
            )
            for row in rows.fetchall()
        ]
    )


def close(
    cursor: Cursor[Any], events: Iterable[AlertEvent], now: datetime, withdrawn: Collection[UUID] = ()
) -> list[AlertEvent]:
    """Close the incidents without open issues, and return the closing event of each.

    events: the events of this tick, not stored yet. An incident with a run that has just failed stays open. withdrawn:
    incidents that lost an objective because its SLA was changed or its subject retired: they did not
    recover.
    """
    hit: dict[UUID, set[str]] = {}
    failed = set()
    ended: dict[UUID, dict[str, object]] = {each: {"ended_by": "SLA_CHANGED"} for each in withdrawn}
    for each in events:
        if each.incident_id is not None and each.kind is Kind.PAUSED:
            ended[each.incident_id] = {"ended_by": "PAUSED", "pause": each.facts.get("reason")}
        if each.incident_id is not None and each.severity is not Severity.INFO:
            hit.setdefault(each.incident_id, set()).add(each.subject.key)
            if each.kind in (Kind.RUN_FAILED, Kind.CHECK_FAILED):
                failed.add(each.incident_id)
    parameters = {"organisation": current_context().organisation_id, "now": now, "failed": list(failed)}
    return [
        AlertEvent(
            Kind.INCIDENT_CLOSED,
            Severity.INFO,
            _cause(row),
            row["closed_at"],
            row["incident_id"],
            {
                "cause": row["cause_key"],
                "reason": row["reason"],
                "opened_at": row["opened_at"].isoformat(),
                "members": sorted(hit.get(row["incident_id"], set()) | set(row["members"] or ())),
                **({"ended_by": "RETIRED"} if row["retired"] else ended.get(row["incident_id"], {})),
            },
        )
        for row in statement("incidents/close").execute(cursor, parameters).fetchall()
    ]


def _row(each: OpenIncident) -> dict[str, object]:
    issue = each.issue
    return {
        "incident_id": each.incident_id,
        "cause_type": issue.subject.type,
        "cause_key": issue.subject.key,
        "cause_id": issue.subject.id,
        "reason": issue.reason,
        "severity": each.severity,
        "run_id": issue.run_id,
        "waits": issue.waits,
        "holds": issue.holds,
        "opened_at": issue.since,
    }


def _place(subject: Subject) -> tuple[SubjectType, str]:
    return subject.type, subject.key


def _cause(row: Mapping[str, Any]) -> Subject:
    return Subject(
        SubjectType(row["cause_type"]),
        row["cause_key"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"] or ()),
    )
