"""Convert scheduler reports to OpenLineage events and back: pure and lossless."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from headrace.catalog import published_events as events
from headrace.catalog.records import Column, RunState, Technology
from headrace.catalog.run_events import Ending, ReportedOutput, RunEvent
from headrace.database.ids import external_run_id

SCHEDULER: Final = (
    "headrace_scheduler"  # facet: what schedulers know of a run that OpenLineage has no field for
)
RECEIVED: Final = "headrace_report"  # facet: the report as received, and its source
_OUTPUT: Final = "headrace_output"
_ELSEWHERE = {
    "at",
    "outputs",
    "payload",
    "origin",
    "historical",
    "assumed",
}  # stored elsewhere in the event
_STATED = tuple(field.name for field in fields(RunEvent) if field.name not in _ELSEWHERE)
_MEASURES = {"row_count": "rowCount", "byte_size": "size"}
_DESCRIBED = tuple(
    field.name for field in fields(ReportedOutput) if field.name not in {"dataset", *_MEASURES}
)


def digest_of(event: RunEvent) -> str:
    """Return a digest that is equal for two reports if and only if they have the same key, that is, the same
    content."""
    return hashlib.sha256(event.key.encode()).hexdigest()


def openlineage_event(event: RunEvent) -> dict[str, Any]:
    """Convert a report to an OpenLineage event: of its run, or of the dataset that was reported without one."""
    outputs = [_output(output) for output in event.outputs]
    facets = {
        SCHEDULER: events.facet(**{name: getattr(event, name) for name in _STATED}),
        RECEIVED: events.facet(received=event.payload, origin=event.origin),
    }
    if not event.process:
        written = outputs[0] if outputs else events.dataset("", {})
        written["facets"] |= facets
        # OpenLineage's DatasetEvent has one dataset; a report may register several.
        return {**events.dataset_event(written, at=event.at), "outputs": outputs[1:]}
    if event.reason:
        facets["errorMessage"] = events.facet(message=event.reason, programmingLanguage=str(event.technology))
    technology = str(event.technology)
    run_id = external_run_id(technology, event.instance, event.process, event.run or event.key)
    kind = events.EVENT_TYPES[event.state]
    reported = events.run_event(kind, run_id, "", facets=facets, outputs=outputs, at=event.at)
    namespace = "/".join(filter(None, (technology, event.instance)))
    return {**reported, "job": {"namespace": namespace, "name": event.process}}


def scheduler_report(payload: Mapping[str, Any], *, historical: bool) -> RunEvent:
    """Return the report from which an event of `openlineage_event` was created."""
    if "run" in payload:
        facets, outputs = payload["run"]["facets"], payload["outputs"]
    else:
        dataset = payload["dataset"]
        facets = dataset["facets"]
        outputs = [*([dataset] if dataset["name"] else ()), *payload["outputs"]]
    stated, received = facets[SCHEDULER], facets.get(RECEIVED, {})
    return RunEvent(
        **{name: stated[name] for name in _STATED}
        | {
            "technology": Technology(stated["technology"]),
            "state": RunState(stated["state"]),
            "ending": stated["ending"] and Ending(stated["ending"]),
            "started_at": stated["started_at"] and datetime.fromisoformat(stated["started_at"]),
        },
        at=datetime.fromisoformat(payload["eventTime"]),
        outputs=tuple(map(_reported, outputs)),
        payload=received.get("received", {}),
        origin=received.get("origin"),
        historical=historical,
    )


def _output(output: ReportedOutput) -> dict[str, Any]:
    measured = {
        measure: value for name, measure in _MEASURES.items() if (value := getattr(output, name)) is not None
    }
    described = {name: value for name in _DESCRIBED if (value := getattr(output, name))}
    facets = {"outputStatistics": events.facet(**measured)} if measured else {}
    return events.dataset(
        output.dataset, facets | ({_OUTPUT: events.facet(**described)} if described else {})
    )


def _reported(dataset: Mapping[str, Any]) -> ReportedOutput:
    facets = dataset["facets"]
    described, measured = facets.get(_OUTPUT, {}), facets.get("outputStatistics", {})
    return ReportedOutput(
        dataset=dataset["name"],
        **{name: measured.get(measure) for name, measure in _MEASURES.items()},
        **{name: described[name] for name in _DESCRIBED if name in described and name != "columns"},
        columns=tuple(_columns(described.get("columns", ()))),
    )


def _columns(described: Iterable[Mapping[str, Any]]) -> Iterable[Column]:
    for each in described:
        yield Column(**{**each, "tags": tuple(each.get("tags", ()))})
