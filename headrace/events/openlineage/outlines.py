"""What a document comes to: a run with its state and parent, the datasets that it used, the edges that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from headrace.catalog.records import RunState
from headrace.events.openlineage.documents import Document
from headrace.events.scheduler_events import SCHEDULER

_STATES = {"COMPLETE": RunState.SUCCESS, "FAIL": RunState.FAILED, "ABORT": RunState.TERMINATED}
# A table that was dropped, renamed or altered has no new content.
_NO_VERSION = {"DROP", "RENAME", "ALTER"}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, which is one attempt: OpenLineage gives each retry a run of its own."""

    run_id: UUID
    process_id: str
    state: RunState
    start_ts: str
    end_ts: str | None
    reason: str | None
    parent_run_id: str | None
    parent_process_id: str | None
    facets: Mapping[str, Any]
    historical: bool


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Data flows from source to target; datasets are told by the ids of their names.

    by: the process that a DERIVES edge is owed to, '' where no run or job is named.
    """

    source_type: str
    source: str
    target_type: str
    target: str
    role: str
    by: str


@dataclass(frozen=True, slots=True)
class Written:
    """A version that a run which has completed wrote: of a dataset, by a name's id. path: where, if it said so."""

    name_id: str
    tag: str
    at: str
    path: str | None
    row_count: int | None
    byte_size: int | None
    file_count: int
    format: str | None
    fields: list[Mapping[str, Any]]


def run_row(run_id: UUID, document: Document) -> RunRow:
    """The run. It has ended when an end was said, whenever else something was; a failure outdoes a COMPLETE."""
    ended = document.get("ended")
    facets = document["facets"]
    parent = _content(facets, "parent") or {}
    error = _content(facets, "errorMessage") or {}
    state = _STATES[ended[2]] if ended else RunState.RUNNING
    return RunRow(
        run_id=run_id,
        process_id=document["job"],
        state=state,
        start_ts=document["first"],
        end_ts=ended[0] if ended else None,
        reason=error.get("message") if state in {RunState.FAILED, RunState.TERMINATED} else None,
        parent_run_id=parent.get("run"),
        parent_process_id=parent.get("process"),
        facets={
            name: said[2]
            for name, said in sorted(facets.items())
            if name not in {"parent", "errorMessage", SCHEDULER} and said[2] is not None
        },
        historical="historical" in document,
    )


def edges(document: Document) -> dict[Edge, str]:
    """The edges that hold, each with the time since which it is known to.

    Every input leads to every output, except to those of which a lineage facet says what leads to them. A run below one
    of ours shows none: that run tells what it reads and writes itself.
    """
    return {edge: since for edge, (since, until) in _spans(document).items() if until is None}


def ended(document: Document) -> dict[Edge, tuple[str, str]]:
    """The edges that a job had by design and has no longer, each from when to when.

    An edge ends with the first event after the last one that names both of its ends. A gap before that is not told.
    """
    return {edge: (since, until) for edge, (since, until) in _spans(document).items() if until is not None}


def _spans(document: Document) -> dict[Edge, tuple[str, str | None]]:
    parent = _content(document["facets"], "parent")
    if parent is not None and parent["own"]:
        return {}
    job = document["job"]
    found: dict[Edge, tuple[str, str | None]] = {}

    def add(edge: Edge, since: str, until: str | None = None) -> None:
        known = found.get(edge)
        if known is not None:
            since = min(since, known[0])
            until = max(until, known[1]) if until is not None and known[1] is not None else None
        found[edge] = since, until

    inputs = {source: (use["at"], _until(document, use)) for source, use in document["inputs"].items()}
    outputs = {target: (use["at"], _until(document, use)) for target, use in document["outputs"].items()}
    for source, span in inputs.items():
        add(Edge("DATASET", source, "PROCESS", job, "CONSUMES", job), *span)
    for target, span in outputs.items():
        add(Edge("PROCESS", job, "DATASET", target, "PRODUCES", job), *span)
    explained: set[str] = set()
    for kind, target, sources in _entries(document):
        if kind == "DATASET":
            explained.add(target)
        for edge in explicit(kind, target, sources, job):
            # A facet that replaced another does not tell since when that said the same.
            add(edge, document["first"])
    for target, written in outputs.items():
        if target in explained:
            continue
        for source, read in inputs.items():
            since = max(read[0], written[0])
            until = min((each for each in (read[1], written[1]) if each is not None), default=None)
            if until is None or since < until:
                add(Edge("DATASET", source, "DATASET", target, "DERIVES", job), since, until)
    return found


def _until(document: Document, use: Mapping[str, Any]) -> str | None:
    """When the job first said what it reads and writes without this; None where it has not, and for runs."""
    last = use.get("last", use["at"])
    return next((time for time in document.get("times", ()) if time > last), None)


def explicit(kind: str, target: str, sources: list[list[str]], job: str) -> Iterator[Edge]:
    """The edges of one entry of a lineage facet. job: who moves the data, '' where nobody says."""
    for source_kind, source in sources:
        if kind == "PROCESS":
            role = "CONSUMES" if source_kind == "DATASET" else "DERIVES"
            yield Edge(source_kind, source, "PROCESS", target, role, target)
        elif source_kind == "PROCESS":
            yield Edge("PROCESS", source, "DATASET", target, "PRODUCES", source)
        else:
            yield Edge("DATASET", source, "DATASET", target, "DERIVES", job)
            if job:
                yield Edge("DATASET", source, "PROCESS", job, "CONSUMES", job)
                yield Edge("PROCESS", job, "DATASET", target, "PRODUCES", job)


def versions(document: Document) -> list[Written]:
    """The versions that the run wrote, if it completed; not those of ours, of which their own run has told."""
    ended = document.get("ended")
    if not ended or ended[2] != "COMPLETE":
        return []
    found = []
    for target, use in sorted(document["outputs"].items()):
        facets = use["facets"]
        change = _content(facets, "lifecycleStateChange") or {}
        if "place" in facets or change.get("lifecycleStateChange") in _NO_VERSION:
            continue
        statistics = _content(facets, "outputStatistics") or {}
        version = _content(facets, "version") or {}
        found.append(
            Written(
                name_id=target,
                tag=version.get("datasetVersion") or _tag(document, ended[0]),
                at=ended[0],
                path=_content(facets, "path"),
                row_count=_whole(statistics.get("rowCount")),
                byte_size=_whole(statistics.get("size")),
                file_count=_whole(statistics.get("fileCount")) or 0,
                format=(_content(facets, "storage") or {}).get("fileFormat"),
                fields=(_content(facets, "schema") or {}).get("fields", []),
            )
        )
    return found


def uses(run_id: UUID, document: Document) -> Iterator[dict[str, Any]]:
    """The rows of `run_dataset`."""
    for role in ("inputs", "outputs"):
        for name_id, use in sorted(document[role].items()):
            facets = use["facets"]
            tag, partition = _content(facets, "place") or (None, "")
            stated = (_content(facets, "version") or {}).get("datasetVersion")
            yield {
                "run_id": run_id,
                "name_id": name_id,
                "role": role.removesuffix("s").upper(),
                "version": tag or stated,
                "partition_key": partition,
                "facets": {
                    name: said[2]
                    for name, said in facets.items()
                    if said[2] is not None and name in {"inputStatistics", "outputStatistics", "subset"}
                },
                "at": use["at"],
            }


def _entries(document: Document) -> Iterator[tuple[str, str, list[list[str]]]]:
    for said in document["lineage"].values():
        yield from said[2] or ()


def _content(facets: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - JSON
    said = facets.get(name)
    return None if said is None else said[2]


def _whole(count: float | None) -> int | None:
    """A count that a bigint holds; JSON allows 5.0 for 5."""
    return int(count) if count is not None and 0 <= count < 2**63 else None


def _tag(document: Document, ended: str) -> str:
    at = datetime.fromisoformat(ended)
    run = f"{document['run']}/{document['job']}"
    return f"{at:%Y%m%dT%H%M%SZ}-{sha256(run.encode()).hexdigest()[:8]}"
