"""Ingest run reports of other systems: idempotent, in any order, a batch per transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from pydantic_core import from_json
from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.access.redaction import has_secrets, redacted, scrubbed
from headrace.catalog.locks import lock_completions, lock_events
from headrace.catalog.organisations import create_organisation
from headrace.catalog.processes import ProcessName, find_processes
from headrace.catalog.run_events import RunEvent
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.ids import external_run_id
from headrace.database.jsonb import encoded
from headrace.errors import CatalogUnavailable
from headrace.events.pending_materializations import queue_materializations
from headrace.events.reports import Processes, StoredReport, name_of, store_reports
from headrace.events.run_fold import is_completion
from headrace.events.scheduler_versions import NOT_MEASURED
from headrace.events.value_errors import VALUE_ERRORS
from headrace.job_reports.gates import gated
from headrace.job_reports.projection import project
from headrace.job_reports.reported_names import with_processes

BATCH_SIZE = 2000  # events per transaction


@dataclass(frozen=True, slots=True)
class IngestionResult:
    """Result of ingesting a batch.

    new: events that were unknown, or known as history only; repeated: the others. runs: number of changed runs.
    versions: new dataset versions. unscanned: keys of processes that were unknown. assumed: schedulers that were never
    scanned, whose jobs are matched with those scanned without an instance. drafts: undeclared datasets. computed_here:
    reported datasets that Spark computes here; such reports create no versions. not_measured: outputs that could not be
    measured as requested, one line each.
    """

    new: int = 0
    repeated: int = 0
    runs: int = 0
    versions: int = 0
    unscanned: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    computed_here: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()

    def __add__(self, other: IngestionResult) -> IngestionResult:
        return IngestionResult(
            self.new + other.new,
            self.repeated + other.repeated,
            self.runs + other.runs,
            self.versions + other.versions,
            self.unscanned + other.unscanned,
            tuple(sorted({*self.assumed, *other.assumed})),
            self.drafts + other.drafts,
            self.computed_here + other.computed_here,
            self.not_measured + other.not_measured,
        )


def ingest(engine: Engine, events: Sequence[RunEvent]) -> IngestionResult:
    """Store the events, and update the runs, attempts and dataset versions that they affect.

    All in one transaction; use about a thousand events per call. An event with a known key changes nothing. A run is
    derived from all of its events, so their order does not matter. A genuine success publishes its outputs, unless the
    published version was produced later. Events of one call with the same key count once.

    Batches of one organisation are ingested one after another: `sequence` is the order in which events become visible.
    """
    unique: dict[str, RunEvent] = {}
    for event in _without_secrets(events):
        if event.key not in unique or not event.historical:
            unique[event.key] = event
    if not unique:
        return IngestionResult()
    with garbage_collection.paused(), transaction(engine) as cursor:
        lock_events(cursor, current_context().organisation_id)
        lock_completions(cursor)
        create_organisation(cursor)
        processes = Processes()
        processes.find(cursor, unique.values())
        stored = store_reports(cursor, unique.values(), processes)
        news = stored.news
        runs, versions = project(cursor, stored, processes)
        fresh = [report.event.key for report in news if is_completion(report.event)]
        queue_materializations(cursor, current_context().organisation_id, fresh, versions.reported)
    return IngestionResult(
        new=len(news),
        repeated=len(events) - len(news),
        runs=runs,
        versions=versions.new,
        unscanned=tuple(sorted(processes.unscanned)),
        assumed=processes.assumed(),
        drafts=versions.drafts,
        computed_here=versions.computed_here,
        not_measured=tuple(_not_measured(news)),
    )


def ingest_each(
    engine: Engine, events: Sequence[RunEvent]
) -> tuple[IngestionResult, list[tuple[RunEvent, str]]]:
    """Ingest events like `ingest`, batch by batch; also returns the events that were rejected, and why.

    One whose process is unclear is, one that a gate refuses, and one with a value that the database rejects.
    """
    events, unclear = with_processes(engine, events)
    allowed, forbidden = gated(engine, events)
    ingested, rejected = _ingest_each(engine, allowed)
    return ingested, [*unclear, *forbidden, *rejected]


def _ingest_each(
    engine: Engine, events: Sequence[RunEvent]
) -> tuple[IngestionResult, list[tuple[RunEvent, str]]]:
    """If a transaction fails because of a value, its halves are ingested, until the invalid event is isolated."""
    if len(events) > BATCH_SIZE:
        return _ingest_parts(engine, events, BATCH_SIZE)
    try:
        return ingest(engine, events), []
    except (CatalogUnavailable, *VALUE_ERRORS) as error:
        # The driver reports a value that is too long for an index as an "operational" error, like a lost connection.
        cause = error.__cause__ if isinstance(error, CatalogUnavailable) else error
        if not isinstance(cause, VALUE_ERRORS):
            raise
        if len(events) > 1:
            return _ingest_parts(engine, events, (len(events) + 1) // 2)
        return IngestionResult(), [
            (events[0], f"the catalog rejected it: {str(cause).strip().splitlines()[0]}")
        ]


def run_ids(engine: Engine, events: Sequence[RunEvent]) -> list[UUID | None]:
    """Return the run of each event after ingestion; None for events about a dataset only."""
    own = _own_instances(engine, {name_of(event) for event in events if event.process})
    return [
        external_run_id(name[0], own[name], name[2], event.run or event.key) if event.process else None
        for event in events
        for name in [name_of(event)]
    ]


def process_keys(engine: Engine, events: Sequence[RunEvent]) -> list[str | None]:
    """Return the process of each event; None if it is unknown, and for events about a dataset only."""
    names = {name_of(event) for event in events if event.process}
    with transaction(engine) as cursor:
        found = find_processes(cursor, current_context().organisation_id, names, make=False)
    return [found[name]["process_key"] if (name := name_of(event)) in found else None for event in events]


def _without_secrets(events: Sequence[RunEvent]) -> Sequence[RunEvent]:
    """Return the events redacted: what is not stored cannot be shown, or found by a search."""
    if not has_secrets(_text_of(*events)):  # searching a batch at once costs a third
        return events
    return [_redacted(event) if has_secrets(_text_of(event)) else event for event in events]


def _text_of(*events: RunEvent) -> str:
    written = [
        (
            event.reason,
            event.log_location,
            event.payload,
            [(output.location, output.metadata) for output in event.outputs],
        )
        for event in events
    ]
    return encoded(written).decode()


def _redacted(event: RunEvent) -> RunEvent:
    return replace(
        event,
        reason=event.reason and redacted(event.reason),
        log_location=event.log_location and redacted(event.log_location),
        payload=scrubbed(from_json(encoded(event.payload))),
        outputs=tuple(
            replace(
                output,
                location=output.location and redacted(output.location),
                metadata=scrubbed(from_json(encoded(output.metadata))),
            )
            for output in event.outputs
        ),
    )


def _own_instances(engine: Engine, names: set[ProcessName]) -> dict[ProcessName, str]:
    """Return the scheduler under which the catalog stores each process."""
    with transaction(engine) as cursor:
        found = find_processes(cursor, current_context().organisation_id, names, make=False)
    return {name: found[name]["own_instance"] if name in found else name[1] for name in names}


def _ingest_parts(
    engine: Engine, events: Sequence[RunEvent], size: int
) -> tuple[IngestionResult, list[tuple[RunEvent, str]]]:
    result, refused = IngestionResult(), list[tuple[RunEvent, str]]()
    for begin in range(0, len(events), size):
        ingested, others = _ingest_each(engine, events[begin : begin + size])
        result += ingested
        refused += others
    return result, refused


def _not_measured(news: Iterable[StoredReport]) -> Iterator[str]:
    for report in news:
        for output in report.event.outputs:
            if NOT_MEASURED in output.metadata:
                why = output.metadata[NOT_MEASURED]
                yield f"{report.event.origin}: {output.dataset} was not measured: {why}"
