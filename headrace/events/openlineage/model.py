"""OpenLineage events as values, as the spec (2-0-2) has them: who states what, of which run, job and datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from headrace.catalog.naming import Name


class EventType(StrEnum):
    """The transitions of a run; OTHER carries more about a run in whatever state."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet as it came.

    modelled: a standard facet in a version that we know, so that its content is as the spec's schema says. deleted: the
    facet takes the one of its name away.
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
    """A dataset with its facets; use: the facets of this one reading (inputFacets) or writing (outputFacets) of it."""

    name: Name
    facets: Facets = field(default_factory=dict)
    use: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """What all events have.

    at: when it happened, in UTC. digest: SHA-256 (hex) of the content, whatever the order of its keys and the spaces
    between them: two events of one digest are one. encoded: the content as JSON text. historical: loaded later;
    triggers no runs and no alerts.
    """

    at: datetime
    producer: str
    schema_url: str
    digest: str
    encoded: bytes = field(repr=False)
    historical: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class RunEvent(Event):
    """Something that happened to a run of a job. event_type: None where it does not say, which counts as OTHER."""

    event_type: EventType | None
    run_id: UUID
    job: Job
    run_facets: Facets
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class JobEvent(Event):
    """What a job reads and writes by design, stated outside any run."""

    job: Job
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class DatasetEvent(Event):
    """What a dataset is like, stated outside any run."""

    dataset: Dataset


AnyEvent = RunEvent | JobEvent | DatasetEvent


class Result(StrEnum):
    """What became of an event that was handed in."""

    STORED = "STORED"
    REPEATED = "REPEATED"  # its content was there already; nothing changed
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the event at `index` of what was handed in.

    reason, field: why it was refused, and the place that is to blame, as `run.runId` or `inputs[0].name` ('' for the
    event as a whole). retriable: sent again as it is, it may be taken. run_id: of a run event that was taken.
    """

    index: int
    result: Result
    reason: str | None = None
    field: str | None = None
    retriable: bool = False
    run_id: UUID | None = None
