"""Which runs that OpenLineage events are of are runs that a scheduler reports too, so that both are one.

A run of a scheduler's job is the scheduler's run whose number an event gives in the facet `headrace_scheduler`, or
whose id it has, or with which alone it overlaps in time. Of several such runs (a retry has an id of its own) the first
is it.
All of this is a function of the runs that are known, so that it does not matter which source is heard first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from headrace.database.ids import external_run_id
from headrace.database.jsonb import jsonb
from headrace.events.openlineage.documents import Document, stored_document
from headrace.events.openlineage.sql import statement
from headrace.events.scheduler_events import SCHEDULER

Key = tuple[UUID, UUID]  # a run's id as reported, and its process
MAX_RUN_TIME = timedelta(
    days=7
)  # how long before an event a scheduler's run may have begun that overlaps with it
_PROCESSES = """
SELECT process_id, technology, instance, external_name FROM catalog.process
WHERE organisation_id = %s AND process_id = ANY (%s) AND external_name IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class SameRuns:
    """The scheduler's run that each of these is. reported: those that the scheduler has reported, with their numbers.

    others: documents of other runs that are another one than their rows say.
    """

    ids: Mapping[Key, UUID] = field(default_factory=dict)
    reported: Mapping[UUID, str | None] = field(default_factory=dict)
    others: Mapping[Key, Document] = field(default_factory=dict)


def same_runs(
    cursor: Cursor[Any],
    organisation: UUID,
    documents: Mapping[Key, Document],
    stored: Mapping[Key, UUID],
    scheduled: Collection[UUID],
) -> SameRuns:
    """Find the scheduler's run that each of these runs is.

    stored: the ids that they have in the catalog, as far as they are there. scheduled: processes that may be a
    scheduler's; the others are not looked at.
    """
    concerned = {key: document for key, document in documents.items() if key[1] in scheduled}
    if not concerned:
        return SameRuns()
    processes = {
        row["process_id"]: row
        for row in cursor.execute(_PROCESSES, [organisation, list({process for _, process in concerned})])
    }
    concerned = {key: document for key, document in concerned.items() if key[1] in processes}
    if not concerned:
        return SameRuns()
    found = _candidates(cursor, organisation, concerned, processes)
    possible = {run_id for each in found.values() for run_id in each.runs}
    possible |= {stored[key] for key in concerned if key in stored and stored[key] not in own_ids(key)}
    rows = _rivals(cursor, organisation, possible, concerned)
    rivals = {(row["reported_run_id"], row["process_id"]): stored_document(row["document"]) for row in rows}
    found |= _candidates(cursor, organisation, rivals, processes)
    ids = _decided(concerned | rivals, found)
    others = {
        key: rivals[key]
        for row in rows
        for key in ((row["reported_run_id"], row["process_id"]),)
        if {row["run_id"], ids.get(key)} & possible and row["run_id"] not in _ids(key, ids)
    }
    reported = {run_id: number for each in found.values() for run_id, number in each.reported.items()}
    return SameRuns({key: run_id for key, run_id in ids.items() if key in concerned}, reported, others)


def overlapping(
    cursor: Cursor[Any], organisation: UUID, spans: Sequence[Mapping[str, Any]]
) -> dict[Key, Document]:
    """The documents of the runs of these processes that are, or overlap with, one of a scheduler's runs.

    spans: `process_id`, `run_id`, `since` and `until` (None: it is under way) of each.
    """
    rows = statement("overlapping_runs").execute(
        cursor, {"organisation": organisation, "spans": jsonb(spans)}
    )
    return {(row["reported_run_id"], row["process_id"]): stored_document(row["document"]) for row in rows}


def own_ids(key: Key) -> tuple[UUID, UUID]:
    """The ids that a run has which is none of a scheduler's: as reported, or where other jobs share that, computed."""
    return key[0], uuid5(key[0], str(key[1]))


@dataclass(frozen=True, slots=True)
class _Candidates:
    """named: the run that the events name, by its number or its id. overlapping: those at the same time."""

    named: UUID | None
    overlapping: frozenset[UUID]
    reported: Mapping[UUID, str | None]

    @property
    def runs(self) -> frozenset[UUID]:
        return self.overlapping if self.named is None else self.overlapping | {self.named}

    @property
    def one(self) -> UUID | None:
        if self.named is not None:
            return self.named
        return next(iter(self.overlapping)) if len(self.overlapping) == 1 else None


def _candidates(
    cursor: Cursor[Any],
    organisation: UUID,
    documents: Mapping[Key, Document],
    processes: Mapping[UUID, Mapping[str, Any]],
) -> dict[Key, _Candidates]:
    keys = list(documents)
    numbered = {key: _numbered(documents[key], processes[key[1]]) for key in keys}
    asked = [
        {
            "ordinal": ordinal,
            "process_id": key[1],
            "named": [each for each in (key[0], numbered[key]) if each is not None],
            "first": documents[key].first,
            "last": documents[key].last,
        }
        for ordinal, key in enumerate(keys)
    ]
    overlapping: defaultdict[Key, set[UUID]] = defaultdict(set)
    reported: defaultdict[Key, dict[UUID, str | None]] = defaultdict(dict)
    if asked:
        parameters = {"organisation": organisation, "runs": jsonb(asked), "longest": MAX_RUN_TIME}
        for row in statement("scheduler_runs").execute(cursor, parameters):
            key = keys[row["ordinal"]]
            reported[key][row["run_id"]] = row["number"]
            if row["overlaps"]:
                overlapping[key].add(row["run_id"])
    return {
        key: _Candidates(
            numbered[key] or (key[0] if key[0] in reported[key] else None),
            frozenset(overlapping[key]),
            reported[key],
        )
        for key in keys
    }


def _numbered(document: Document, process: Mapping[str, Any]) -> UUID | None:
    number = document.content(SCHEDULER).get("run")
    if not isinstance(number, str):
        return None
    return external_run_id(process["technology"], process["instance"], process["external_name"], number)


def _rivals(
    cursor: Cursor[Any], organisation: UUID, run_ids: Iterable[UUID], without: Collection[Key]
) -> list[Mapping[str, Any]]:
    """The rows of the other runs that are one of these, or may be."""
    wanted = list(run_ids)
    if not wanted:
        return []
    rows = statement("scheduler_run_rivals").execute(cursor, {"organisation": organisation, "runs": wanted})
    return [row for row in rows if (row["reported_run_id"], row["process_id"]) not in without]


def _decided(documents: Mapping[Key, Document], found: Mapping[Key, _Candidates]) -> dict[Key, UUID]:
    """Of the runs that may be the same, the one that names it, or else the first."""
    chosen: dict[UUID, Key] = {}
    for key in sorted(documents, key=lambda key: (found[key].named is None, documents[key].first, key)):
        run_id = found[key].one
        if run_id is not None:
            chosen.setdefault(run_id, key)
    return {key: run_id for run_id, key in chosen.items()}


def _ids(key: Key, ids: Mapping[Key, UUID]) -> tuple[UUID, ...]:
    return (ids[key],) if key in ids else own_ids(key)
