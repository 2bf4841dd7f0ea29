"""Match runs of OpenLineage events with runs that a scheduler also reports, so that both are one.

A run of a scheduler's job is the scheduler's run whose number is in an event's facet `headrace_scheduler`, whose id it
has, or which is the only one that overlaps in time. Of several matching runs (a retry has its own id), the first is
chosen. All of this is a function of the known runs, so the order in which sources report does not matter: whenever a
run's match changes, the runs that may take its place are matched again.
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
from headrace.events.scheduler_events import SCHEDULER
from headrace.openlineage.documents import Document, stored_document
from headrace.openlineage.sql import statement

Key = tuple[UUID, UUID]  # a run's id as reported, and its process
MAX_RUN_TIME = timedelta(days=7)  # how long before an event an overlapping scheduler run may have started
_PROCESSES = """
SELECT process_id, technology, instance, external_name FROM catalog.process
WHERE organisation_id = %s AND process_id = ANY (%s) AND external_name IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class SameRuns:
    """The scheduler's run of each run, also of others that were compared.

    named: the scheduler's run whose number is in the events, reported or not. reported: the runs that the scheduler has
    reported, with their numbers. others: documents of other runs whose rows are assigned to a different run than they
    should be, or have the id of one of these scheduler's runs.
    """

    ids: Mapping[Key, UUID] = field(default_factory=dict)
    named: Mapping[Key, UUID | None] = field(default_factory=dict)
    reported: Mapping[UUID, str | None] = field(default_factory=dict)
    others: Mapping[Key, Document] = field(default_factory=dict)


def same_runs(
    cursor: Cursor[Any],
    organisation: UUID,
    documents: Mapping[Key, Document],
    stored: Mapping[Key, UUID],
    scheduled: Collection[UUID],
) -> SameRuns:
    """Find the scheduler's run of each of these runs.

    stored: their ids in the catalog, if present. scheduled: processes that may belong to a scheduler; others are
    skipped.
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
    possible |= {
        stored[key]
        for key in concerned
        if key in stored and (found[key].runs or stored[key] not in own_ids(key))
    }
    rows = {
        (row["reported_run_id"], row["process_id"]): row
        for row in _rivals(cursor, organisation, possible, concerned)
    }
    rivals = {key: stored_document(row["document"]) for key, row in rows.items()}
    candidates = {key: document for key, document in rivals.items() if key[1] in processes}
    found |= _candidates(cursor, organisation, candidates, processes)
    ids = _decided(concerned | candidates, found)
    others = {
        key: rivals[key]
        for key, row in rows.items()
        if key[0] in possible
        or ({row["run_id"], ids.get(key)} & possible and row["run_id"] not in _ids(key, ids))
    }
    return SameRuns(
        ids=ids,
        named={key: found[key].numbered for key in concerned},
        reported={run_id: number for each in found.values() for run_id, number in each.reported.items()},
        others=others,
    )


def overlapping(
    cursor: Cursor[Any], organisation: UUID, spans: Sequence[Mapping[str, Any]]
) -> dict[Key, Document]:
    """Return the documents of runs of these processes that are, or overlap with, one of a scheduler's runs.

    spans: `process_id`, `run_id`, `since` and `until` (None: running) of each.
    """
    rows = statement("overlapping_runs").execute(
        cursor, {"organisation": organisation, "spans": jsonb(spans)}
    )
    return {(row["reported_run_id"], row["process_id"]): stored_document(row["document"]) for row in rows}


def own_ids(key: Key) -> tuple[UUID, UUID]:
    """Return the ids of runs that are not a scheduler's: as reported, or computed if other jobs share them."""
    return key[0], uuid5(key[0], str(key[1]))


@dataclass(frozen=True, slots=True)
class _Candidates:
    """numbered, named: the run named by the events, by number, and by number or id. overlapping: runs at the same
    time."""

    numbered: UUID | None
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
            numbered[key],
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
    """Return the rows of the other runs that are, or may be, one of these."""
    wanted = list(run_ids)
    if not wanted:
        return []
    rows = statement("scheduler_run_candidates").execute(
        cursor, {"organisation": organisation, "runs": wanted}
    )
    return [row for row in rows if (row["reported_run_id"], row["process_id"]) not in without]


def _decided(documents: Mapping[Key, Document], found: Mapping[Key, _Candidates]) -> dict[Key, UUID]:
    """Choose among runs that may be the same: the one that names it, otherwise the first."""
    chosen: dict[UUID, Key] = {}
    for key in sorted(documents, key=lambda key: (found[key].named is None, documents[key].first, key)):
        run_id = found[key].one
        if run_id is not None:
            chosen.setdefault(run_id, key)
    return {key: run_id for run_id, key in chosen.items()}


def _ids(key: Key, ids: Mapping[Key, UUID]) -> tuple[UUID, ...]:
    return (ids[key],) if key in ids else own_ids(key)
