"""The sensitive fields of API responses, by field name and context.

A test walks every answer of the API and every standard facet for a field that is neither here nor known to be public.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from headrace.events.openlineage.facet_schemas import facet_schemas


class Kind(StrEnum):
    """What kind of sensitive thing a field of an answer holds."""

    LOCATION = "LOCATION"
    METADATA = "METADATA"  # whatever was thought worth keeping: addresses and options of readers among it
    STATISTICS = "STATISTICS"  # an object with a field for each column
    SAMPLE = "SAMPLE"
    CHECK = "CHECK"  # what a check compares with, and what it met
    SOURCE = "SOURCE"
    ERROR = "ERROR"
    FACET = "FACET"  # an unmodelled one: Spark's plan, with the values that a query compares with


# By the names that fields have in the rows of `headrace.catalog.queries` and in OpenLineage's facets.
FIELDS: Mapping[str, Kind] = {
    "location": Kind.LOCATION,
    "path": Kind.LOCATION,
    "uri": Kind.LOCATION,
    "log_location": Kind.LOCATION,
    "quarantine_location": Kind.LOCATION,
    "quarantineLocation": Kind.LOCATION,
    "connectionUrl": Kind.LOCATION,
    "metadataUri": Kind.LOCATION,
    "warehouseUri": Kind.LOCATION,
    "catalogProperties": Kind.LOCATION,
    "locations": Kind.LOCATION,
    "identifiers": Kind.LOCATION,
    "previousIdentifier": Kind.LOCATION,
    "metadata": Kind.METADATA,
    "options": Kind.METADATA,
    "statistics": Kind.STATISTICS,
    "columnMetrics": Kind.STATISTICS,
    "dimensions": Kind.STATISTICS,  # partition values
    "identifier": Kind.SAMPLE,  # the same as one text
    "sample": Kind.SAMPLE,
    "samples": Kind.SAMPLE,
    "preview": Kind.SAMPLE,
    "detail": Kind.CHECK,
    "parameters": Kind.CHECK,
    "params": Kind.CHECK,
    "expected": Kind.CHECK,
    "actual": Kind.CHECK,
    "content": Kind.CHECK,
    "source": Kind.SOURCE,
    "process_source": Kind.SOURCE,
    "query": Kind.SOURCE,
    "sql": Kind.SOURCE,
    "sourceCode": Kind.SOURCE,
    "command": Kind.SOURCE,
    "expression": Kind.SOURCE,
    "transformationDescription": Kind.SOURCE,
    "environmentVariables": Kind.SOURCE,
    "stackTrace": Kind.ERROR,
    "errorMessage": Kind.ERROR,
}
FACET = "_schemaURL"  # by which one knows a facet
OF_EVERY_FACET = frozenset({"_producer", FACET, "_deleted"})
# Those whose names mean many things; `_kind` tells by what stands beside them.
_NAMES = frozenset(
    {*FIELDS, FACET, "modelled", "message", "reason", "description", "name", "namespace", "value", "task"}
)
_TEXTS = frozenset({"query", "sql", "source", "path", "sourceCode", "command", "errorMessage", "expression"})
COLUMN = ("column", "column_name", "field")


def sort(name: str, around: Mapping[str, Any]) -> Kind | None:
    """What the field of this name holds, of an object `around`; None if it is public."""
    value = around[name]
    if isinstance(value, dict):
        if not _is_modelled(name, value, around):
            return Kind.FACET
        if FACET in value or "modelled" in value:
            return None  # one of the spec, in which each field is found by its own name
    return _kind(name, around)


def may_hold_any(name: str) -> bool:
    """Whether a field of this name may be sensitive, whatever stands beside it; asked first, as it takes no time."""
    return name in _NAMES


def _is_modelled(name: str, value: Mapping[str, Any], around: Mapping[str, Any]) -> bool:
    """False for a facet that is not of the spec: where the catalog tells of it (`FacetRow`), or as it came."""
    if name == "content" and "modelled" in around:
        return bool(around["modelled"])
    if FACET not in value:
        return True
    url = str(value[FACET])
    return any(name in known and known[name].describes(url) for known in facet_schemas().values())


def _kind(name: str, around: Mapping[str, Any]) -> Kind | None:
    """What the field holds, by its name and by what stands beside it."""
    value = around[name]
    kind = FIELDS.get(name)
    if kind is None:
        return _beside(name, around)
    if kind is Kind.CHECK and isinstance(value, list):
        return Kind.SOURCE if name == "parameters" else None  # what a job was started with
    if kind is Kind.CHECK and not any(
        each in around for each in ("status", "assertion", "severity", *COLUMN)
    ):
        return None  # `detail`, `content` and the like mean other things elsewhere
    if name == "source" and ("target" in around or "value" in around or "externalQueryId" in around):
        return None  # where an edge begins, who has set a tag, or who has answered a query
    if name in _TEXTS and not isinstance(value, str):
        return None  # an object or a list, in which the text is found by its own name
    return kind


def _is_of_a_run(around: Mapping[str, Any]) -> bool:
    """Whether it is an attempt, an alert that one has failed, or an incident that one has caused."""
    return (
        "failure_kind" in around
        or around.get("kind") == "RUN_FAILED"
        or ("cause_type" in around and around.get("run_id") is not None)
    )


def _beside(name: str, around: Mapping[str, Any]) -> Kind | None:
    """What a field with a name of many meanings holds."""
    if name == "message" and "programmingLanguage" in around:
        return Kind.ERROR  # OpenLineage's errorMessage
    if name == "reason" and _is_of_a_run(around):
        return Kind.ERROR
    if name == "description" and "masking" in around:
        return Kind.SOURCE  # how a column is made
    if name in ("namespace", "name") and around.get("canonical") is False:
        return Kind.LOCATION  # what a dataset is called elsewhere: its path, or its table
    if name == "name" and "uri" in around:
        return Kind.LOCATION  # where it comes from
    if name == "task" and "errorMessage" in around:
        return Kind.SOURCE  # the query that could not be read
    if name == "value" and around.get("type") == "literal":
        return Kind.SAMPLE  # what the rows of a subset are compared with
    return None
