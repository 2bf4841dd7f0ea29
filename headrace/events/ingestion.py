"""Ingesting what other systems say of their runs: idempotent, in any order, a whole batch in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.processes import ProcessName, find_processes, lock
from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import Ending, RunEvent
from headrace.database.connection import transaction
from headrace.database.ids import external_run_id, organisation_id
from headrace.database.jsonb import jsonb
from headrace.errors import CatalogUnavailable
from headrace.events.run_fold import ExternalAttempt, ExternalRun, Said, external_run
from headrace.events.scheduler_events import Named, event_rows
from headrace.events.sql import statement
from headrace.events.versions import NOT_MEASURED, store_versions
from headrace.settings import settings

AT_ONCE = 2000  # events of a transaction
# What a value may cause that nobody has thought of: its event is left out, and the others go on.
UNTAKEABLE = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    ValueError,
    OverflowError,
    RecursionError,
)


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
    """Keep the events, and bring the runs, attempts and dataset versions that they bear on up to date.

    All in one transaction: a thousand events at a time are a good measure. An event whose key is known changes nothing.
    A run is what all of its events together come to, so that their order does not matter. A genuine success publishes
    its outputs, unless what is published was produced later. Events of one call that have the same key count once.

    Runs of one organisation are ingested one batch after the other: `sequence` of `reported_event` is in the order in
    which events become visible.
    """
    unique: dict[str, RunEvent] = {}
    for event in events:
        if event.key not in unique or not event.historical:
            unique[event.key] = event
    if not unique:
        return Ingested()
    with transaction(engine) as cursor:
        lock(cursor)
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [organisation_id(), settings().organisation],
        )
        names, unscanned = _processes(cursor, unique.values())
        rows = event_rows(unique.values(), names)
        kept = statement("ingest_events").execute(
            cursor, {"organisation": organisation_id(), "events": jsonb(rows)}
        )
        fresh = {row["event_key"] for row in kept}
        news = [row for row in rows if row["event_key"] in fresh]
        runs = _runs(cursor, {row["run_id"] for row in news} - {None}, fresh)
        published = store_versions(cursor, news)
        _queue_materializations(cursor, news, published.places)
    return Ingested(
        new=len(fresh),
        repeated=len(events) - len(fresh),
        runs=runs,
        versions=published.new,
        unscanned=unscanned,
        assumed=tuple(sorted({name[1] for name, own in names.instances.items() if own != name[1]})),
        drafts=published.drafts,
        computed_here=published.computed_here,
        not_measured=tuple(_not_measured(news)),
    )


def ingest_each(engine: Engine, events: Sequence[RunEvent]) -> tuple[Ingested, list[tuple[RunEvent, str]]]:
    """As `ingest`, AT_ONCE at a time; beside it the events that have a value which the database does not take, and why.

    Where a transaction fails because of a value, its halves are ingested, until the one that is to blame is alone.
    """
    if len(events) > AT_ONCE:
        return _ingest_parts(engine, events, AT_ONCE)
    try:
        return ingest(engine, events), []
    except (CatalogUnavailable, *UNTAKEABLE) as error:
        # What was too long for an index is an "operational" error to the driver, as a lost connection is.
        cause = error.__cause__ if isinstance(error, CatalogUnavailable) else error
        if not isinstance(cause, UNTAKEABLE):
            raise
        if len(events) > 1:
            return _ingest_parts(engine, events, (len(events) + 1) // 2)
        return Ingested(), [
            (events[0], f"the catalog does not take it: {str(cause).strip().splitlines()[0]}")
        ]


def run_ids(engine: Engine, events: Sequence[RunEvent]) -> list[UUID | None]:
    """The run that each event is of once it is ingested; None for what is said of a dataset alone."""
    own = _own_instances(engine, {_name(event) for event in events if event.process})
    return [
        external_run_id(name[0], own[name], name[2], event.run or event.key) if event.process else None
        for event in events
        for name in [_name(event)]
    ]


def process_keys(engine: Engine, events: Sequence[RunEvent]) -> list[str | None]:
    """The process that each event is of; None for one that is not known, and for what is said of a dataset alone."""
    names = {_name(event) for event in events if event.process}
    with transaction(engine) as cursor:
        found = find_processes(cursor, organisation_id(), names, make=False)
    return [found[name]["process_key"] if (name := _name(event)) in found else None for event in events]


def run_id_of(engine: Engine, technology: Technology, instance: str, process: str, run: str) -> UUID:
    """The run that another system knows as `run` of its process, whether it has been heard of or not."""
    name = (str(technology), instance, process)
    return external_run_id(name[0], _own_instances(engine, {name})[name], process, run)


def _name(event: RunEvent) -> ProcessName:
    return str(event.technology), event.instance, event.process


def _own_instances(engine: Engine, names: set[ProcessName]) -> dict[ProcessName, str]:
    """The scheduler that the catalog knows each process under."""
    with transaction(engine) as cursor:
        found = find_processes(cursor, organisation_id(), names, make=False)
    return {name: found[name]["own_instance"] if name in found else name[1] for name in names}


def derive_again(cursor: Cursor[Any], run_ids: set[UUID]) -> int:
    """Bring these runs up to date with all that is kept of what was said of them; how many they are."""
    lock(cursor)
    return _runs(cursor, run_ids, set())


def _ingest_parts(
    engine: Engine, events: Sequence[RunEvent], size: int
) -> tuple[Ingested, list[tuple[RunEvent, str]]]:
    came_to, refused = Ingested(), list[tuple[RunEvent, str]]()
    for begin in range(0, len(events), size):
        ingested, others = ingest_each(engine, events[begin : begin + size])
        came_to += ingested
        refused += others
    return came_to, refused


def _not_measured(news: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in news:
        for output in row["outputs"]:
            if NOT_MEASURED in output.metadata:
                yield f"{row['origin']}: {output.dataset} was not measured: {output.metadata[NOT_MEASURED]}"


def _processes(cursor: Cursor[Any], events: Iterable[RunEvent]) -> tuple[Named, tuple[str, ...]]:
    """The processes that the events name, and their boxes; the keys of those that were never heard of."""
    wanted = {_name(event) for event in events if event.process}
    wanted |= {(str(e.technology), e.instance, e.box) for e in events if e.process and e.box}
    found = find_processes(cursor, organisation_id(), wanted, make=True)
    boxes = {
        name: (row["technology"], row["own_instance"], row["box"])
        for name, row in found.items()
        if row["box"]
    }
    others = set(boxes.values()) - found.keys()
    found |= find_processes(cursor, organisation_id(), others, make=True)
    named = Named(
        ids={name: row["process_id"] for name, row in found.items()},
        keys={name: row["process_key"] for name, row in found.items()},
        instances={name: row["own_instance"] for name, row in found.items()},
        boxes={name: found[box]["process_id"] for name, box in boxes.items()},
    )
    return named, tuple(sorted(row["process_key"] for row in found.values() if row["made"]))


def _runs(cursor: Cursor[Any], run_ids: set[UUID], fresh: set[str]) -> int:
    """Derive these runs from all their events, and store them; how many they are."""
    if not run_ids:
        return 0
    grouped: defaultdict[UUID, list[Said]] = defaultdict(list)
    for row in statement("reported_events").execute(cursor, {"run_ids": list(run_ids)}):
        ending = row["ending"] and Ending(row["ending"])
        grouped[row["run_id"]].append(Said(**{**row, "state": RunState(row["state"]), "ending": ending}))
    known = [run_id for run_id, said in grouped.items() if any(each.event_key not in fresh for each in said)]
    runs = [external_run(said) for said in grouped.values()]
    starts = {
        row["run_id"]: row["start_ts"]
        for row in cursor.execute(
            "SELECT run_id, start_ts FROM catalog.process_run WHERE run_id = ANY (%s)", [known]
        )
    }
    organisation = organisation_id()
    statement("ingest_runs").execute(
        cursor, {"organisation": organisation, "runs": jsonb([_fields(run) for run in runs]), "known": known}
    )
    attempts = [
        {**_fields(attempt), "run_id": run.run_id, "run_start_ts": run.start_ts}
        for run in runs
        for attempt in run.attempts
    ]
    statement("ingest_attempts").execute(cursor, {"organisation": organisation, "attempts": jsonb(attempts)})
    bounds = [
        {"run_id": run.run_id, "process_id": run.process_id, "start_ts": run.start_ts, "since": since}
        for run in runs
        for since in {run.start_ts, starts.get(run.run_id, run.start_ts)}
    ]
    statement("ingest_parents").execute(cursor, {"bounds": jsonb(bounds)})
    return len(runs)


def _fields(of: ExternalRun | ExternalAttempt) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__slots__ if name != "attempts"}


def _queue_materializations(
    cursor: Cursor[Any], news: Sequence[Mapping[str, Any]], places: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Queue the genuine successes that are no history, and the versions that they published, for Dagster."""
    completions: list[dict[str, Any]] = []
    for row in news:
        if row["historical"] or row["ending"] != Ending.GENUINE or row["state"] != RunState.SUCCESS:
            continue
        said = {"event_key": row["event_key"], "at": row["at"], "run_id": row["run_id"]}
        if row["process_id"] is not None:
            subject = {"subject_type": "PROCESS", "subject_id": row["process_id"], "version_id": None}
            completions.append({**said, **subject, "partition_key": ""})
        completions += [{**said, **place} for place in places.get(row["event_key"], ())]
    if completions:
        parameters = {"organisation": organisation_id(), "completions": jsonb(completions)}
        statement("ingest_pending_materializations").execute(cursor, parameters)
