"""Let parsed events pass the gates, by the datasets that they write or describe, before they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Engine

from headrace.access.callers import Caller, CallerKind
from headrace.catalog.naming import Name, key_of, own_namespace, place
from headrace.context import current_context, without_row_security
from headrace.database.connection import transaction
from headrace.gates import Candidate, Moment, gate_results, objections
from headrace.openlineage.ingestion import ParsedEvents
from headrace.openlineage.model import AnyEvent, Dataset, DatasetEvent, Outcome, Result, RunEvent
from headrace.queries.names import keys_of

_TECHNOLOGY = "OPENLINEAGE"  # of `run`


def gated(engine: Engine, caller: Caller, parsed: ParsedEvents) -> ParsedEvents:
    """Return the events without those that a gate refuses, and with the warnings of the others.

    The catalog's own runs report what they like: their versions pass the gates at their publish.
    """
    if not parsed.good:
        return parsed
    with without_row_security():
        names = {each.name for event in parsed.good for each in (*_written(event), *_read(event))}
        own = own_namespace(current_context().organisation)
        is_run = caller.kind in (CallerKind.TASK, CallerKind.LOCAL)  # others may name any job
        keys = {
            name: key or key_of(place(name, own).name, own)
            for name, key in keys_of(engine, caller.organisation_id, names).items()
        }
        candidates = [
            (number, _candidate(event, dataset, keys))
            for number, event in enumerate(parsed.good)
            if not (is_run and _is_own(event, own))
            for dataset in _written(event)
        ]
        with transaction(engine) as cursor:
            results = gate_results(cursor, [candidate for _, candidate in candidates])
    good: list[AnyEvent] = []
    places: list[int] = []
    outcomes = list(parsed.refused)
    refused, shown = objections(candidates, results)
    for number, event in enumerate(parsed.good):
        if number in refused:
            reason = "; ".join(refused[number])
            outcomes.append(Outcome(parsed.places[number], Result.REFUSED, reason))
            continue
        places.append(parsed.places[number])
        good.append(replace(event, warnings=(*event.warnings, *shown.get(number, ()))))
    return ParsedEvents(good, places, outcomes)


def _candidate(event: AnyEvent, dataset: Dataset, keys: Mapping[Name, str]) -> Candidate:
    job = event.job.name if not isinstance(event, DatasetEvent) else Name("", "")
    status = event.event_type if isinstance(event, RunEvent) else None
    statistics = dataset.use["outputStatistics"].content if "outputStatistics" in dataset.use else {}
    counts = {"rows": statistics.get("rowCount"), "bytes": statistics.get("size")}
    return Candidate(
        Moment.EVENT,
        keys[dataset.name],
        inputs=[keys[each.name] for each in _read(event)],
        version={name: count for name, count in counts.items() if isinstance(count, int)},
        run={
            "technology": _TECHNOLOGY,
            "system": job.namespace,
            "process": job.name,
            "status": status.value if status is not None else "",
            "historical": event.historical,
        },
    )


def _written(event: AnyEvent) -> Sequence[Dataset]:
    return [event.dataset] if isinstance(event, DatasetEvent) else event.outputs


def _read(event: AnyEvent) -> Sequence[Dataset]:
    return [] if isinstance(event, DatasetEvent) else event.inputs


def _is_own(event: AnyEvent, own: str) -> bool:
    return not isinstance(event, DatasetEvent) and event.job.name.namespace == own
