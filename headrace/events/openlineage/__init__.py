"""OpenLineage events of any producer: stored as received, and projected into the catalog.

`parse` validates an event and reports the invalid field; `ingest` stores events and updates datasets, processes, runs,
versions and lineage (`read_events`, then `store`); `rebuild` derives all of that again from the events. Datasets are
found by every name they have.
"""

from headrace.events.openlineage.ingestion import ingest, read_events, store
from headrace.events.openlineage.limits import InvalidEvent
from headrace.events.openlineage.model import (
    DatasetEvent,
    EventType,
    JobEvent,
    Outcome,
    Result,
    RunEvent,
)
from headrace.events.openlineage.parsing import parse

__all__ = [
    "DatasetEvent",
    "EventType",
    "InvalidEvent",
    "JobEvent",
    "Outcome",
    "Result",
    "RunEvent",
    "ingest",
    "parse",
    "read_events",
    "store",
]
