"""Completions of external runs: for triggers, and for reporting their versions to Dagster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.naming import Name
from headrace.catalog.processes import lock as lock_reports
from headrace.database.jsonb import jsonb
from headrace.events.openlineage.documents import Document
from headrace.events.openlineage.model import AnyEvent, EventType, RunEvent
from headrace.events.openlineage.runs import Stored
from headrace.events.openlineage.sql import statement

Key = tuple[str, str]  # a run as reported, and its process


def complete(
    cursor: Cursor[Any],
    organisation: UUID,
    events: Iterable[AnyEvent],
    processes: Mapping[Name, UUID],
    runs: Stored,
    new_versions: frozenset[UUID],
) -> None:
    """Store the completions that the events report, and queue what they published for Dagster.

    A run completes once, by the first event that reports it and is not history; outputs discovered later are reported
    then. Dagster gets processes and datasets for which it has a key, and no other names. Child runs of Headrace's own
    runs are reported by those.

    runs: the runs of the events. new_versions: versions that did not exist before.
    """
    stored = store_completions(cursor, organisation, events, processes, runs)
    if stored is not None:
        statement("openlineage_pending_materializations").execute(
            cursor,
            {
                "organisation": organisation,
                "completions": stored.keys,
                "fresh": stored.fresh,
                "versions": list(new_versions),
            },
        )


@dataclass(frozen=True, slots=True)
class StoredCompletions:
    """The keys of completions, and of the new ones."""

    keys: list[str]
    fresh: list[str]


def store_completions(
    cursor: Cursor[Any],
    organisation: UUID,
    events: Iterable[AnyEvent],
    processes: Mapping[Name, UUID],
    runs: Stored,
    *,
    sequences: Mapping[str, int] | None = None,
) -> StoredCompletions | None:
    """Store the completions that the events report, and retract those of runs that turned out otherwise.

    sequences: the events' positions in the order of arrival by digest; looked up if not given.
    """
    done = dict(_completed(runs))
    reported = _reported(events, processes)
    rows = [{**row, **_place(reported.get(key), sequences or {})} for key, row in done.items()]
    ended = {_key(each) for each in runs.runs.values() if each.ended is not None}
    otherwise = [_event_key(key) for key in sorted(ended - done.keys())]
    if not rows and not otherwise:
        return None
    lock_reports(cursor)
    if otherwise:
        statement("openlineage_uncompleted").execute(
            cursor, {"organisation": organisation, "completions": otherwise}
        )
    fresh = statement("openlineage_completions").execute(
        cursor, {"organisation": organisation, "completions": jsonb(rows)}
    )
    return StoredCompletions([row["event_key"] for row in rows], [row["event_key"] for row in fresh])


def completes(event: AnyEvent) -> bool:
    """Return True if the event reports that a run has completed."""
    return isinstance(event, RunEvent) and event.event_type is EventType.COMPLETE


def _completed(runs: Stored) -> Iterator[tuple[Key, dict[str, Any]]]:
    for run_id, document in runs.runs.items():
        if document.ended is None or not document.is_complete or document.is_of_own_run:
            continue
        key = _key(document)
        yield (
            key,
            {
                "event_key": _event_key(key),
                "run_id": run_id,
                "process_id": document.job,
                "run": runs.numbers.get(run_id) or document.run,
                "at": document.ended.at,
                "moment": document.first,
                "partition_key": document.content("nominalTime").get("nominalStartTime", ""),
            },
        )


def _key(document: Document) -> Key:
    return str(document.run), document.job


def _event_key(key: Key) -> str:
    return "/".join(("openlineage", *key))


def _reported(events: Iterable[AnyEvent], processes: Mapping[Name, UUID]) -> dict[Key, RunEvent]:
    """Return the first event by which each run completes: a live one, if there is one."""
    found: dict[Key, RunEvent] = {}
    for event in events:
        if isinstance(event, RunEvent) and completes(event):
            key = (str(event.run_id), str(processes[event.job.name]))
            if key not in found or (found[key].historical and not event.historical):
                found[key] = event
    return found


def _place(event: RunEvent | None, sequences: Mapping[str, int]) -> dict[str, Any]:
    """Return its position in the order of arrival, or the expression for an event stored in the same statement."""
    if event is None:
        return dict.fromkeys(("historical", "event_time", "digest", "known_sequence"))
    return {
        "historical": event.historical,
        "event_time": event.at,
        "digest": event.digest,
        "known_sequence": sequences.get(event.digest),
    }
