"""OpenLineage in: events of any producer kept as received, and what they come to in the catalog.

`parse` makes a value of one event or says which field is wrong; `ingest` keeps events and brings datasets, processes,
runs, versions and lineage up to date (`read_events`, then `store`); `rebuild` makes all that again from the events.
Datasets are found by every name that anybody has for them (`identity`), and what is known of them by `asking`.
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
