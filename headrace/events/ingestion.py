"""Ingesting what other systems report of their runs: idempotent, in any order, a whole batch in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.processes import ProcessName, find_processes, lock, lock_events
from headrace.catalog.records import Technology
from headrace.catalog.run_events import RunEvent
from headrace.database.connection import transaction
from headrace.database.ids import external_run_id, organisation_id
from headrace.database.jsonb import jsonb
from headrace.errors import CatalogUnavailable
from headrace.events.projection import project
from headrace.events.reports import Processes, StoredReport, name_of, store_reports
from headrace.events.run_fold import is_completion
from headrace.events.sql import statement
from headrace.events.value_errors import VALUE_ERRORS
from headrace.events.versions import NOT_MEASURED, VersionPlace
from headrace.settings import settings

BATCH_SIZE = 2000  # events of a transaction


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a batch came to.

    new: events that were not there before, or there as history only; repeated: the others. runs: how many runs have
    changed. versions: the dataset versions that are new. unscanned: the keys of processes that were never heard of.
    assumed: schedulers of which nothing was scanned, and whose jobs are taken for those that were scanned without one.
    drafts: the undeclared datasets. computed_here: datasets that were reported, and that Spark computes
    here; such reports make no versions. not_measured: outputs that were to be measured and could not be, a line each.
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

    def __add__(self, other: Ingested) -> Ingested:
        return Ingested(
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


def ingest(engine: Engine, events: Sequence[RunEvent]) -> Ingested:
    """Store the events, and bring the runs, attempts and dataset versions that they bear on up to date.

    All in one transaction: a thousand events at a time are a good measure. An event whose key is known changes nothing.
    A run is what all of its events together come to, so that their order does not matter. A genuine success publishes
    its outputs, unless what is published was produced later. Events of one call that have the same key count once.

    Runs of one organisation are ingested one batch after the other: `sequence` is in the order in which events become
    visible.
    """
    unique: dict[str, RunEvent] = {}
    for event in events:
        if event.key not in unique or not event.historical:
            unique[event.key] = event
    if not unique:
        return Ingested()
    with transaction(engine) as cursor:
        lock_events(cursor, organisation_id())
        lock(cursor)
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [organisation_id(), settings().organisation],
        )
        processes = Processes()
        processes.find(cursor, unique.values())
        stored = store_reports(cursor, unique.values(), processes)
        news = stored.news
        came_to = project(cursor, stored, processes)
        _queue_materializations(cursor, news, came_to.versions.places)
    return Ingested(
        new=len(news),
        repeated=len(events) - len(news),
        runs=came_to.runs,
        versions=came_to.versions.new,
        unscanned=tuple(sorted(processes.unscanned)),
        assumed=processes.assumed(),
        drafts=came_to.versions.drafts,
        computed_here=came_to.versions.computed_here,
        not_measured=tuple(_not_measured(news)),
    )


def ingest_each(engine: Engine, events: Sequence[RunEvent]) -> tuple[Ingested, list[tuple[RunEvent, str]]]:
    """As `ingest`, batch by batch; beside it the events that have a value which the database refuses, and why.

    Where a transaction fails because of a value, its halves are ingested, until the one that is to blame is alone.
    """
    if len(events) > BATCH_SIZE:
        return _ingest_parts(engine, events, BATCH_SIZE)
    try:
        return ingest(engine, events), []
    except (CatalogUnavailable, *VALUE_ERRORS) as error:
        # What was too long for an index is an "operational" error to the driver, as a lost connection is.
        cause = error.__cause__ if isinstance(error, CatalogUnavailable) else error
        if not isinstance(cause, VALUE_ERRORS):
            raise
        if len(events) > 1:
            return _ingest_parts(engine, events, (len(events) + 1) // 2)
        return Ingested(), [(events[0], f"the catalog rejected it: {str(cause).strip().splitlines()[0]}")]


def run_ids(engine: Engine, events: Sequence[RunEvent]) -> list[UUID | None]:
    """The run that each event is of once it is ingested; None for what is reported of a dataset alone."""
    own = _own_instances(engine, {name_of(event) for event in events if event.process})
    return [
        external_run_id(name[0], own[name], name[2], event.run or event.key) if event.process else None
        for event in events
        for name in [name_of(event)]
    ]


def process_keys(engine: Engine, events: Sequence[RunEvent]) -> list[str | None]:
    """The process that each event is of; None for one that is not known, and for a dataset that is reported alone."""
    names = {name_of(event) for event in events if event.process}
    with transaction(engine) as cursor:
        found = find_processes(cursor, organisation_id(), names, make=False)
    return [found[name]["process_key"] if (name := name_of(event)) in found else None for event in events]


def run_id_of(engine: Engine, technology: Technology, instance: str, process: str, run: str) -> UUID:
    """The run that another system knows as `run` of its process, whether it has been heard of or not."""
    name = (str(technology), instance, process)
    return external_run_id(name[0], _own_instances(engine, {name})[name], process, run)


def _own_instances(engine: Engine, names: set[ProcessName]) -> dict[ProcessName, str]:
    """The scheduler that the catalog knows each process under."""
    with transaction(engine) as cursor:
        found = find_processes(cursor, organisation_id(), names, make=False)
    return {name: found[name]["own_instance"] if name in found else name[1] for name in names}


def _ingest_parts(
    engine: Engine, events: Sequence[RunEvent], size: int
) -> tuple[Ingested, list[tuple[RunEvent, str]]]:
    came_to, refused = Ingested(), list[tuple[RunEvent, str]]()
    for begin in range(0, len(events), size):
        ingested, others = ingest_each(engine, events[begin : begin + size])
        came_to += ingested
        refused += others
    return came_to, refused


def _not_measured(news: Iterable[StoredReport]) -> Iterator[str]:
    for report in news:
        for output in report.event.outputs:
            if NOT_MEASURED in output.metadata:
                why = output.metadata[NOT_MEASURED]
                yield f"{report.event.origin}: {output.dataset} was not measured: {why}"


def _queue_materializations(
    cursor: Cursor[Any], news: Sequence[StoredReport], places: Mapping[str, Sequence[VersionPlace]]
) -> None:
    """Queue the genuine successes that are no history, and the versions that they published, for Dagster."""
    completions: list[dict[str, Any]] = []
    for report in news:
        event = report.event
        if event.historical or not is_completion(event):
            continue
        common = {"event_key": event.key, "at": event.at, "run_id": report.run_id}
        if report.process_id is not None:
            subject = {"subject_type": "PROCESS", "subject_id": report.process_id, "version_id": None}
            completions.append({**common, **subject, "partition_key": ""})
        completions += [
            {
                **common,
                "subject_type": "DATASET",
                "subject_id": place.dataset_id,
                "version_id": place.version_id,
                "partition_key": place.partition_key,
            }
            for place in places.get(event.key, ())
        ]
    if completions:
        parameters = {"organisation": organisation_id(), "completions": jsonb(completions)}
        statement("ingest_pending_materializations").execute(cursor, parameters)
