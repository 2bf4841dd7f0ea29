"""OpenLineage in: events of any producer kept as received, and what they come to in the catalog.

`parse` makes a value of one event or says which field is wrong; `ingest` keeps events and brings datasets, processes,
runs, versions and lineage up to date (`read_events`, then `store`); `rebuild` makes all that again from the events.
Datasets are found by every name that anybody has for them (`identity`), and what was said of them by `asking`.
"""

from catalog.openlineage.ingesting import ingest, read_events, store
from catalog.openlineage.limits import InvalidEvent
from catalog.openlineage.reading import parse
from catalog.openlineage.rebuilding import rebuild
from catalog.openlineage.values import (
    DatasetEvent,
    EventType,
    JobEvent,
    Name,
    Outcome,
    Result,
    RunEvent,
)

__all__ = [
    "DatasetEvent",
    "EventType",
    "InvalidEvent",
    "JobEvent",
    "Name",
    "Outcome",
    "Result",
    "RunEvent",
    "ingest",
    "parse",
    "read_events",
    "rebuild",
    "store",
]
