"""Edges of lineage: added to what others wrote, and taken back once they are gone here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from headrace.openmetadata import lineage, models
from headrace.openmetadata.client import Json, RequestRefused
from headrace.openmetadata.mapping import DesiredEdge
from headrace.openmetadata.names import below
from headrace.openmetadata.session import Change, Outcome, Session
from headrace.openmetadata.state import Kind, Sent, digest


class _Edge(NamedTuple):
    """An edge between two entities that are there. wanted: its details, None if it is gone here. before: as sent."""

    key: str
    source: Sent
    target: Sent
    wanted: Json | None
    before: Sent | None

    @property
    def name(self) -> str:
        return f"{self.source.fqn} -> {self.target.fqn}"


class Edges:
    """The edges of one synchronisation."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def ensure(self, desired: dict[str, list[DesiredEdge]], targets: frozenset[UUID] | None) -> None:
        """Bring the edges into these targets there, by their keys; into all for None."""
        sent: dict[str, list[Sent]] = {}
        for each in self._session.state.of(Kind.EDGE):
            sent.setdefault(each.parent, []).append(each)
        todo = [
            (target, desired.get(target, []), sent.get(target, []))
            for target in {**desired, **sent}
            if targets is None or target in desired or UUID(target) in targets
        ]
        for _, outcomes in self._session.each("lineage", self._into, todo):
            for outcome in outcomes:
                self._session.note(outcome)

    def _into(self, given: tuple[str, list[DesiredEdge], list[Sent]]) -> list[Outcome]:
        """Bring the edges into one entity there; those that are there are read once, if any differs."""
        target, desired, sent = given
        before = {each.key: each for each in sent}
        outcomes, edges = [], []
        for edge in desired:
            key = f"{edge.source[1]}>{target}"
            source, there = self._there(*edge.source), self._there(*edge.target)
            if source is None or there is None:
                if self._session.is_dry:  # their tables would be made
                    outcomes.append(Outcome(Change("create", Kind.EDGE, f"{edge.source[1]} -> {target}")))
                continue
            edges.append(_Edge(key, source, there, self._details(edge), before.pop(key, None)))
        for row in before.values():
            source = self._there(Kind(row.sent["kind"]), row.key.partition(">")[0])
            there = self._there(Kind.TABLE, target) or self._there(Kind.PIPELINE, target)
            if source is None or there is None:  # deleted, with its edges
                outcomes.append(Outcome(forget=(Kind.EDGE, row.key)))
            else:
                edges.append(_Edge(row.key, source, there, None, row))
        pending = [each for each in edges if self._may_differ(each)]
        if pending:
            current = self._read(pending[0].target)
            outcomes += [self._ensured(each, current.get(str(each.source.entity_id))) for each in pending]
        return outcomes

    def _may_differ(self, edge: _Edge) -> bool:
        if edge.wanted is None or edge.before is None or self._session.is_verifying:
            return True
        return edge.before.digest != digest(edge.wanted)

    def _ensured(self, edge: _Edge, there: Json | None) -> Outcome:
        is_own = (
            edge.before.is_own if edge.before else there is None or lineage.is_of(there, self._session.bot)
        )
        last = edge.before.sent["details"] if edge.before else (there if is_own else None)
        columns = frozenset(_columns_of(edge.source) | _columns_of(edge.target))
        if edge.wanted is None:
            change = lineage.withdrawn(last or {}, there, is_own=is_own, columns=columns)
        else:
            change = lineage.merged(edge.wanted, last, there, is_own=is_own, columns=columns)
        try:
            if change is not None and not self._session.is_dry:
                self._send(edge, change.details)
        except RequestRefused as refused:
            row = edge.before or self._row(edge, {}, is_own=is_own)
            return Outcome(problem=f"lineage {edge.name}: {refused}", store=replace(row, digest=""))
        if edge.wanted is None:
            done = Change("delete", Kind.EDGE, edge.name) if change else None
            return Outcome(done, forget=(Kind.EDGE, edge.key))
        row = self._row(edge, edge.wanted, is_own=change.is_own if change else is_own)
        if change is None:
            return Outcome(store=row)
        action = "create" if there is None else "update"
        return Outcome(Change(action, Kind.EDGE, edge.name, {"details": (there, change.details)}), store=row)

    @staticmethod
    def _row(edge: _Edge, details: Json, *, is_own: bool) -> Sent:
        return Sent(
            kind=Kind.EDGE,
            key=edge.key,
            fqn=edge.name,
            entity_id=None,
            sent={"kind": edge.source.kind, "details": details},
            digest=digest(details),
            parent=edge.target.key,
            is_own=is_own,
        )

    def _send(self, edge: _Edge, details: Json | None) -> None:
        source, target = edge.source, edge.target
        if details is None:
            self._session.client.delete(
                f"lineage/{source.kind}/{source.entity_id}/{target.kind}/{target.entity_id}"
            )
            return
        ends = {
            "fromEntity": {"id": source.entity_id, "type": source.kind},
            "toEntity": {"id": target.entity_id, "type": target.kind},
        }
        self._session.client.put("lineage", {"edge": {**ends, "lineageDetails": details}})

    def _read(self, target: Sent) -> dict[str, Json]:
        """Return the details of the edges into an entity, by the id of their source."""
        if target.key in self._session.created:
            return {}
        answer = self._session.client.get(
            f"lineage/{target.kind}/{target.entity_id}", upstreamDepth="1", downstreamDepth="0"
        )
        return {
            each["fromEntity"]: each.get("lineageDetails") or {}
            for each in answer.get("upstreamEdges") or ()
            if each["toEntity"] == target.entity_id
        }

    def _there(self, kind: Kind, key: str) -> Sent | None:
        """Return the row of an entity that is there, also in OpenMetadata."""
        row = self._session.state.get(kind, key)
        return row if row is not None and row.entity_id is not None and not row.is_deleted else None

    def _details(self, edge: DesiredEdge) -> Json:
        pipeline = self._there(Kind.PIPELINE, edge.pipeline) if edge.pipeline else None
        return models.EdgeDetails(
            source=edge.origin,
            pipeline=models.Reference(id=str(pipeline.entity_id), type="pipeline") if pipeline else None,
            sql_query=edge.sql,
            columns_lineage=edge.columns,
        ).dump()


def _columns_of(sent: Sent) -> set[str]:
    return set(_below(sent.fqn, sent.sent.get("columns") or ()))


def _below(above: str, columns: Iterable[Json]) -> Iterator[str]:
    """Yield the FQNs of columns, and of the fields of nested ones, which lineage of others can name."""
    for each in columns:
        name = below(above, each["name"])
        yield name
        yield from _below(name, each.get("children") or ())
