"""Completions of runs of OpenLineage events: for triggers, and for reporting their versions to Dagster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.locks import lock_completions
from headrace.catalog.naming import Name
from headrace.events.completions import store_completions
from headrace.events.pending_materializations import queue_materializations
from headrace.events.run_fold import RunCompletion
from headrace.openlineage.model import AnyEvent, EventType, RunEvent
from headrace.openlineage.runs import StoredRuns

_VERSIONS = """
SELECT dataset_version_id, produced_by_run_id FROM catalog.dataset_version
WHERE produced_by_run_id = ANY (%s) AND starts_with(idempotency_key, 'openlineage/')
"""


def complete(
    cursor: Cursor[Any],
    organisation: UUID,
    events: Iterable[AnyEvent],
    processes: Mapping[Name, UUID],
    runs: StoredRuns,
    *,
    sequences: Mapping[str, int],
    new_versions: Collection[UUID] = (),
    silent: bool = False,
) -> None:
    """Store the completions that the events report, retract those of runs that turned out otherwise, and queue for
    Dagster what was published.

    A run completes once, by the first event that reports it and is not history. Dagster gets all versions of a run that
    has just completed, and those discovered later. Child runs of Headrace's own runs are reported by those.

    runs: the runs of the events. sequences: the events' positions in the order of arrival, by digest. new_versions:
    versions that did not exist before. silent: queues nothing.
    """
    reported = _reported(events, processes)
    done = list(_completed(runs, reported, sequences))
    keys = {each.event_key for each in done}
    ended = {_event_key(each.run, each.job) for each in runs.runs.values() if each.ended is not None}
    if not ended:
        return
    lock_completions(cursor)
    fresh = store_completions(cursor, organisation, done, ended - keys)
    if silent or not (fresh or new_versions):
        return
    key_of = {each.run_id: each.event_key for each in done}
    versions = [
        (key, row["dataset_version_id"])
        for row in cursor.execute(_VERSIONS, [list(key_of)])
        for key in (key_of[row["produced_by_run_id"]],)
        if key in fresh or row["dataset_version_id"] in new_versions
    ]
    queue_materializations(cursor, organisation, fresh, versions)


def completes(event: AnyEvent) -> bool:
    """Return True if the event reports that a run has completed."""
    return isinstance(event, RunEvent) and event.event_type is EventType.COMPLETE


def _completed(
    runs: StoredRuns, reported: Mapping[str, RunEvent], sequences: Mapping[str, int]
) -> Iterator[RunCompletion]:
    for run_id, document in runs.runs.items():
        if document.ended is None or not document.is_complete or document.is_of_own_run:
            continue
        key = _event_key(document.run, document.job)
        event = reported.get(key)
        yield RunCompletion(
            event_key=key,
            sequence=sequences.get(event.digest) if event else None,
            run_id=run_id,
            process_id=UUID(document.job),
            run=runs.numbers.get(run_id) or document.run,
            attempt=1,
            status=EventType.COMPLETE,
            at=datetime.fromisoformat(document.ended.at),
            started_at=None,
            moment=datetime.fromisoformat(document.first),
            exit_code=None,
            machine=None,
            log_location=None,
            partition_key=document.content("nominalTime").get("nominalStartTime", ""),
            run_partition_key="",
            historical=event is None or event.historical,
        )


def _event_key(run: object, job: object) -> str:
    return f"openlineage/{run}/{job}"


def _reported(events: Iterable[AnyEvent], processes: Mapping[Name, UUID]) -> dict[str, RunEvent]:
    """Return the first event by which each run completes: a live one, if there is one."""
    found: dict[str, RunEvent] = {}
    for event in events:
        if isinstance(event, RunEvent) and completes(event):
            key = _event_key(event.run_id, processes[event.job.name])
            if key not in found or (found[key].historical and not event.historical):
                found[key] = event
    return found
