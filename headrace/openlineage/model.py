"""OpenLineage events as values, as defined by the spec (2-0-2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from headrace.catalog.naming import Name


class EventType(StrEnum):
    """Transition of a run; OTHER adds information in any state."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet as received.

    modelled: a standard facet in a known version, so its content is valid by the spec's schema. deleted: it deletes the
    facet of its name.
    """

    content: Mapping[str, Any]
    modelled: bool
    deleted: bool = False


Facets = Mapping[str, Facet]


@dataclass(frozen=True, slots=True)
class Job:
    """A job with its facets."""

    name: Name
    facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset with its facets; use: the inputFacets or outputFacets of this use."""

    name: Name
    facets: Facets = field(default_factory=dict)
    use: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """Common fields of all events.

    at: when it happened, in UTC. digest: SHA-256 (hex) of the content, independent of key order and whitespace: events
    with equal digests are one event. encoded: the content as JSON text. historical: loaded as history; triggers no runs
    and no alerts.
    """

    at: datetime
    producer: str
    schema_url: str
    digest: str
    encoded: bytes = field(repr=False)
    historical: bool = field(default=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class RunEvent(Event):
    """A transition of a run of a job. event_type: None if it is missing, which counts as OTHER."""

    event_type: EventType | None
    run_id: UUID
    job: Job
    run_facets: Facets
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class JobEvent(Event):
    """The inputs and outputs of a job by design, reported outside any run."""

    job: Job
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class DatasetEvent(Event):
    """The attributes of a dataset, reported outside any run."""

    dataset: Dataset


AnyEvent = RunEvent | JobEvent | DatasetEvent


class Result(StrEnum):
    """Outcome kind of an event."""

    STORED = "STORED"
    REPEATED = "REPEATED"  # its content was stored already; nothing changed
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of the event at `index` of the input.

    reason, field: why it was rejected, and the invalid field, as `run.runId` or `inputs[0].name` ('' for the whole
    event). retriable: it may be accepted if sent again unchanged. run_id: of a stored run event. warnings: what was
    changed before it was stored.
    """

    index: int
    result: Result
    reason: str | None = None
    field: str | None = None
    retriable: bool = False
    run_id: UUID | None = None
    warnings: tuple[str, ...] = ()
