"""All events of one run of one job, or of a job outside runs, merged into a document, independent of their order.

Each named value has the event's time and digest, and the greatest wins; starts are the minimum time, ends the maximum.
Merging is therefore commutative, associative and idempotent, and the derived rows (`outlines`) are a function of the
document alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from headrace.catalog.naming import Name, Place
from headrace.events.scheduler_events import SCHEDULER
from headrace.openlineage.model import Dataset, EventType, Facets, JobEvent, RunEvent

_ENDS = (EventType.COMPLETE, EventType.ABORT, EventType.FAIL)
_OF_RUNS = ("parent", "nominalTime", "errorMessage", "externalQuery", "processing_engine", "jobDependencies")
_OF_DATASETS = ("version", "lifecycleStateChange", "storage")
_OF_OUTPUTS = ("schema",)
MAX_TIMES = 1000  # newest events of a job outside runs: an edge that they omit ended then


class _DatedStatement(Protocol):
    @property
    def at(self) -> str: ...
    @property
    def digest(self) -> str: ...


_Statement = TypeVar("_Statement", bound=_DatedStatement)


@dataclass(frozen=True, slots=True)
class FacetStatement:
    """A facet as an event states it; None if the event deletes it."""

    at: str
    digest: str
    content: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A DATASET or PROCESS that feeds an entry of a lineage facet, by its id."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """A DATASET or PROCESS, by its id, and all of its sources."""

    kind: str
    target: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class LineageStatement:
    """Sources of one output according to an event; None if the event deletes them."""

    at: str
    digest: str
    entries: tuple[LineageEntry, ...] | None


@dataclass(frozen=True, slots=True)
class End:
    """An end reported by an event."""

    at: str
    digest: str
    kind: EventType

    def __post_init__(self) -> None:
        if self.kind not in _ENDS:
            raise ValueError(f"{self.kind} ends no run")

    @property
    def weight(self) -> tuple[bool, str, int, str]:
        """Sort key of ends: a failure is final, otherwise the latest wins.

        Spark's listener sends a COMPLETE within a tenth of a second after the FAIL of a write.
        """
        return self.kind is not EventType.COMPLETE, self.at, _ENDS.index(self.kind), self.digest


@dataclass(frozen=True, slots=True)
class Use:
    """A dataset that is read or written. at, last: the first and, for a job outside runs, the last time it was
    reported."""

    at: str
    facets: Mapping[str, FacetStatement]
    last: str | None = None

    def merged(self, other: Use) -> Use:
        """Merge two uses."""
        lasts = [each for each in (self.last, other.last) if each is not None]
        return Use(min(self.at, other.at), _newest(self.facets, other.facets), max(lasts) if lasts else None)

    def content(self, name: str) -> Mapping[str, Any]:
        """Return the content of the facet with this name, empty without one."""
        return _content(self.facets, name)


@dataclass(frozen=True, slots=True)
class Document:
    """The known state of a run, or of a job's design.

    Entities are given by the ids of their names and processes. run: its id as reported, None for a job's design. first,
    last: the times of its events. lineage: by the explained output, `job` or the id of an output. times: for a job's
    design, those of its newest events.
    """

    job: str
    run: str | None
    first: str
    last: str
    ended: End | None = None
    facets: Mapping[str, FacetStatement] = field(default_factory=dict)
    inputs: Mapping[str, Use] = field(default_factory=dict)
    outputs: Mapping[str, Use] = field(default_factory=dict)
    lineage: Mapping[str, LineageStatement] = field(default_factory=dict)
    times: tuple[str, ...] = ()
    historical: bool = False

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"the first event, of {self.first}, is later than the last, of {self.last}")

    def content(self, name: str) -> Mapping[str, Any]:
        """Return the content of the run facet with this name, empty without one."""
        return _content(self.facets, name)

    @property
    def is_of_own_run(self) -> bool:
        """True if the parent is one of Headrace's own runs, which reports its inputs and outputs itself."""
        return bool(self.content("parent").get("own"))

    @property
    def is_complete(self) -> bool:
        """True if the run has ended successfully."""
        return self.ended is not None and self.ended.kind is EventType.COMPLETE


class Ids:
    """The catalog's ids of the names in an event."""

    def __init__(
        self, place: Callable[[Name], Place], name_ids: Mapping[Name, UUID], process_ids: Mapping[Name, UUID]
    ) -> None:
        self.place = place
        self._name_ids = name_ids
        self._process_ids = process_ids
        self._datasets: dict[Name, str] = {}  # called many times per event

    def dataset(self, name: Name) -> str:
        """Return the id of the canonical name of this name."""
        found = self._datasets.get(name)
        if found is None:
            found = self._datasets[name] = str(self._name_ids[self.place(name).name])
        return found

    def process(self, name: Name) -> str:
        """Return the id of the job."""
        return str(self._process_ids[name])


_STORED = TypeAdapter(Document)


def stored_document(content: object) -> Document:
    """Parse the document in the JSON of a row."""
    return _STORED.validate_python(content)


def document_of(event: RunEvent | JobEvent, ids: Ids, own: str) -> Document:
    """Create the document of one event. own: the namespace of Headrace's own jobs."""
    at, job = stamped(event.at), ids.process(event.job.name)
    by_design = isinstance(event, JobEvent)
    lineage = _explained(event, at, ids, job)
    return Document(
        job=job,
        run=None if isinstance(event, JobEvent) else str(event.run_id),
        first=at,
        last=at,
        ended=_end(event, at),
        facets={} if isinstance(event, JobEvent) else _run_facets(event, at, ids, own),
        inputs=_used(event.inputs, at, event.digest, ids, (), by_design),
        outputs=_used(event.outputs, at, event.digest, ids, _OF_OUTPUTS, by_design),
        lineage=lineage,
        times=(at,) if by_design else (),
        historical=event.historical,
    )


def merged(one: Document, other: Document) -> Document:
    """Merge two documents of one run of one job."""
    ends = [document.ended for document in (one, other) if document.ended is not None]
    return Document(
        job=one.job,
        run=one.run,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        ended=max(ends, key=lambda end: end.weight) if ends else None,
        facets=_newest(one.facets, other.facets),
        inputs=_uses(one.inputs, other.inputs.items()),
        outputs=_uses(one.outputs, other.outputs.items()),
        lineage=_newest(one.lineage, other.lineage),
        times=tuple(sorted({*one.times, *other.times})[-MAX_TIMES:]),
        historical=one.historical and other.historical,
    )


def stamped(at: datetime) -> str:
    """Format a time as text that sorts by time."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def sources(stated: Mapping[str, Any], ids: Ids, job: str | None) -> tuple[Source, ...]:
    """Return the datasets and jobs that are sources of a lineage facet's entry: as a whole, and by column."""
    inputs = [*stated.get("inputs", ())]
    for column in stated.get("fields", {}).values():
        inputs += column["inputs"]
    found: set[Source] = set()
    for each in inputs:
        if each["type"] == "DATASET":
            found.add(Source("DATASET", ids.dataset(_name(each))))
        elif "name" in each:
            found.add(Source("PROCESS", ids.process(_name(each))))
        elif job is not None:
            found.add(Source("PROCESS", job))
    return tuple(sorted(found))


def _end(event: RunEvent | JobEvent, at: str) -> End | None:
    if isinstance(event, JobEvent) or event.event_type is None or event.event_type not in _ENDS:
        return None
    return End(at, event.digest, event.event_type)


def _run_facets(event: RunEvent, at: str, ids: Ids, own: str) -> dict[str, FacetStatement]:
    facets = _kept(event.run_facets, _OF_RUNS, at, event.digest)
    if SCHEDULER in event.run_facets:  # Headrace's own facet, not one of the spec
        number = {"run": event.run_facets[SCHEDULER].content.get("run")}
        facets[SCHEDULER] = FacetStatement(at, event.digest, number)
    parent = _content(facets, "parent")
    if parent:
        name = _name(parent["job"])
        run = str(UUID(parent["run"]["runId"]))
        known = {"run": run, "process": ids.process(name), "own": name.namespace == own}
        facets["parent"] = FacetStatement(at, event.digest, known)
    return facets


def _explained(event: RunEvent | JobEvent, at: str, ids: Ids, job: str) -> dict[str, LineageStatement]:
    """Return the sources of an output: those that the dataset reports of itself, otherwise those that the job
    reports."""
    found: dict[str, LineageStatement] = {}
    for dataset in event.outputs:
        facet = dataset.facets.get("lineage")
        if facet is not None and facet.modelled:
            target = ids.dataset(dataset.name)
            entry = LineageEntry("DATASET", target, () if facet.deleted else sources(facet.content, ids, job))
            stated = LineageStatement(at, event.digest, None if facet.deleted else (entry,))
            found.setdefault(target, stated)
    facet = event.job.facets.get("lineage")
    if facet is not None and facet.modelled:
        entries = () if facet.deleted else tuple(_entry(each, ids, job) for each in facet.content["entries"])
        found["job"] = LineageStatement(at, event.digest, entries)
    return found


def _entry(entry: Mapping[str, Any], ids: Ids, job: str) -> LineageEntry:
    if entry["type"] == "DATASET":
        return LineageEntry("DATASET", ids.dataset(_name(entry)), sources(entry, ids, job))
    target = ids.process(_name(entry)) if "name" in entry else job
    return LineageEntry("PROCESS", target, sources(entry, ids, job))


def _used(
    datasets: Iterable[Dataset], at: str, digest: str, ids: Ids, more: tuple[str, ...], by_design: bool
) -> dict[str, Use]:
    last = at if by_design else None
    return _uses(
        {},
        (
            (ids.dataset(each.name), Use(at, _use_facets(each, at, digest, ids, more), last))
            for each in datasets
        ),
    )


def _use_facets(
    dataset: Dataset, at: str, digest: str, ids: Ids, more: tuple[str, ...]
) -> dict[str, FacetStatement]:
    facets = _kept(dataset.facets, (*_OF_DATASETS, *more), at, digest)
    facets |= _kept(dataset.use, ("inputStatistics", "outputStatistics", "subset"), at, digest)
    path = dataset.facets["path"].content.get("value") if more and "path" in dataset.facets else None
    if isinstance(path, str):  # where it was written, in the adapters' form
        facets["path"] = FacetStatement(at, digest, {"value": path})
    place = ids.place(dataset.name)
    if place.version is not None:
        known = {"version": place.version, "partition": place.partition}
        facets["place"] = FacetStatement(at, digest, known)
    if place.directory:
        facets["directory"] = FacetStatement(at, digest, {"name": place.directory})
    return facets


def _kept(facets: Facets, names: tuple[str, ...], at: str, digest: str) -> dict[str, FacetStatement]:
    """Return the facets with these names in known versions."""
    return {
        name: FacetStatement(at, digest, None if facet.deleted else facet.content)
        for name, facet in facets.items()
        if name in names and (facet.modelled or facet.deleted)
    }


def _uses(known: Mapping[str, Use], others: Iterable[tuple[str, Use]]) -> dict[str, Use]:
    together = {**known}
    for key, use in others:
        together[key] = together[key].merged(use) if key in together else use
    return together


def _newest(one: Mapping[str, _Statement], other: Mapping[str, _Statement]) -> dict[str, _Statement]:
    together = {**one}
    for key, stated in other.items():
        known = together.get(key)
        if known is None or (known.at, known.digest) < (stated.at, stated.digest):
            together[key] = stated
    return together


def _content(facets: Mapping[str, FacetStatement], name: str) -> Mapping[str, Any]:
    stated = facets.get(name)
    return stated.content or {} if stated is not None else {}


def _name(stated: Mapping[str, Any]) -> Name:
    return Name(stated["namespace"], stated["name"])
