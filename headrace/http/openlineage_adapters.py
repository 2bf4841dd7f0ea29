"""Convert the adapters' run events to OpenLineage events. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from headrace.catalog.published_events import PRODUCER
from headrace.http.problems import RequestRefused

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
_BASE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/BaseFacet"
_AS_KNOWN = "https://openlineage.io/spec/facets"  # stands for the current version


class AdapterEventType(StrEnum):
    """Type of an adapter's run event."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    OTHER = "OTHER"


_ENDS = {AdapterEventType.COMPLETE, AdapterEventType.FAIL, AdapterEventType.ABORT}


class AdapterRun(BaseModel):
    """A run: its id, start and end, as far as known."""

    model_config = ConfigDict(extra="forbid")

    runId: UUID
    startTime: AwareDatetime | None = None
    endTime: AwareDatetime | None = None
    facets: dict[str, Any] = {}


class AdapterJob(BaseModel):
    """A job: its system (`AUTOSYS`) and its name there (`BOX/JobA`)."""

    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(min_length=1)
    name: str = Field(min_length=1)
    facets: dict[str, Any] = {}


class AdapterDataset(BaseModel):
    """A dataset. Among its facets, `version` may be plain text, `rows` and `bytes` numbers, `path` text."""

    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(min_length=1)
    name: str = Field(min_length=1)
    facets: dict[str, Any] = {}


class AdapterEvent(BaseModel):
    """A run event of an adapter. eventTime: by default the run's endTime if it ends, otherwise its startTime."""

    model_config = ConfigDict(extra="forbid")

    eventType: AdapterEventType
    eventTime: AwareDatetime | None = None
    run: AdapterRun
    job: AdapterJob
    inputs: list[AdapterDataset] = []
    outputs: list[AdapterDataset] = []
    producer: str | None = None


def openlineage_events(event: AdapterEvent) -> list[dict[str, Any]]:
    """Convert to OpenLineage events: the event itself, preceded by a START if it ends a run with a known start.

    Raises Refused for an event without a time.
    """
    ends = event.eventType in _ENDS
    at = event.eventTime or (event.run.endTime if ends else event.run.startTime)
    if at is None:
        missing = "endTime" if ends else "startTime"
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"the time is missing: set {missing} of the run, or eventTime",
            field=f"body.run.{missing}",
        )
    producer = event.producer or PRODUCER
    events = []
    if ends and event.run.startTime is not None:
        began = _event("START", event.run.startTime, event, producer)
        # The START belongs to the same run: a caller who may report only that run may report both or neither.
        parent = {name: facet for name, facet in event.run.facets.items() if name == "parent"}
        began["run"]["facets"] = _facets(parent, producer)
        events.append(began)
    converted = _event(event.eventType, at, event, producer)
    converted["run"]["facets"] = _facets(event.run.facets, producer)
    converted["job"]["facets"] = _facets(event.job.facets, producer)
    converted["inputs"] = [_dataset(each, producer, is_output=False) for each in event.inputs]
    converted["outputs"] = [_dataset(each, producer, is_output=True) for each in event.outputs]
    return [*events, converted]


def _event(kind: str, at: datetime, event: AdapterEvent, producer: str) -> dict[str, Any]:
    return {
        "eventType": str(kind),
        "eventTime": at.isoformat(),
        "run": {"runId": str(event.run.runId)},
        "job": {"namespace": event.job.namespace, "name": event.job.name},
        "producer": producer,
        "schemaURL": _SPEC,
    }


def _dataset(dataset: AdapterDataset, producer: str, *, is_output: bool) -> dict[str, Any]:
    given = dict(dataset.facets)
    version = given.pop("version", None)
    counts = {
        name: given.pop(plain)
        for plain, name in (("rows", "rowCount"), ("bytes", "size"))
        if isinstance(given.get(plain), int)
    }
    facets = _facets(given, producer)
    if isinstance(version, str):
        schema = f"{_FACETS}/1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
        facets["version"] = {"_producer": producer, "_schemaURL": schema, "datasetVersion": version}
    elif version is not None:
        facets |= _facets({"version": version}, producer)
    fields: dict[str, Any] = {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}
    if counts:
        kind = "Output" if is_output else "Input"
        schema = f"{_FACETS}/1-0-2/{kind}Statistics{kind}DatasetFacet.json#/$defs/{kind}Statistics{kind}DatasetFacet"
        fields[f"{kind.lower()}Facets"] = {
            f"{kind.lower()}Statistics": {"_producer": producer, "_schemaURL": schema, **counts}
        }
    return fields


def _facets(given: Mapping[str, Any], producer: str) -> dict[str, Any]:
    """Complete the facets with the fields that the spec requires; a plain value becomes a facet."""
    return {
        name: {"_producer": producer, "_schemaURL": _AS_KNOWN, **value}
        if isinstance(value, dict)
        else {"_producer": producer, "_schemaURL": _BASE, "value": value}
        for name, value in given.items()
    }
