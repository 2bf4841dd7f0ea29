"""The spec's event schemas, compiled: one per kind of event, and one per standard facet and place.

shapes.json contains core 2-0-2 and its facets, from https://github.com/OpenLineage/OpenLineage at 8f02abf, `spec`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationError, ValidationErrorKind

from headrace.openlineage.schema_digest import SHAPES

MODEL = 2  # major version of the supported spec (2-0-2); earlier ones are compatible
_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_FACET_FILE = re.compile(r"(Run|Job|InputDataset|OutputDataset|Dataset)Facet$")
# The core document has no model of a facet: clients use its address for facets without one of their own.
_FACET_VERSION = re.compile(r"/(\d+)-\d+-\d+/(?!OpenLineage\.json)\w+\.json")
# Where facets occur; the places of facets whose file names do not give it.
RUN, JOB, DATASET, INPUT, OUTPUT = "run", "job", "dataset", "input", "output"
_PLACES = {
    "Run": [RUN],
    "Job": [JOB],
    "Dataset": [DATASET],
    "InputDataset": [INPUT],
    "OutputDataset": [OUTPUT],
}
_PARTICULAR = {
    "LineageFacet": {DATASET: "#/$defs/LineageDatasetFacet", JOB: "#/$defs/LineageJobFacet"},
    "BaseSubsetDatasetFacet": {
        INPUT: "#/$defs/InputSubsetInputDatasetFacet",
        OUTPUT: "#/$defs/OutputSubsetOutputDatasetFacet",
    },
    "DataQualityAssertionsDatasetFacet": dict.fromkeys((DATASET, INPUT, OUTPUT), "#/$defs/"),
    "DataQualityMetricsDatasetFacet": dict.fromkeys((DATASET, OUTPUT), "#/$defs/"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A violation of the schema, and its path from the root."""

    reason: str
    path: tuple[str | int, ...]


class Schema:
    """A compiled schema."""

    def __init__(self, reference: str) -> None:
        self._validator = jsonschema_rs.Draft202012Validator(
            {"$ref": reference}, registry=_registry(), validate_formats=True, formats=_formats()
        )

    def fault(self, value: object) -> Fault | None:
        """Return the first violation, as deep as it can be located; None if the value is valid."""
        if self._validator.is_valid(value):
            return None
        error = _deepest(self._validator.iter_errors(value))
        return Fault(_message(error), _path(error))


@dataclass(frozen=True, slots=True)
class FacetSchema:
    """The schema of a standard facet. model: its major version; a facet of another model is a different facet."""

    schema: Schema
    model: int

    def describes(self, schema_url: str) -> bool:
        """Return True if a facet with this _schemaURL has the schema's model; one without a version does."""
        found = _FACET_VERSION.search(schema_url)
        return found is None or int(found[1]) == self.model


@cache
def event_schema(kind: str) -> Schema:
    """Return the schema of `RunEvent`, `JobEvent` or `DatasetEvent`."""
    return Schema(_CORE + kind)


@cache
def facet_schemas() -> Mapping[str, Mapping[str, FacetSchema]]:
    """Return the schemas of the standard facets, by place and name."""
    found: dict[str, dict[str, FacetSchema]] = {place: {} for place in (RUN, JOB, DATASET, INPUT, OUTPUT)}
    for name, document in _documents().items():
        if name == "OpenLineage":
            continue
        (key,) = document["properties"]
        version = _FACET_VERSION.search(document["$id"])
        assert version is not None  # noqa: S101 - files of the spec
        for place, pointer in _pointers(name, key):
            compiled = Schema(document["$id"] + pointer)
            found[place][key] = FacetSchema(compiled, int(version[1]))
    return found


def _pointers(name: str, key: str) -> Iterator[tuple[str, str]]:
    whole = f"#/properties/{key}"
    if name in _PARTICULAR:
        for place, pointer in _PARTICULAR[name].items():
            yield place, whole if pointer == "#/$defs/" else pointer
        return
    suffix = _FACET_FILE.search(name)
    assert suffix is not None  # noqa: S101 - files of the spec
    for place in _PLACES[suffix[1]]:
        yield place, whole


@cache
def _documents() -> Mapping[str, dict[str, Any]]:
    shapes: dict[str, dict[str, Any]] = json.loads(SHAPES.read_text(encoding="utf-8"))
    return shapes


def core() -> Mapping[str, Any]:
    """Return the schema of the three kinds of events, in `$defs`."""
    return _documents()["OpenLineage"]


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(document["$id"], document) for document in _documents().values()])


def _formats() -> dict[str, Any]:
    # Spark reports `file` as the URI of a data source: formats are not enforced, and nothing here depends on this one.
    return {"uri": lambda _: True}


def _deepest(errors: Iterable[ValidationError]) -> ValidationError:
    """Yield the most specific error: of several failed alternatives, the one of the stated `type`, otherwise the
    deepest."""

    def alternatives(error: ValidationError) -> Iterator[ValidationError]:
        branches = getattr(error.kind, "context", None)
        if not branches:
            yield error
            return
        meant = [branch for branch in branches if not any(map(_is_other_type, branch))]
        for branch in meant or [filter(_is_other_type, branch) for branch in branches]:
            for inner in branch:
                yield from alternatives(inner)

    found = [inner for error in errors for inner in alternatives(error)]
    return max(found, key=lambda error: (len(_path(error)), _missing(error) is not None))


def _is_other_type(error: ValidationError) -> bool:
    kinds = (ValidationErrorKind.Constant, ValidationErrorKind.Enum)
    return isinstance(error.kind, kinds) and error.instance_path[-1:] == ["type"]


def _path(error: ValidationError) -> tuple[str | int, ...]:
    """Return the path of the error; for a missing property, the path it would have."""
    missing = _missing(error)
    return (*error.instance_path, *([missing] if missing is not None else []))


def _missing(error: ValidationError) -> str | None:
    return error.kind.property if isinstance(error.kind, ValidationErrorKind.Required) else None


def _message(error: ValidationError) -> str:
    text = error.message.splitlines()[0]
    return text if len(text) <= 200 else f"{text[:80]} ... {text[-110:]}"
