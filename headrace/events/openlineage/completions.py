"""Runs elsewhere that have completed: what triggers wait for, and the versions that Dagster is to be told of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.naming import Name
from headrace.catalog.processes import lock as lock_reports
from headrace.database.jsonb import jsonb
from headrace.events.openlineage.documents import Document
from headrace.events.openlineage.model import AnyEvent, EventType, RunEvent
from headrace.events.openlineage.sql import statement

Key = tuple[str, str]  # a run as reported, and its process


def complete(
    cursor: Cursor[Any],
    organisation: UUID,
    events: Iterable[AnyEvent],
    processes: Mapping[Name, UUID],
    runs: Mapping[UUID, Document],
    new_versions: frozenset[UUID],
) -> None:
    """Keep the completions that the events tell of, and have Dagster told of what they published.

    A run completes once, by the first event that says so and is no history; what it is found out later to have written
    is told of then. One that turns out to have ended otherwise has not completed. Told are processes and datasets that
    Dagster knows by a key, and none of other names. Runs below one of ours are told of by that.

    runs: the documents of the runs that the events are of. new_versions: those that were not there before.
    """
    done = dict(_completed(runs))
    said = _said(events, processes)
    rows = [{**row, "historical": said.get(key)} for key, row in done.items()]
    ended = {(each["run"], each["job"]) for each in runs.values() if "ended" in each}
    otherwise = [_event_key(key) for key in sorted(ended - done.keys())]
    if not rows and not otherwise:
        return
    lock_reports(cursor)
    if otherwise:
        statement("openlineage_uncompleted").execute(
            cursor, {"organisation": organisation, "completions": otherwise}
        )
    kept = statement("openlineage_completions").execute(
        cursor, {"organisation": organisation, "completions": jsonb(rows)}
    )
    statement("openlineage_pending_materializations").execute(
        cursor,
        {
            "organisation": organisation,
            "completions": [row["event_key"] for row in done.values()],
            "fresh": [row["event_key"] for row in kept],
            "versions": list(new_versions),
        },
    )


def _completed(runs: Mapping[UUID, Document]) -> Iterator[tuple[Key, dict[str, Any]]]:
    for run_id, document in runs.items():
        ended, facets = document.get("ended"), document["facets"]
        parent = facets["parent"][2] if "parent" in facets else None
        if not ended or ended[2] != EventType.COMPLETE or (parent is not None and parent["own"]):
            continue
        key = (document["run"], document["job"])
        nominal = facets["nominalTime"][2] if "nominalTime" in facets else None
        yield (
            key,
            {
                "event_key": _event_key(key),
                "run_id": run_id,
                "process_id": document["job"],
                "run": document["run"],
                "at": ended[0],
                "partition_key": (nominal or {}).get("nominalStartTime", ""),
            },
        )


def _event_key(key: Key) -> str:
    return "/".join(("openlineage", *key))


def _said(events: Iterable[AnyEvent], processes: Mapping[Name, UUID]) -> dict[Key, bool]:
    """The runs that these events say have completed, and whether all that say so are history."""
    found: dict[Key, bool] = {}
    for event in events:
        if isinstance(event, RunEvent) and event.event_type is EventType.COMPLETE:
            key = (str(event.run_id), str(processes[event.job.name]))
            found[key] = found.get(key, True) and event.historical
    return found
