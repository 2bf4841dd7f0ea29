"""Run events of other systems as rows: normalized for the runs that they make, and raw in OpenLineage's shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from headrace.catalog import published_events as events
from headrace.catalog.processes import ProcessName
from headrace.catalog.run_events import ReportedOutput, RunEvent
from headrace.database.ids import external_run_id


@dataclass(frozen=True, slots=True)
class Named:
    """The catalog's processes by the names that others use.

    instances: the scheduler that the catalog knows each under. boxes: the box of each, where a scan has told.
    """

    ids: Mapping[ProcessName, UUID]
    keys: Mapping[ProcessName, str]
    instances: Mapping[ProcessName, str]
    boxes: Mapping[ProcessName, UUID]


def event_rows(said: Iterable[RunEvent], named: Named) -> list[dict[str, Any]]:
    """The rows of `reported_event`, each with its raw event."""
    return [_row(event, named) for event in said]


def _row(event: RunEvent, named: Named) -> dict[str, Any]:
    name = (str(event.technology), event.instance, event.process)
    process_id = named.ids[name] if event.process else None
    own = (name[0], named.instances.get(name, event.instance), name[2])
    run_id = external_run_id(*own, event.run or event.key) if event.process else None
    box = named.ids[name[0], name[1], event.box] if event.process and event.box else named.boxes.get(name)
    key = named.keys.get(name)
    return {
        "event_key": event.key,
        "run_id": run_id,
        "process_id": process_id,
        "process_key": key,
        "run": event.run,
        "attempt": event.attempt,
        "state": event.state,
        "status": event.status,
        "ending": event.ending,
        "at": event.at,
        "started_at": event.started_at,
        "exit_code": event.exit_code,
        "machine": event.machine,
        "reason": event.reason,
        "log_location": event.log_location,
        "partition_key": event.partition or "",
        "box_process_id": box if box != process_id else None,
        "outputs": event.outputs,
        "origin": event.origin,
        "historical": event.historical,
        "event_type": events.EVENT_TYPES[event.state],
        "payload": _raw(event, run_id, key),
        "content_hash": hashlib.sha256(event.key.encode()).hexdigest(),
    }


def _raw(event: RunEvent, run_id: UUID | None, process_key: str | None) -> dict[str, Any]:
    """The event in OpenLineage's shape; what was received is in a facet as it came."""
    report = events.facet(received=event.payload, origin=event.origin, key=event.key)
    outputs = [_output(output) for output in event.outputs]
    if run_id is None or process_key is None:
        written = outputs[0] if outputs else events.dataset("", {})
        written["facets"]["headrace_report"] = report
        return events.dataset_event(written, at=event.at)
    facets = {"headrace_report": report}
    if event.reason:
        facets["errorMessage"] = events.facet(message=event.reason, programmingLanguage=str(event.technology))
    kind = events.EVENT_TYPES[event.state]
    return events.run_event(kind, run_id, process_key, facets=facets, outputs=outputs, at=event.at)


def _output(output: ReportedOutput) -> dict[str, Any]:
    statistics = {"rowCount": output.row_count, "size": output.byte_size}
    known = {name: value for name, value in statistics.items() if value is not None}
    return events.dataset(output.dataset, {"outputStatistics": events.facet(**known)} if known else {})
