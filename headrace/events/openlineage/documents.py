"""All that the events of one run of one job, or of a job outside runs, say together: merged in any order, any times.

A document is JSON. What is said under one name is stamped with the event's time and digest, and the greatest stamp
stands; beginnings are the least time, ends the greatest. So merging is commutative, associative and idempotent, and
what a run comes to (`outlines`) is a function of its document alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from headrace.catalog.naming import Name, Place
from headrace.events.openlineage.model import (
    Dataset,
    EventType,
    Facets,
    JobEvent,
    RunEvent,
)
from headrace.events.scheduler_events import SCHEDULER

Document = dict[str, Any]
_ENDS = (EventType.COMPLETE, EventType.ABORT, EventType.FAIL)
_OF_RUNS = ("parent", "nominalTime", "errorMessage", "externalQuery", "processing_engine", "jobDependencies")
_OF_DATASETS = ("version", "lifecycleStateChange", "storage")
_OF_OUTPUTS = ("schema",)
_MOST_TIMES = 1000  # of the newest events of a job outside runs: what they say no longer ended then


class Ids:
    """The ids that an event's names have in the catalog."""

    def __init__(
        self, place: Callable[[Name], Place], name_ids: Mapping[Name, UUID], process_ids: Mapping[Name, UUID]
    ) -> None:
        self.place = place
        self._name_ids = name_ids
        self._process_ids = process_ids
        self._datasets: dict[Name, str] = {}  # asked for many times an event

    def dataset(self, name: Name) -> str:
        """The id of the name that this name stands for."""
        found = self._datasets.get(name)
        if found is None:
            found = self._datasets[name] = str(self._name_ids[self.place(name).name])
        return found

    def process(self, name: Name) -> str:
        """The id of the job."""
        return str(self._process_ids[name])


def document_of(event: RunEvent | JobEvent, ids: Ids, own: str) -> Document:
    """What one event says. Entities are told by the ids of their names and processes."""
    stamp = [stamped(event.at), event.digest]
    job = ids.process(event.job.name)
    said: Document = {
        "job": job,
        "first": stamp[0],
        "last": stamp[0],
        "facets": {},
        "inputs": {},
        "outputs": {},
        "lineage": {},
        **({"historical": True} if event.historical else {}),
    }
    if isinstance(event, RunEvent):
        said["run"] = str(event.run_id)
        kind = event.event_type or EventType.OTHER
        if kind in _ENDS:
            said["ended"] = [*stamp, kind.value]
        said["facets"] = _kept(event.run_facets, _OF_RUNS, stamp)
        if SCHEDULER in event.run_facets:  # ours, and so none of the spec's
            said["facets"][SCHEDULER] = [*stamp, {"run": event.run_facets[SCHEDULER].content.get("run")}]
        _know_parent(said["facets"], ids, own)
    for dataset in event.inputs:
        _use(said["inputs"], dataset, stamp, ids, ())
    for dataset in event.outputs:
        _use(said["outputs"], dataset, stamp, ids, _OF_OUTPUTS)
        _explain(said["lineage"], dataset, stamp, ids, job)
    lineage = event.job.facets.get("lineage")
    if lineage is not None and lineage.modelled:
        entries = [] if lineage.deleted else lineage.content["entries"]
        said["lineage"]["job"] = [*stamp, [_entry(entry, ids, job) for entry in entries]]
    if isinstance(event, JobEvent):
        said["times"] = [stamp[0]]
        for use in (*said["inputs"].values(), *said["outputs"].values()):
            use["last"] = stamp[0]
    return said


def merged(one: Document, other: Document) -> Document:
    """What both say together, of one run of one job."""
    together: Document = {
        **{key: one[key] for key in ("run", "job") if key in one},
        "first": min(one["first"], other["first"]),
        "last": max(one["last"], other["last"]),
        "facets": _newest(one["facets"], other["facets"]),
        "lineage": _newest(one["lineage"], other["lineage"]),
        "inputs": _uses(one["inputs"], other["inputs"]),
        "outputs": _uses(one["outputs"], other["outputs"]),
    }
    if "times" in one or "times" in other:
        together["times"] = sorted({*one.get("times", ()), *other.get("times", ())})[-_MOST_TIMES:]
    ends = [document["ended"] for document in (one, other) if "ended" in document]
    if ends:
        together["ended"] = max(ends, key=_end)
    if "historical" in one and "historical" in other:
        together["historical"] = True
    return together


def stamped(at: datetime) -> str:
    """A time as text that sorts as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def sources(stated: Mapping[str, Any], ids: Ids, job: str | None) -> list[list[str]]:
    """The datasets and jobs that feed an entry of a lineage facet, as kind and id: as a whole, and column by column."""
    inputs = [*stated.get("inputs", ())]
    for column in stated.get("fields", {}).values():
        inputs += column["inputs"]
    found: set[tuple[str, str]] = set()
    for each in inputs:
        if each["type"] == "DATASET":
            found.add(("DATASET", ids.dataset(Name(each["namespace"], each["name"]))))
        elif "name" in each:
            found.add(("PROCESS", ids.process(Name(each["namespace"], each["name"]))))
        elif job is not None:
            found.add(("PROCESS", job))
    return [list(each) for each in sorted(found)]


def _entry(entry: Mapping[str, Any], ids: Ids, job: str) -> list[Any]:
    """Kind and id of the target, and its sources."""
    if entry["type"] == "DATASET":
        target = ids.dataset(Name(entry["namespace"], entry["name"]))
    else:
        target = ids.process(Name(entry["namespace"], entry["name"])) if "name" in entry else job
    kind = "DATASET" if entry["type"] == "DATASET" else "PROCESS"
    return [kind, target, sources(entry, ids, job)]


def _explain(lineage: dict[str, Any], dataset: Dataset, stamp: list[str], ids: Ids, job: str) -> None:
    """What a dataset says of its own sources stands for it."""
    facet = dataset.facets.get("lineage")
    if facet is None or not facet.modelled:
        return
    target = ids.dataset(dataset.name)
    explained = None if facet.deleted else [["DATASET", target, sources(facet.content, ids, job)]]
    lineage[target] = max(lineage.get(target, ["", "", None]), [*stamp, explained], key=_stamp)


def _use(uses: dict[str, Any], dataset: Dataset, stamp: list[str], ids: Ids, more: tuple[str, ...]) -> None:
    place = ids.place(dataset.name)
    facets = _kept(dataset.facets, (*_OF_DATASETS, *more), stamp)
    facets |= _kept(dataset.use, ("inputStatistics", "outputStatistics", "subset"), stamp)
    path = dataset.facets["path"].content.get("value") if more and "path" in dataset.facets else None
    if isinstance(path, str):  # as adapters say where it was written
        facets["path"] = [*stamp, path]
    if place.version is not None:
        facets["place"] = [*stamp, [place.version, place.partition]]
    use = {"at": stamp[0], "facets": facets}
    key = ids.dataset(dataset.name)
    uses.update(_uses({key: uses[key]}, {key: use}) if key in uses else {key: use})


def _kept(facets: Facets, names: tuple[str, ...], stamp: list[str]) -> dict[str, Any]:
    """The facets of these names as they are stored; one that takes another away is null."""
    return {
        name: [*stamp, None if facets[name].deleted else dict(facets[name].content)]
        for name in names
        if name in facets and (facets[name].modelled or facets[name].deleted)
    }


def _know_parent(facets: dict[str, Any], ids: Ids, own: str) -> None:
    """The parent with the id of its process. own: the parent is a run of ours, which tells of itself what it moves."""
    if "parent" not in facets or facets["parent"][2] is None:
        return
    *stamp, content = facets["parent"]
    name = Name(content["job"]["namespace"], content["job"]["name"])
    facets["parent"] = [
        *stamp,
        {
            "run": str(UUID(content["run"]["runId"])),
            "process": ids.process(name),
            "own": name.namespace == own,
        },
    ]


def _uses(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    together = {**one}
    for key, use in other.items():
        known = together.get(key)
        if known is None:
            together[key] = use
            continue
        both = {"at": min(known["at"], use["at"]), "facets": _newest(known["facets"], use["facets"])}
        if "last" in use:
            both["last"] = max(known.get("last", known["at"]), use["last"])
        together[key] = both
    return together


def _newest(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    together = {**one}
    for key, said in other.items():
        together[key] = max(together[key], said, key=_stamp) if key in together else said
    return together


def _stamp(said: list[Any]) -> tuple[str, str]:
    return said[0], said[1]


def _end(said: list[Any]) -> tuple[bool, str, int, str]:
    # Spark's listener sends a COMPLETE within a tenth of a second after the FAIL of a write: a failure is final.
    kind = EventType(said[2])
    return kind is not EventType.COMPLETE, said[0], _ENDS.index(kind), said[1]
