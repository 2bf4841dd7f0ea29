"""The datasets and jobs that an event names, and the names that it declares to be one dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headrace.catalog.naming import Name, Place
from headrace.openlineage.model import (
    AnyEvent,
    Dataset,
    DatasetEvent,
    Facets,
    RunEvent,
)
from headrace.openlineage.naming.names import Mentions


def mention(events: Iterable[AnyEvent], place: Callable[[Name], Place]) -> Mentions:
    """Return the datasets. Names of files of Headrace's own versions count as those of their datasets."""
    mentions = Mentions()
    for event in events:
        for dataset in datasets_of(event):
            _mention(mentions, dataset, place)
        if not isinstance(event, DatasetEvent):
            for entry in _content(event.job.facets, "lineage").get("entries", ()):
                if entry["type"] == "DATASET":
                    mentions.add(place(_name(entry)).name, reported=True)
                for each in _lineage_inputs(entry):
                    if each["type"] == "DATASET":
                        mentions.add(place(_name(each)).name, reported=True)
    return mentions


def jobs_of(events: Iterable[AnyEvent]) -> set[Name]:
    """Return the jobs of the events, of parent runs, and in lineage facets."""
    found: set[Name] = set()
    for event in events:
        for dataset in datasets_of(event):
            found |= _jobs_in(_lineage_inputs(_content(dataset.facets, "lineage")))
        if isinstance(event, DatasetEvent):
            continue
        found.add(event.job.name)
        for entry in _content(event.job.facets, "lineage").get("entries", ()):
            found |= _jobs_in([entry, *_lineage_inputs(entry)])
        if isinstance(event, RunEvent):
            parent = _content(event.run_facets, "parent")
            if parent:
                found.add(_name(parent["job"]))
    return found


def datasets_of(event: AnyEvent) -> tuple[Dataset, ...]:
    """Return the datasets of the event: read, written or described."""
    return (event.dataset,) if isinstance(event, DatasetEvent) else (*event.inputs, *event.outputs)


def _mention(mentions: Mentions, dataset: Dataset, place: Callable[[Name], Place]) -> None:
    name = place(dataset.name).name
    mentions.add(name, reported=True)
    if not dataset.facets:
        return
    for each in _content(dataset.facets, "symlinks").get("identifiers", ()):
        if each["name"]:
            other = place(_name(each)).name
            mentions.add(other, kind=each["type"])
            mentions.unite(name, other)
    change = _content(dataset.facets, "lifecycleStateChange")
    if change.get("lifecycleStateChange") == "RENAME" and "previousIdentifier" in change:
        before = place(_name(change["previousIdentifier"])).name
        mentions.add(before, renamed=True)
        mentions.unite(name, before)
    columns = _content(dataset.facets, "columnLineage")
    for entry in columns.get("fields", {}).values():
        for each in entry["inputFields"]:
            mentions.add(place(_name(each)).name, reported=True)
    for each in columns.get("dataset", ()):
        mentions.add(place(_name(each)).name, reported=True)
    for each in _lineage_inputs(_content(dataset.facets, "lineage")):
        if each["type"] == "DATASET":
            mentions.add(place(_name(each)).name, reported=True)


def _lineage_inputs(stated: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from stated.get("inputs", ())
    for column in stated.get("fields", {}).values():
        yield from column["inputs"]


def _jobs_in(stated: Iterable[Mapping[str, Any]]) -> set[Name]:
    return {_name(each) for each in stated if each["type"] == "JOB" and "name" in each}


def _name(stated: Mapping[str, Any]) -> Name:
    return Name(stated["namespace"], stated["name"])


def _content(facets: Facets, name: str) -> Mapping[str, Any]:
    facet = facets.get(name)
    return facet.content if facet is not None and facet.modelled and not facet.deleted else {}
