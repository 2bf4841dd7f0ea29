"""Ingest OpenLineage events: the valid ones of a batch are stored and projected in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.catalog import jobs
from headrace.catalog.locks import lock_completions, lock_events
from headrace.catalog.naming import Name, own_namespace, placer
from headrace.catalog.organisations import create_organisation
from headrace.context import current_context, without_row_security
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded
from headrace.errors import CatalogError
from headrace.events.value_errors import VALUE_ERRORS
from headrace.openlineage import columns, facets, quality, runs, versions
from headrace.openlineage import completions as completing
from headrace.openlineage import job_events as designs
from headrace.openlineage.documents import (
    Document,
    Ids,
    LineageEntry,
    document_of,
    merged,
    sources,
    stamped,
)
from headrace.openlineage.limits import InvalidEvent
from headrace.openlineage.model import AnyEvent, DatasetEvent, JobEvent, Outcome, Result, RunEvent
from headrace.openlineage.naming import names
from headrace.openlineage.naming.mentions import jobs_of, mention
from headrace.openlineage.outlines import Edge, explicit
from headrace.openlineage.parsing import parse
from headrace.openlineage.scheduler_runs import Key
from headrace.openlineage.sql import statement

BATCH_SIZE = 500  # events per transaction


@dataclass(frozen=True, slots=True)
class Owner:
    """The organisation of the events, and the namespace of its own keys."""

    organisation: UUID
    namespace: str


@dataclass(frozen=True, slots=True)
class ParsedEvents:
    """Parsed events: the valid ones with their positions, and the rejected ones."""

    good: Sequence[AnyEvent]
    places: Sequence[int]
    refused: Sequence[Outcome]

    def outcomes(self, stored: Sequence[Outcome]) -> list[Outcome]:
        """Return one outcome per event, in the given order; stored: those of the valid ones."""
        placed = [replace(each, index=place) for place, each in zip(self.places, stored, strict=True)]
        return sorted([*self.refused, *placed], key=lambda outcome: outcome.index)


@dataclass(frozen=True, slots=True)
class Projection:
    """Result of the projection: the processes of jobs, the runs, the new versions."""

    processes: Mapping[Name, UUID]
    runs: runs.StoredRuns
    versions: frozenset[UUID]


def ingest(
    engine: Engine,
    organisation_id: UUID,
    events: Sequence[object],
    *,
    received_at: datetime | None = None,
    historical: bool = False,
) -> list[Outcome]:
    """Store the events (decoded JSON) and update the catalog; returns one Outcome per event, in order.

    Invalid events are rejected by index, and the others are stored, up to 500 per transaction. An event whose content
    is stored already changes nothing. The order of events does not matter. Check the caller's permission before: the
    projection may touch rows that the caller cannot see. historical: loaded as history; triggers no runs and no alerts.
    An event known as history that arrives again live counts as reported now.

    Raises CatalogUnavailable when the database is lost: all events may then be sent again, and stored ones are not
    duplicated.
    """
    read = read_events(events, received_at=received_at, historical=historical)
    return read.outcomes(store(engine, organisation_id, read.good))


def read_events(
    events: Sequence[object], *, received_at: datetime | None = None, historical: bool = False
) -> ParsedEvents:
    """Parse the events (decoded JSON) and collect the errors. Does not use the database."""
    good: dict[int, AnyEvent] = {}
    refused: list[Outcome] = []
    for index, body in enumerate(events):
        try:
            event = parse(body, received_at=received_at)
            good[index] = replace(event, historical=True) if historical else event
        except InvalidEvent as error:
            refused.append(Outcome(index, Result.REFUSED, error.reason, error.field))
    return ParsedEvents(list(good.values()), list(good), refused)


def store(engine: Engine, organisation_id: UUID, events: Sequence[AnyEvent]) -> list[Outcome]:
    """Store parsed events: the second half of `ingest`. Returns one Outcome per event, in order. Raises
    CatalogUnavailable."""
    numbered = list(enumerate(events))
    outcomes: list[Outcome] = []
    with without_row_security():
        for begin in range(0, len(events), BATCH_SIZE):
            outcomes += _store_all(engine, organisation_id, numbered[begin : begin + BATCH_SIZE])
    return outcomes


def owner_of(cursor: Cursor[Any], organisation_id: UUID) -> Owner:
    """Return the organisation; the configured one is created if missing. Raises CatalogError for an unknown one."""
    name = _name_of(cursor, organisation_id)
    if name is None and organisation_id == current_context().organisation_id:
        name = current_context().settings.organisation
        create_organisation(cursor)
    if name is None:
        raise CatalogError(
            f"there is no organisation {organisation_id}: create it before events are sent for it"
        )
    return Owner(organisation_id, own_namespace(name))


def project(
    cursor: Cursor[Any], owner: Owner, events: Sequence[AnyEvent], *, silent: bool = False
) -> Projection:
    """Update the catalog with these stored events. silent: no outbox messages about versions."""
    placed = placer(owner.namespace)
    named = names.resolve(cursor, owner.organisation, owner.namespace, mention(events, placed))
    processes = jobs.resolve(cursor, owner.organisation, owner.namespace, jobs_of(events))
    ids = Ids(placed, named.name_ids, processes)
    facets.store(cursor, owner.organisation, events, ids, {*named.merged.values()})
    stated: dict[Key, Document] = {}
    by_design: set[UUID] = set()
    for event in events:
        if isinstance(event, DatasetEvent):
            continue
        document = document_of(event, ids, owner.namespace)
        process = processes[event.job.name]
        subject = event.run_id if isinstance(event, RunEvent) else process
        if isinstance(event, JobEvent):
            by_design.add(process)
        key = (subject, process)
        stated[key] = merged(stated[key], document) if key in stated else document
    merged_into = {*named.merged.values()}
    stored = runs.NOTHING
    if stated:
        scheduled = {
            process for name, process in processes.items() if jobs.may_be_scheduled(name, owner.namespace)
        }
        stored = runs.store(cursor, owner.organisation, stated, frozenset(by_design), scheduled)
    designs.settle(cursor, owner.organisation, {process for _, process in stated}, merged_into)
    runs.store_edges(cursor, owner.organisation, _edges_of_dataset_events(events, ids))
    new = versions.store(cursor, owner.organisation, stored, merged_into, silent=silent)
    columns.store(
        cursor,
        owner.organisation,
        [each for event in events for each in columns.column_statements(event, ids)],
    )
    quality.store(cursor, owner.organisation, events, ids)
    return Projection(processes, stored, new)


def _name_of(cursor: Cursor[Any], organisation_id: UUID) -> str | None:
    row = cursor.execute(
        "SELECT name FROM catalog.organisation WHERE organisation_id = %s", [organisation_id]
    ).fetchone()
    return None if row is None else row["name"]


def _store_all(
    engine: Engine, organisation_id: UUID, events: Sequence[tuple[int, AnyEvent]]
) -> list[Outcome]:
    """Store all events; if PostgreSQL rejects one for an unforeseen reason, all except that one."""
    try:
        try:
            return _store(engine, organisation_id, events)
        except (
            UniqueViolation
        ):  # another organisation has just reported a run of the same id; now it is visible
            return _store(engine, organisation_id, events)
    except VALUE_ERRORS as error:
        if len(events) == 1:
            stated = str(error).strip().splitlines()[0]
            return [Outcome(events[0][0], Result.REFUSED, f"the catalog rejected it: {stated}", "")]
        middle = len(events) // 2
        return _store_all(engine, organisation_id, events[:middle]) + _store_all(
            engine, organisation_id, events[middle:]
        )


def _store(engine: Engine, organisation_id: UUID, events: Sequence[tuple[int, AnyEvent]]) -> list[Outcome]:
    # In a pipeline, writes are not waited for: PostgreSQL executes them while the next rows are built here.
    with garbage_collection.paused(), transaction(engine) as cursor, cursor.connection.pipeline():
        owner = owner_of(cursor, organisation_id)
        lock_events(cursor, organisation_id)
        fresh = _fresh(cursor, organisation_id, [event for _, event in events])
        if fresh:
            news = list(fresh.values())
            result = project(cursor, owner, news)
            if any(map(completing.completes, news)):
                lock_completions(
                    cursor
                )  # before they are numbered: readers follow the order of the completions
            sequences = _keep(cursor, owner, news, result.processes)
            completing.complete(
                cursor,
                organisation_id,
                news,
                result.processes,
                result.runs,
                sequences=sequences,
                new_versions=result.versions,
            )
    outcomes = []
    for index, event in events:
        run_id = event.run_id if isinstance(event, RunEvent) else None
        is_first = fresh.pop(event.digest, None) is not None
        outcomes.append(
            Outcome(
                index, Result.STORED if is_first else Result.REPEATED, run_id=run_id, warnings=event.warnings
            )
        )
    return outcomes


def _fresh(cursor: Cursor[Any], organisation_id: UUID, events: Sequence[AnyEvent]) -> dict[str, AnyEvent]:
    """Return the events that are new, or known as history only, by digest."""
    known = {
        row["content_hash"]
        for row in cursor.execute(
            "SELECT content_hash FROM unnest(%s::timestamptz[], %s::text[]) AS given (event_time, content_hash) "
            "JOIN catalog.run_event USING (event_time, content_hash) "
            "WHERE organisation_id = %s AND (NOT run_event.historical OR %s)",
            [
                [event.at for event in events],
                [event.digest for event in events],
                organisation_id,
                all(event.historical for event in events),
            ],
        )
    }
    return {event.digest: event for event in events if event.digest not in known}


def _keep(
    cursor: Cursor[Any], owner: Owner, events: Sequence[AnyEvent], processes: Mapping[Name, UUID]
) -> dict[str, int]:
    """Store the events as received; returns their positions in the order of arrival, by digest."""
    rows = [
        encoded(
            {
                "event_time": event.at,
                "content_hash": event.digest,
                "run_id": event.run_id if isinstance(event, RunEvent) else None,
                "process_id": None if isinstance(event, DatasetEvent) else processes[event.job.name],
                "event_type": _type(event),
                "historical": event.historical,
            }
        )
        for event in events
    ]
    # The event is JSON already: decoding and encoding it again would cost as much as everything else.
    whole = [
        row[:-1] + b',"payload":' + event.encoded + b"}" for row, event in zip(rows, events, strict=True)
    ]
    parameters = {
        "organisation": owner.organisation,
        "events": Jsonb(b"[" + b",".join(whole) + b"]", dumps=bytes),
    }
    stored = statement("events").execute(cursor, parameters)
    return {row["content_hash"]: row["sequence"] for row in stored}


def _type(event: AnyEvent) -> str:
    if isinstance(event, RunEvent):
        return event.event_type.value if event.event_type else "OTHER"
    return "DATASET" if isinstance(event, DatasetEvent) else "JOB"


def _edges_of_dataset_events(events: Sequence[AnyEvent], ids: Ids) -> dict[Edge, str]:
    """Return the edges in dataset events, which are not attributed to a job."""
    found: dict[Edge, str] = {}
    for event in events:
        if not isinstance(event, DatasetEvent):
            continue
        facet = event.dataset.facets.get("lineage")
        if facet is None or facet.deleted or not facet.modelled:
            continue
        entry = LineageEntry("DATASET", ids.dataset(event.dataset.name), sources(facet.content, ids, None))
        for edge in explicit(entry, ""):
            at = stamped(event.at)
            found[edge] = min(found.get(edge, at), at)
    return found
