"""Parse decoded JSON to an OpenLineage event by the spec's schemas; errors are reported by field."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from headrace.access.redaction import has_secrets, scrubbed
from headrace.catalog.naming import Name
from headrace.openlineage import facet_schemas as schemas
from headrace.openlineage.facet_schemas import (
    DATASET,
    INPUT,
    JOB,
    OUTPUT,
    RUN,
    event_schema,
    facet_schemas,
)
from headrace.openlineage.limits import InvalidEvent, Path, encoded, field, refuse_depth
from headrace.openlineage.model import (
    AnyEvent,
    Dataset,
    DatasetEvent,
    EventType,
    Facet,
    Facets,
    Job,
    JobEvent,
    RunEvent,
)
from headrace.openlineage.tolerance import tolerated

MAX_DATASETS = 5000  # datasets per event
MAX_PAIRS = 50_000  # pairs of an input and an output, without a lineage facet that narrows them down
MAX_NAMESPACE, MAX_NAME = 1000, 1500  # bytes: an index entry of PostgreSQL has at most 2,700
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)  # allows for clock skew and wrong time zones
_TIMES = {"nominalTime": ("nominalStartTime", "nominalEndTime"), "dataQualityMetrics": ("lastUpdated",)}
_VERSION = re.compile(r"/spec/(\d+)-\d+-\d+/OpenLineage\.json")


def parse(body: object, *, received_at: datetime | None = None) -> AnyEvent:
    """Parse an event from decoded JSON.

    Raises InvalidEvent with the field: for violations of the spec; for a newer model of the spec; for times before
    2000, or more than a day after `received_at` (now); for text that PostgreSQL cannot store (NUL, an unpaired
    surrogate); for more than 8 MiB, 100 levels, 5,000 datasets or 50,000 pairs of inputs and outputs in one event,
    names longer than 1,500 bytes and namespaces longer than 1,000.
    """
    if not isinstance(body, dict):
        raise InvalidEvent(f"an event is a JSON object, and not {_kind_of(body)}")
    refuse_depth(body)
    body, warnings = tolerated(body)
    body, content = _without_secrets(body)
    kind = _event_kind(body)
    _refuse_version(body.get("schemaURL"))
    fault = event_schema(kind).fault(body)
    if fault is not None:
        raise InvalidEvent(fault.reason, field(fault.path))
    at = _time(body["eventTime"], "eventTime", received_at or datetime.now(UTC))
    common: dict[str, Any] = {
        "at": at,
        "producer": body["producer"],
        "schema_url": body["schemaURL"],
        "digest": hashlib.sha256(content).hexdigest(),
        "encoded": content,
        "warnings": warnings,
    }
    if kind == "DatasetEvent":
        return DatasetEvent(**common, dataset=_dataset(body["dataset"], ("dataset",), None))
    described: dict[str, Any] = {
        "job": _job(body["job"]),
        "inputs": _datasets(body, "inputs", INPUT),
        "outputs": _datasets(body, "outputs", OUTPUT),
    }
    _refuse_breadth(**described)
    if kind == "JobEvent":
        return JobEvent(**common, **described)
    run = body["run"]
    return RunEvent(
        **common,
        **described,
        event_type=EventType(body["eventType"]) if "eventType" in body else None,
        run_id=UUID(run["runId"]),
        run_facets=_facets(run, "facets", RUN, ("run",)),
    )


def _without_secrets(body: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the event and its JSON text, redacted: what is not stored cannot be shown, or found by a search."""
    content = encoded(body)
    if not has_secrets(content.decode()):
        return body, content
    redacted: dict[str, Any] = scrubbed(body)
    return redacted, encoded(redacted)


def _refuse_breadth(job: Job, inputs: Sequence[Dataset], outputs: Sequence[Dataset]) -> None:
    """Raise InvalidEvent for an event with so many edges that storing it would delay all others."""
    if len(inputs) + len(outputs) > MAX_DATASETS:
        larger = "inputs" if len(inputs) > len(outputs) else "outputs"
        raise InvalidEvent(
            f"the event has {len(inputs) + len(outputs):,} datasets; the maximum is {MAX_DATASETS:,}:"
            " send them in several events of the run",
            larger,
        )
    if len(inputs) * len(outputs) <= MAX_PAIRS:
        return
    lineage = job.facets.get("lineage")
    entries = lineage.content.get("entries", ()) if lineage is not None and lineage.modelled else ()
    explained = {Name(each["namespace"], each["name"]) for each in entries if each["type"] == "DATASET"}
    open_ = [each for each in outputs if each.name not in explained and "lineage" not in each.facets]
    if len(inputs) * len(open_) > MAX_PAIRS:
        raise InvalidEvent(
            f"{len(inputs):,} inputs would lead to {len(open_):,} outputs each; the maximum is {MAX_PAIRS:,}"
            " such pairs: narrow them down with `lineage` facets",
            "outputs",
        )


def _event_kind(body: Mapping[str, Any]) -> str:
    """Return the kind of the event, as the spec distinguishes them."""
    if "run" in body and "job" in body:
        return "RunEvent"
    if "dataset" in body and "job" in body:
        raise InvalidEvent(
            "an event with a dataset and a job and no run is neither of the two: leave one out", "job"
        )
    if "dataset" in body:
        return "DatasetEvent"
    if "run" in body:
        raise InvalidEvent('"job" is a required property of an event with a run', "job")
    if "job" in body:
        return "JobEvent"
    raise InvalidEvent(
        'there is neither "run" and "job" (a RunEvent), "job" (a JobEvent) nor "dataset" (a DatasetEvent)'
    )


def _refuse_version(schema_url: object) -> None:
    found = _VERSION.search(schema_url) if isinstance(schema_url, str) else None
    if found is not None and int(found[1]) > schemas.MODEL:
        raise InvalidEvent(
            f"{found[0][1:]} is a later model of the spec than 2-0-2, which is the newest known", "schemaURL"
        )


def _job(stated: Mapping[str, Any]) -> Job:
    return Job(_name(stated, ("job",)), _facets(stated, "facets", JOB, ("job",)))


def _datasets(body: Mapping[str, Any], role: str, use: str) -> tuple[Dataset, ...]:
    return tuple(_dataset(each, (role, index), use) for index, each in enumerate(body.get(role, ())))


def _dataset(stated: Mapping[str, Any], path: Path, use: str | None) -> Dataset:
    used = _facets(stated, f"{use}Facets", use, path) if use is not None else {}
    return Dataset(_name(stated, path), _facets(stated, "facets", DATASET, path), used)


def _name(stated: Mapping[str, Any], path: Path) -> Name:
    name = Name(stated["namespace"], stated["name"])
    refuse_name(name, path)
    return name


def refuse_name(name: Name, path: Path) -> None:
    """Raise InvalidEvent for an invalid name, or one too long for an index."""
    if not name.name:
        raise InvalidEvent("is empty, and identifies nothing", field((*path, "name")))
    for part, text, most in (("namespace", name.namespace, MAX_NAMESPACE), ("name", name.name, MAX_NAME)):
        size = len(text.encode())
        if size > most:
            raise InvalidEvent(f"is {size:,} bytes long; the maximum is {most:,}", field((*path, part)))


def _facets(entity: Mapping[str, Any], key: str, place: str, path: Path) -> Facets:
    known = facet_schemas()[place]
    facets: dict[str, Facet] = {}
    for name, content in entity.get(key, {}).items():
        if len(name.encode()) > MAX_NAME:
            raise InvalidEvent(f"has a name of more than {MAX_NAME:,} bytes", field((*path, key, name)))
        deleted = content.get("_deleted") is True
        standard = known.get(name)
        modelled = standard is not None and standard.describes(content["_schemaURL"])
        if standard is not None and modelled and not deleted:
            fault = standard.schema.fault(content)
            if fault is not None:
                raise InvalidEvent(fault.reason, field((*path, key, name, *fault.path)))
            _refuse_values(name, content, (*path, key, name))
            for inner, named in _named(name, content):
                refuse_name(named, (*path, key, name, *inner))
        facets[name] = Facet(content, modelled, deleted)
    return facets


def _named(facet: str, content: Mapping[str, Any]) -> Iterator[tuple[Path, Name]]:
    """Yield the datasets and jobs that a facet names, each with its place in it."""
    if facet == "symlinks":
        for index, each in enumerate(content.get("identifiers", ())):
            if each["name"]:  # without one, it names nothing
                yield ("identifiers", index), Name(each["namespace"], each["name"])
    elif facet == "lifecycleStateChange" and "previousIdentifier" in content:
        before = content["previousIdentifier"]
        yield ("previousIdentifier",), Name(before["namespace"], before["name"])
    elif facet == "parent":
        yield ("job",), Name(content["job"]["namespace"], content["job"]["name"])
    elif facet == "columnLineage":
        for column, entry in content["fields"].items():
            for index, each in enumerate(entry["inputFields"]):
                yield ("fields", column, "inputFields", index), Name(each["namespace"], each["name"])
        for index, each in enumerate(content.get("dataset", ())):
            yield ("dataset", index), Name(each["namespace"], each["name"])
    elif facet == "lineage":
        for index, entry in enumerate(content.get("entries", ())):
            yield from _sources(entry, ("entries", index))
            if "name" in entry:
                yield ("entries", index), Name(entry["namespace"], entry["name"])
        yield from _sources(content, ())


def _sources(entry: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Name]]:
    for index, each in enumerate(entry.get("inputs", ())):
        if "name" in each:
            yield (*path, "inputs", index), Name(each["namespace"], each["name"])
    for column, stated in entry.get("fields", {}).items():
        for index, each in enumerate(stated["inputs"]):
            if "name" in each:
                yield (*path, "fields", column, "inputs", index), Name(each["namespace"], each["name"])


def _refuse_values(facet: str, content: Mapping[str, Any], path: Path) -> None:
    """Raise InvalidEvent for invalid times, and for a version that is too long for an index."""
    for key in _TIMES.get(facet, ()):
        if key in content:
            _time(content[key], field((*path, key)), datetime.max.replace(tzinfo=UTC) - _AHEAD)
    version = content["datasetVersion"] if facet == "version" else ""
    if len(version.encode()) > MAX_NAME:
        raise InvalidEvent(f"is longer than {MAX_NAME:,} bytes", field((*path, "datasetVersion")))


def _time(text: str, place: str, received_at: datetime) -> datetime:
    try:
        at = _moment(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidEvent(f"{text} is not a valid time: {error}", place) from error
    if at < EARLIEST:
        raise InvalidEvent(
            f"{text} is before {EARLIEST:%Y}: set the clock of the machine that sent it", place
        )
    if at > received_at + _AHEAD:
        raise InvalidEvent(f"{text} is in the future: set the clock of the machine that sent it", place)
    return at


def _moment(text: str) -> datetime:
    """Parse an RFC 3339 time: `t` and `z` may be lower-case, and a minute may have a leap second."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        plain = text.upper()
        if plain[16:19] != ":60":
            return datetime.fromisoformat(plain)
        return datetime.fromisoformat(f"{plain[:16]}:59{plain[19:]}") + timedelta(seconds=1)


def _kind_of(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
