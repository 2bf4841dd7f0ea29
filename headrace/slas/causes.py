"""Trace each issue upstream to the issue that explains it.

A dataset may be late long before the cause is known: its input has a later deadline, or the run producing its input
fails an hour later. So causes are recomputed whenever something goes wrong, for existing issues as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from headrace.severity import Severity
from headrace.slas.events import Subject, SubjectType
from headrace.slas.graph import Graph

_Place = tuple[UUID, bool]  # a subject, and whether others wait for it


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue of a subject, with time and reason. run_id: the run that failed.

    waits: something has not arrived, and a late input may be the reason. holds: others wait for it; a version that is
    too small delays no one. opens_at: when it was first expected. last_arrival_at: when it last arrived. incident_id:
    the incident it already belongs to.
    """

    subject: Subject
    since: datetime
    reason: str
    severity: Severity
    run_id: UUID | None = None
    waits: bool = False
    holds: bool = False
    opens_at: datetime | None = None
    last_arrival_at: datetime | None = None
    incident_id: UUID | None = None

    def explains(self, other: Issue) -> bool:
        """Return True if this issue, upstream of the other's subject, explains the other issue.

        An input that arrived since the other's last arrival does not delay it, whatever is expected of it next. A late
        input does not explain a failed run, which did not wait for it.
        """
        if self.run_id is not None and self.run_id == other.run_id:
            return True
        if self.since <= other.since:
            return other.run_id is None or not self.waits
        last = other.last_arrival_at or other.opens_at
        return (
            other.waits
            and self.holds
            and (self.opens_at is None or self.opens_at < other.since)
            and (
                self._ended_after
                or self.last_arrival_at is None
                or last is None
                or self.last_arrival_at <= last
            )
        )

    @property
    def _ended_after(self) -> bool:
        """A run ends after its output is published, so its last arrival says nothing about the output."""
        return self.waits and self.subject.type is SubjectType.PROCESS


@dataclass(frozen=True, slots=True)
class Causes:
    """For every subject with an issue: its own issue and the root cause."""

    own: Mapping[_Place, Issue] = field(default_factory=dict)
    roots: Mapping[_Place, Issue] = field(default_factory=dict)

    def of(self, issue: Issue) -> Issue:
        """Return the root cause of an issue: itself if none is known."""
        place = _place(issue)
        return self.roots.get(place, issue) if place else issue

    @property
    def waiting(self) -> frozenset[UUID]:
        """The root-cause subjects that have not arrived."""
        return frozenset(root.subject.id for root in self.roots.values() if root.waits and root.subject.id)

    def traced(self, awaited: Mapping[UUID, Subject]) -> Causes:
        """Return the causes, extended by late inputs that have no SLA."""
        return Causes(self.own, {place: self._traced(root, awaited) for place, root in self.roots.items()})

    def _traced(self, root: Issue, awaited: Mapping[UUID, Subject]) -> Issue:
        there = awaited.get(root.subject.id) if root.waits and root.subject.id else None
        if there is None:
            return root
        ended = "come" if there.type is SubjectType.DATASET else "finished"
        reason = f"{there.key} has not {ended}"
        missed = replace(
            root, subject=there, reason=reason, opens_at=None, last_arrival_at=None, incident_id=None
        )
        return self.of(missed)

    def beyond(self, issue: Issue) -> Issue | None:
        """Return the root cause of a known issue; None if it is at its own subject."""
        place = _place(issue)
        own = self.own.get(place) if place else None
        root = self.roots.get(place) if place else None
        if own is None or root is None or root.subject.id == own.subject.id:
            return None
        return root if own.waits or (own.run_id is not None and own.run_id == root.run_id) else None


def causes(graph: Graph, issues: Iterable[Issue], settled: frozenset[UUID]) -> Causes:
    """Trace issues to their root causes. settled: subjects that are up to date, which pass no issue on.

    Of several issues at one subject, one that it causes itself counts first, then the oldest. Issues that delay others
    (late, failed) and those that do not (too small) are traced separately: neither explains the other.
    """
    own: dict[_Place, Issue] = {}
    for each in sorted(issues, key=lambda each: (each.waits, each.since)):
        if place := _place(each):
            own.setdefault(place, each)
    found: dict[_Place, Issue] = {}
    for holds in (True, False):
        at = {subject: issue for (subject, kept), issue in own.items() if kept is holds}
        found |= {(subject, holds): root for subject, root in _roots(graph, at, settled).items()}
    return Causes(own, found)


def _roots(graph: Graph, issues: Mapping[UUID, Issue], settled: frozenset[UUID]) -> dict[UUID, Issue]:
    """Return, for each subject with an issue, the farthest upstream issue that explains it; of several, a failure
    first, then the earliest."""
    if not issues:
        return {}
    found: list[Issue | None] = [None] * len(graph.ids)
    for node in graph.order:
        own = issues.get(graph.ids[node])
        if own is None and graph.ids[node] in settled:
            continue
        above = [issue for each in graph.before[node] if (issue := found[each]) is not None]
        if own is not None:
            above = [each for each in above if each.explains(own)]
        found[node] = (
            min(above, key=lambda each: (each.run_id is None, each.since, each.subject.key)) if above else own
        )
    return {
        each: (found[graph.number[each]] if each in graph.number else None) or issue
        for each, issue in issues.items()
    }


def _place(issue: Issue) -> _Place | None:
    return None if issue.subject.id is None else (issue.subject.id, issue.holds)
