"""Reports of schedulers as stored: each once, as a raw event, with its run and process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.processes import ProcessName, find_processes
from headrace.catalog.run_events import RunEvent
from headrace.context import current_context
from headrace.database.ids import external_run_id
from headrace.database.jsonb import jsonb
from headrace.events.run_fold import RunUpdate
from headrace.events.scheduler_events import digest_of, openlineage_event, scheduler_report
from headrace.events.sql import statement


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A stored report.

    sequence: its position in the order of arrival. run_id, process_id: None for a report about a dataset only.
    """

    event: RunEvent
    digest: str
    run_id: UUID | None
    process_id: UUID | None
    sequence: int
    received_at: datetime


@dataclass(slots=True)
class Processes:
    """Processes by their scheduler names, as far as they were looked up.

    unscanned: the keys of those that were created because they were unknown.
    """

    _found: dict[ProcessName, Mapping[str, Any]] = field(default_factory=dict)
    unscanned: list[str] = field(default_factory=list)

    def find(self, cursor: Cursor[Any], events: Iterable[RunEvent]) -> None:
        """Look up the processes in the events, and their boxes; unknown ones are created."""
        wanted = {name_of(event) for event in events if event.process}
        wanted |= {_box_name(event) for event in events if event.process and event.box}
        self._find(cursor, wanted)
        self._find(cursor, {box for name in wanted if (box := self._scanned_box(name))})

    def row(self, event: RunEvent) -> Mapping[str, Any] | None:
        """Return process_id, process_key and own_instance of the event's process."""
        return self._found[name_of(event)] if event.process else None

    def run_id(self, event: RunEvent) -> UUID | None:
        """Return the run of the event, under the scheduler under which the catalog stores its process."""
        row = self.row(event)
        if row is None:
            return None
        technology, _, process = name_of(event)
        return external_run_id(technology, row["own_instance"], process, event.run or event.key)

    def box(self, event: RunEvent) -> UUID | None:
        """Return the box of the process: the one in the event, or the one from a scan."""
        name = _box_name(event) if event.box else self._scanned_box(name_of(event))
        return self._found[name]["process_id"] if name else None

    def assumed(self) -> tuple[str, ...]:
        """Return schedulers that were never scanned, whose jobs are matched with those scanned without an instance."""
        return tuple(sorted({name[1] for name, row in self._found.items() if row["own_instance"] != name[1]}))

    def _scanned_box(self, name: ProcessName) -> ProcessName | None:
        row = self._found[name]
        return (row["technology"], row["own_instance"], row["box"]) if row["box"] else None

    def _find(self, cursor: Cursor[Any], names: Collection[ProcessName]) -> None:
        found = find_processes(
            cursor, current_context().organisation_id, set(names) - self._found.keys(), make=True
        )
        self._found |= found
        self.unscanned += [row["process_key"] for row in found.values() if row["made"]]


def name_of(event: RunEvent) -> ProcessName:
    """Return the name of the event's process."""
    return str(event.technology), event.instance, event.process


def _box_name(event: RunEvent) -> ProcessName:
    return str(event.technology), event.instance, event.box or ""


@dataclass(frozen=True, slots=True)
class StoredReports:
    """Result of storing reports.

    news: new reports, and those known as history only that are live now. earlier: the other reports of the same runs.
    """

    news: Sequence[StoredReport]
    earlier: Sequence[StoredReport]


def store_reports(cursor: Cursor[Any], events: Iterable[RunEvent], processes: Processes) -> StoredReports:
    """Store the new events."""
    by_digest = {digest_of(event): event for event in events}
    runs = {processes.run_id(event) for event in by_digest.values()} - {None}
    parameters = {
        "organisation": current_context().organisation_id,
        "digests": list(by_digest),
        "run_ids": list(runs),
    }
    known = {row["content_hash"]: row for row in statement("reports").execute(cursor, parameters)}
    new = {digest: event for digest, event in by_digest.items() if digest not in known}
    revived = [
        digest
        for digest, event in by_digest.items()
        if digest in known and known[digest]["historical"] and not event.historical
    ]
    news = [*_inserted(cursor, new, processes), *_revived(cursor, revived)]
    changed = {each.run_id for each in news}
    return StoredReports(
        news,
        [
            stored_report(row)
            for digest, row in known.items()
            if row["run_id"] in changed and row["run_id"] is not None and digest not in revived
        ],
    )


def reports_of_runs(cursor: Cursor[Any], run_ids: Collection[UUID]) -> list[StoredReport]:
    """Return the stored reports of these runs."""
    parameters = {"organisation": current_context().organisation_id, "run_ids": list(run_ids), "digests": []}
    return [stored_report(row) for row in statement("reports").execute(cursor, parameters)]


def run_updates(reports: Iterable[StoredReport], processes: Processes) -> dict[UUID, list[RunUpdate]]:
    """Group reports by run, as `run_fold` takes them; without those of a dataset alone.

    processes: has looked up the processes of the reports.
    """
    grouped: defaultdict[UUID, list[RunUpdate]] = defaultdict(list)
    for each in reports:
        if each.run_id is None:
            continue
        row = processes.row(each.event)
        assert row is not None  # noqa: S101 - every run is of a process
        process_id = each.process_id or row["process_id"]
        box = processes.box(each.event)
        update = RunUpdate(
            each.event, each.run_id, process_id, box if box != process_id else None, each.sequence
        )
        grouped[each.run_id].append(update)
    return grouped


def stored_report(row: Mapping[str, Any]) -> StoredReport:
    """Parse a row of `reports.sql`."""
    event = scheduler_report(row["payload_json"], historical=row["historical"])
    return StoredReport(
        event, row["content_hash"], row["run_id"], row["process_id"], row["sequence"], row["received_at"]
    )


def _inserted(
    cursor: Cursor[Any], new: Mapping[str, RunEvent], processes: Processes
) -> Iterable[StoredReport]:
    if not new:
        return []
    rows = [
        {
            "event_time": event.at,
            "event_key": event.key,
            "run_id": processes.run_id(event),
            "process_key": process and process["process_key"],
            "event_type": payload.get("eventType", "DATASET"),
            "payload": payload,
            "content_hash": digest,
            "historical": event.historical,
        }
        for digest, event in new.items()
        for payload, process in ((openlineage_event(event), processes.row(event)),)
    ]
    kept = statement("store_reports").execute(
        cursor, {"organisation": current_context().organisation_id, "events": jsonb(rows)}
    )
    placed = {row["content_hash"]: row for row in kept}
    return [
        StoredReport(
            new[row["content_hash"]],
            row["content_hash"],
            row["run_id"],
            process["process_id"] if process else None,
            placed[row["content_hash"]]["sequence"],
            placed[row["content_hash"]]["received_at"],
        )
        for row in rows
        for process in (processes.row(new[row["content_hash"]]),)
    ]


def _revived(cursor: Cursor[Any], digests: Collection[str]) -> Iterable[StoredReport]:
    """Update a repeated report to live. The stored content is kept: it may differ, under a key that the reporter
    reused."""
    if not digests:
        return []
    parameters = {"organisation": current_context().organisation_id, "digests": list(digests), "run_ids": []}
    statement("revive_reports").execute(cursor, parameters)
    return [stored_report(row) for row in statement("reports").execute(cursor, parameters)]
