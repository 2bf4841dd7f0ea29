"""The runs of events: their documents, and the rows of runs, attempts, used datasets and edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.events.reports import Processes, reports_of_runs, run_updates
from headrace.events.run_fold import fold
from headrace.events.runs import write_runs
from headrace.openlineage.documents import Document, merged, stored_document
from headrace.openlineage.outlines import Edge, edges, uses
from headrace.openlineage.run_fold import fold_document, with_facets
from headrace.openlineage.scheduler_runs import Key, same_runs
from headrace.openlineage.sql import statement

_MAX_DOCUMENTS = 1000  # runs per process that are checked for whether they still show an edge
_DOCUMENTS = """
SELECT run_id, reported_run_id, process_id, document, native
FROM catalog.openlineage_run
WHERE organisation_id = %s AND reported_run_id = ANY (%s)
"""
# Who has an id: another organisation, a scheduler's run, a run of events (perhaps reported with another id), or one of
# Headrace's own runs, which report themselves.
_OWNERS = """
SELECT run.run_id, run.process_id, run.organisation_id = %s AS ours, run.facets_json ? 'external_run' AS scheduled,
       observed.reported_run_id, observed.process_id AS observed_process_id
FROM catalog.process_run run
LEFT JOIN catalog.openlineage_run observed ON observed.run_id = run.run_id AND NOT observed.native
WHERE run.run_id = ANY (%s)
"""
_OTHERS = """
SELECT document FROM catalog.openlineage_run
WHERE process_id = ANY (%s) AND last_at >= coalesce(%s::timestamptz, '-infinity')
ORDER BY last_at DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """The current documents of external runs.

    known: the runs that were known before, by their ids at that time. numbers: the run numbers of scheduler runs.
    """

    runs: Mapping[UUID, Document]
    known: frozenset[UUID]
    former: frozenset[UUID]
    numbers: Mapping[UUID, str | None] = field(default_factory=dict)


NOTHING = StoredRuns({}, frozenset(), frozenset())


def store(
    cursor: Cursor[Any],
    organisation: UUID,
    reported: Mapping[Key, Document],
    jobs: frozenset[UUID],
    scheduled: Collection[UUID] = (),
    taken: Collection[UUID] = (),
) -> StoredRuns:
    """Merge what is reported into what is known, and bring the rows to what it comes to.

    A run that a scheduler reports too has the scheduler's id, state and times; facets, inputs and outputs come from
    here.

    reported: the documents by run and process; of what jobs say of themselves by process twice (these are in `jobs`).
    scheduled: the processes that may be a scheduler's. taken: ids of runs that a scheduler has just reported.
    """
    known: dict[Key, dict[str, Any]] = {
        (row["reported_run_id"], row["process_id"]): row
        for row in cursor.execute(_DOCUMENTS, [organisation, list({run for run, _ in reported})])
    }
    # A run with the id that it reports keeps it, unless a scheduler's run takes it.
    settled = {run for (run, _), row in known.items() if row["run_id"] == run and not row["native"]}
    asked = {run for run, _ in reported} - jobs - (settled - {*taken})
    owners, native = _owners(cursor, organisation, asked, known.keys() | reported.keys())
    native |= {run for (run, _), row in known.items() if row["native"]}
    before = {key: stored_document(row["document"]) for key, row in known.items()}
    after = before | {
        key: merged(before[key], document) if key in before else document
        for key, document in reported.items()
    }
    same = same_runs(
        cursor,
        organisation,
        {key: each for key, each in after.items() if key[0] not in jobs and key[0] not in native},
        {key: row["run_id"] for key, row in known.items()},
        {*scheduled, *(process for _, process in known.keys() - reported.keys())},
    )
    if others := same.others.keys() - reported.keys():
        every = {**{key: same.others[key] for key in others}, **reported}
        processes = {*scheduled, *(process for _, process in others)}
        return store(cursor, organisation, every, jobs, processes, taken)
    ids = _ids(after, owners | {run_id: key for key, run_id in same.ids.items()})
    ids |= {key: run_id for key, run_id in same.ids.items() if key in after}
    moved = {key for key, row in known.items() if row["run_id"] != ids[key]}
    former = frozenset(known[key]["run_id"] for key in moved)
    if former:
        statement("forget").execute(cursor, {"organisation": organisation, "runs": list(former)})
    written = {key: after[key] for key in sorted(reported.keys() | moved)}
    statement("documents").execute(
        cursor,
        {
            "organisation": organisation,
            "documents": jsonb(
                [
                    {
                        "run_id": ids[key],
                        "reported_run_id": key[0],
                        "named_run_id": same.named.get(key),
                        "process_id": key[1],
                        "document": document,
                        "native": key[0] in native,
                        "first_at": document.first,
                        "last_at": document.last,
                    }
                    for key, document in written.items()
                ]
            ),
        },
    )
    foreign = {key: document for key, document in written.items() if key[0] not in native}
    runs = {ids[key]: document for key, document in foreign.items() if key[0] not in jobs}
    used = [
        row for key, document in written.items() if key[0] not in jobs for row in uses(ids[key], document)
    ]
    write_runs(
        cursor,
        organisation,
        [fold_document(run_id, document) for run_id, document in runs.items() if run_id not in same.reported],
        [ids[key] for key in foreign if key in known],
    )
    if shared := former | (runs.keys() & same.reported.keys()):
        _write_shared_runs(cursor, organisation, shared, runs)
    if used:
        statement("uses").execute(cursor, {"organisation": organisation, "uses": jsonb(used)})
    _store_edges(cursor, organisation, before, foreign)
    before_ids = frozenset(row["run_id"] for row in known.values())
    return StoredRuns(runs, before_ids, former, same.reported)


def _write_shared_runs(
    cursor: Cursor[Any], organisation: UUID, run_ids: Collection[UUID], documents: Mapping[UUID, Document]
) -> None:
    """Write again the runs that a scheduler reports, with the facets of the document that is now theirs, if any."""
    reports = reports_of_runs(cursor, run_ids)
    processes = Processes()
    processes.find(cursor, [each.event for each in reports])
    updates = run_updates(reports, processes)
    runs = [with_facets(fold(of_run), documents.get(run_id)) for run_id, of_run in updates.items()]
    write_runs(cursor, organisation, runs, updates.keys())


def _owners(
    cursor: Cursor[Any], organisation: UUID, run_ids: Collection[UUID], decided: Collection[Key]
) -> tuple[dict[UUID, Key | None], set[UUID]]:
    """Return the owners of those of these ids that are taken (None: not one with that id), and Headrace's own runs.

    decided: runs whose ids are being decided now, and so take none.
    """
    owners: dict[UUID, Key | None] = {}
    native: set[UUID] = set()
    for row in cursor.execute(_OWNERS, [organisation, list(run_ids)]) if run_ids else ():
        run_id, observed = row["run_id"], (row["reported_run_id"], row["observed_process_id"])
        is_observed = row["reported_run_id"] is not None
        if not row["ours"] or (is_observed and observed not in decided):
            owners[run_id] = None
        elif row["scheduled"]:
            owners[run_id] = (run_id, row["process_id"])
        elif not is_observed:
            owners[run_id] = (run_id, row["process_id"])
            native.add(run_id)
    return owners, native


def _ids(documents: Mapping[Key, Document], owners: Mapping[UUID, Key | None]) -> dict[Key, UUID]:
    """Return the ids of runs. If jobs share a run id, its owner keeps it: the scheduler's run, the process that ran it
    here, or the first reported.
    """
    first = dict(owners)
    for key in sorted(documents, key=lambda key: (documents[key].first, key)):
        first.setdefault(key[0], key)
    return {key: key[0] if first[key[0]] == key else uuid5(key[0], str(key[1])) for key in documents}


def store_edges(cursor: Cursor[Any], organisation: UUID, found: Mapping[Edge, str]) -> None:
    """Add the edges, or extend them to an earlier start."""
    if found:
        statement("edges").execute(cursor, {"organisation": organisation, "edges": jsonb(edge_rows(found))})


def _store_edges(
    cursor: Cursor[Any], organisation: UUID, before: Mapping[Key, Document], after: Mapping[Key, Document]
) -> None:
    found: dict[Edge, str] = {}
    no_longer: dict[Edge, str] = {}
    processes: set[str] = set()
    for key, document in after.items():
        shown = edges(document)
        for edge, at in shown.items():
            found[edge] = min(found.get(edge, at), at)
        for edge, at in edges(before[key]).items() if key in before else ():
            if edge not in shown or at < shown[edge]:
                no_longer[edge] = min(no_longer.get(edge, at), at)
                processes.add(document.job)
    if no_longer:
        _end(cursor, no_longer, processes)
    store_edges(cursor, organisation, found)


def _end(cursor: Cursor[Any], no_longer: Mapping[Edge, str], processes: Iterable[str]) -> None:
    """Retract edges that a run turned out not to show, or only later, unless other runs of the process show them."""
    rows = edge_rows(no_longer)
    doubted = (
        statement("edges_doubted")
        .execute(cursor, {"edges": jsonb([{**row, "place": place} for place, row in enumerate(rows)])})
        .fetchall()
    )
    if not doubted:
        return
    # A run that ended before has no information about them. So only the newest runs of a job are checked, however many
    # it has had.
    since = min(row["valid_from"] for row in doubted)
    documents = documents_of(cursor, [UUID(each) for each in processes], since)
    if documents is None:
        return
    still: dict[Edge, str] = {}
    for document in documents:
        for edge, at in edges(document).items():
            still[edge] = min(still.get(edge, at), at)
    gone = [rows[place] for place in sorted({row["place"] for row in doubted})]
    statement("edges_end").execute(cursor, {"gone": jsonb(gone), "still": jsonb(edge_rows(still))})


def documents_of(
    cursor: Cursor[Any], processes: Sequence[UUID], since: datetime | None = None
) -> list[Document] | None:
    """Return the documents of runs and designs of these processes; None if there are too many to check each time.

    since: skips those with all reports before that time.
    """
    rows = cursor.execute(_OTHERS, [list(processes), since, _MAX_DOCUMENTS]).fetchall()
    return None if len(rows) == _MAX_DOCUMENTS else [stored_document(row["document"]) for row in rows]


def edge_rows(found: Mapping[Edge, str | None]) -> list[dict[str, Any]]:
    """Return the rows for statements about edges, in order."""
    return [
        {
            "source_type": edge.source_type,
            "source": edge.source,
            "target_type": edge.target_type,
            "target": edge.target,
            "edge_role": edge.role,
            "process_id": edge.by or None,
            "at": at,
        }
        for edge, at in sorted(found.items(), key=lambda each: each[0])
    ]
