"""Find the scanned process that a report without a technology means, by its name or key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.catalog.run_events import RunEvent
from headrace.context import current_context, without_row_security
from headrace.database.connection import transaction
from headrace.job_reports.sql import statement

Row = Mapping[str, Any]  # of `named_processes.sql`


class UnclearProcess(ValueError):
    """A report whose process is unknown by its key, or shares its name with others."""


def with_processes(
    engine: Engine, events: Sequence[RunEvent]
) -> tuple[list[RunEvent], list[tuple[RunEvent, str]]]:
    """Return the events with the technology and scheduler of the processes that they name, and the events whose process
    is unclear, each with the reason."""
    names = sorted({event.process for event in events if event.assumed})
    if not names:
        return list(events), []
    with without_row_security(), transaction(engine) as cursor:
        parameters = {"organisation": current_context().organisation_id, "names": names}
        rows = statement("named_processes").execute(cursor, parameters).fetchall()
    by_name: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for name in (row["external_name"], row["process_key"]):
            by_name[name].append(row)
    clear: list[RunEvent] = []
    unclear: list[tuple[RunEvent, str]] = []
    for event in events:
        try:
            clear.append(process_of(event, by_name[event.process]) if event.assumed else event)
        except UnclearProcess as reason:
            unclear.append((event, str(reason)))
    return clear, unclear


def process_of(event: RunEvent, rows: Iterable[Row]) -> RunEvent:
    """Return the event with the technology, scheduler and name of its process.

    A key is that process. A name that exactly one scanned process bears is that one; if one of several is a job of
    Autosys, that job. A name that no scan knows is a job of Autosys. Raises UnclearProcess.
    """
    if "/" in event.process:
        found = [row for row in rows if row["process_key"] == event.process]
        if not found:
            raise UnclearProcess(
                f"no process has the key {event.process}; `headrace legacy processes` lists the keys"
            )
        return _of(event, found[0])
    bearers = [row for row in rows if row["external_name"] == event.process and _is_meant(event, row)]
    # A job that moved to another technology is retired under its old one.
    scanned = [row for row in bearers if row["lifecycle"] == "ACTIVE"] or bearers
    jobs = [row for row in scanned if row["technology"] == Technology.AUTOSYS]
    if not scanned or any(row["instance"] in ("", event.instance) for row in jobs):
        return replace(event, assumed=False)
    if len(found := jobs or scanned) > 1:
        keys = ", ".join(row["process_key"] for row in found)
        raise UnclearProcess(
            f"several processes are named {event.process}: {keys}; report one of these keys as `process`"
        )
    return _of(event, found[0])


def _is_meant(event: RunEvent, row: Row) -> bool:
    """Return True if a scan knows the process, and it may have the scheduler and box in the report."""
    if row["lifecycle"] == "UNSCANNED":
        return False
    if row["technology"] == Technology.AUTOSYS:
        return event.instance == "" or row["instance"] in ("", event.instance)
    return event.box is None


def _of(event: RunEvent, row: Row) -> RunEvent:
    return replace(
        event,
        technology=Technology(row["technology"]),
        instance=row["instance"],
        process=row["external_name"],
        assumed=False,
    )
