"""Derive from a run's document the datasets it used, the versions it wrote and the edges it shows; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from headrace.openlineage.documents import Document, LineageEntry, Use

_OF_USES = {"inputStatistics", "outputStatistics", "subset"}
# A table that was dropped, renamed or altered has no new content.
_NO_VERSION = {"DROP", "RENAME", "ALTER"}


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Data flows from source to target; datasets are given by the ids of their names.

    by: the process that a DERIVES edge is attributed to, '' if no run or job is named.
    """

    source_type: str
    source: str
    target_type: str
    target: str
    role: str
    by: str


@dataclass(frozen=True, slots=True)
class OutputVersion:
    """A version written by a completed run: of a dataset, by a name's id. path: its location, if reported."""

    name_id: str
    tag: str
    at: str
    path: str | None
    row_count: int | None
    byte_size: int | None
    file_count: int
    format: str | None
    fields: list[Mapping[str, Any]]


def edges(document: Document) -> dict[Edge, str]:
    """Return the current edges, each with the time since which it is known.

    Every input leads to every output, except outputs whose sources a lineage facet gives. A child run of a Headrace run
    has no edges: that run reports its inputs and outputs itself.
    """
    return {edge: since for edge, (since, until) in _spans(document).items() if until is None}


def ended(document: Document) -> dict[Edge, tuple[str, str]]:
    """Return the former edges of a job's design, each with start and end.

    An edge ends with the first event after the last one that names both of its ends. Earlier gaps are ignored.
    """
    return {edge: (since, until) for edge, (since, until) in _spans(document).items() if until is not None}


def _spans(document: Document) -> dict[Edge, tuple[str, str | None]]:
    if document.is_of_own_run:
        return {}
    job = document.job
    found: dict[Edge, tuple[str, str | None]] = {}

    def add(edge: Edge, since: str, until: str | None = None) -> None:
        known = found.get(edge)
        if known is not None:
            since = min(since, known[0])
            until = max(until, known[1]) if until is not None and known[1] is not None else None
        found[edge] = since, until

    inputs = {source: (use.at, _until(document, use)) for source, use in document.inputs.items()}
    outputs = {target: (use.at, _until(document, use)) for target, use in document.outputs.items()}
    for source, span in inputs.items():
        add(Edge("DATASET", source, "PROCESS", job, "CONSUMES", job), *span)
    for target, span in outputs.items():
        add(Edge("PROCESS", job, "DATASET", target, "PRODUCES", job), *span)
    explained: set[str] = set()
    for stated in document.lineage.values():
        for entry in stated.entries or ():
            if entry.kind == "DATASET":
                explained.add(entry.target)
            for edge in explicit(entry, job):
                # A facet that replaced another does not show since when that one stated the same.
                add(edge, document.first)
    for target, written in outputs.items():
        if target in explained:
            continue
        for source, read in inputs.items():
            since = max(read[0], written[0])
            until = min((each for each in (read[1], written[1]) if each is not None), default=None)
            if until is None or since < until:
                add(Edge("DATASET", source, "DATASET", target, "DERIVES", job), since, until)
    return found


def _until(document: Document, use: Use) -> str | None:
    """Return when the job first reported its design without this edge; None if it did not, and for runs."""
    last = use.last or use.at
    return next((time for time in document.times if time > last), None)


def explicit(entry: LineageEntry, job: str) -> Iterator[Edge]:
    """Yield the edges of one entry of a lineage facet. job: the job that moves the data, '' if unknown."""
    target = entry.target
    for source in entry.sources:
        if entry.kind == "PROCESS":
            role = "CONSUMES" if source.kind == "DATASET" else "DERIVES"
            yield Edge(source.kind, source.id, "PROCESS", target, role, target)
        elif source.kind == "PROCESS":
            yield Edge("PROCESS", source.id, "DATASET", target, "PRODUCES", source.id)
        else:
            yield Edge("DATASET", source.id, "DATASET", target, "DERIVES", job)
            if job:
                yield Edge("DATASET", source.id, "PROCESS", job, "CONSUMES", job)
                yield Edge("PROCESS", job, "DATASET", target, "PRODUCES", job)


def versions(document: Document) -> list[OutputVersion]:
    """Return the versions that the run wrote, if it completed; not Headrace's own, which their own run reports."""
    ended = document.ended
    if ended is None or not document.is_complete:
        return []
    found = []
    for target, use in sorted(document.outputs.items()):
        change = use.content("lifecycleStateChange").get("lifecycleStateChange")
        if "place" in use.facets or change in _NO_VERSION:
            continue
        statistics = use.content("outputStatistics")
        found.append(
            OutputVersion(
                name_id=target,
                tag=_named_version(use) or _tag(document, ended.at),
                at=ended.at,
                path=use.content("path").get("value"),
                row_count=_whole(statistics.get("rowCount")),
                byte_size=_whole(statistics.get("size")),
                file_count=_whole(statistics.get("fileCount")) or 0,
                format=use.content("storage").get("fileFormat"),
                fields=use.content("schema").get("fields", []),
            )
        )
    return found


def uses(run_id: UUID, document: Document) -> Iterator[dict[str, Any]]:
    """Yield the rows of `run_dataset`."""
    for role, used in (("INPUT", document.inputs), ("OUTPUT", document.outputs)):
        for name_id, use in sorted(used.items()):
            place = use.content("place")
            yield {
                "run_id": run_id,
                "name_id": name_id,
                "role": role,
                "version": place.get("version") or _named_version(use),
                "partition_key": place.get("partition", ""),
                "facets": {
                    name: stated.content
                    for name, stated in use.facets.items()
                    if stated.content is not None and name in _OF_USES
                },
                "at": use.at,
            }


def _named_version(use: Use) -> str | None:
    """Return the version that the event names: in the spec's facet, or by the dated directory of the dataset."""
    return use.content("version").get("datasetVersion") or use.content("directory").get("name")


def _whole(count: float | None) -> int | None:
    """Return a count that fits a bigint; JSON allows 5.0 for 5."""
    return int(count) if count is not None and 0 <= count < 2**63 else None


def _tag(document: Document, ended: str) -> str:
    at = datetime.fromisoformat(ended)
    run = f"{document.run}/{document.job}"
    return f"{at:%Y%m%dT%H%M%SZ}-{sha256(run.encode()).hexdigest()[:8]}"
