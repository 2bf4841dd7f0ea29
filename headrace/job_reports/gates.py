"""Let run events pass the gates, by the datasets that they report as outputs, before they are stored."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlalchemy import Engine

from headrace.catalog.run_events import ReportedOutput, RunEvent
from headrace.database.connection import transaction
from headrace.gates import Candidate, Moment, gate_results, is_gated, objections

_LOG = logging.getLogger(__name__)


def gated(
    engine: Engine, events: Sequence[RunEvent]
) -> tuple[Sequence[RunEvent], list[tuple[RunEvent, str]]]:
    """Return the events that may come in, and the others, each with the reason."""
    candidates = [
        (number, _candidate(event, output)) for number, event in enumerate(events) for output in event.outputs
    ]
    if not candidates or not is_gated(Moment.EVENT):
        return events, []
    with transaction(engine) as cursor:
        results = gate_results(cursor, [candidate for _, candidate in candidates])
    refused, shown = objections(candidates, results)
    for number, warnings in shown.items():
        for warning in warnings:
            _LOG.warning("%s: %s", events[number].origin, warning)
    return [event for number, event in enumerate(events) if number not in refused], [
        (events[number], "; ".join(reasons)) for number, reasons in refused.items()
    ]


def _candidate(event: RunEvent, output: ReportedOutput) -> Candidate:
    counts = {"rows": output.row_count, "bytes": output.byte_size}
    partition = output.partition or event.partition
    return Candidate(
        Moment.EVENT,
        output.dataset,
        version={
            **{name: count for name, count in counts.items() if count is not None},
            "partitions": [partition] if partition else [],
        },
        run={
            "technology": event.technology.value,
            "system": event.instance,
            "process": event.process,
            "status": event.status,
            "historical": event.historical,
        },
    )
