"""The sensitive fields of API responses, by field name and context.

A test checks that every field of every response and every standard facet is either listed here or known to be public.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from headrace.events.openlineage.facet_schemas import facet_schemas


class Kind(StrEnum):
    """Kind of sensitive data in a field."""

    LOCATION = "LOCATION"
    METADATA = "METADATA"  # free metadata, which may include addresses and reader options
    STATISTICS = "STATISTICS"  # an object with a field per column
    SAMPLE = "SAMPLE"
    CHECK = "CHECK"  # expected and actual values of checks
    SOURCE = "SOURCE"
    ERROR = "ERROR"
    FACET = "FACET"  # an unmodelled one: Spark's plan, with the literals of a query


# By field name in the rows of `headrace.catalog.queries` and in OpenLineage's facets.
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
    "identifier": Kind.SAMPLE,  # the same as text
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
FACET = "_schemaURL"  # identifies a facet
OF_EVERY_FACET = frozenset({"_producer", FACET, "_deleted"})
# Field names with several meanings; `_kind` decides by the neighbouring fields.
_NAMES = frozenset(
    {*FIELDS, FACET, "modelled", "message", "reason", "description", "name", "namespace", "value", "task"}
)
_TEXTS = frozenset({"query", "sql", "source", "path", "sourceCode", "command", "errorMessage", "expression"})
COLUMN = ("column", "column_name", "field")


def sort(name: str, around: Mapping[str, Any]) -> Kind | None:
    """Return the kind of data in the field of an object `around`; None if it is public."""
    value = around[name]
    if isinstance(value, dict):
        if not _is_modelled(name, value, around):
            return Kind.FACET
        if FACET in value or "modelled" in value:
            return None  # a standard one, in which each field is classified by its own name
    return _kind(name, around)


def may_hold_any(name: str) -> bool:
    """Return True if a field of this name may be sensitive, whatever its neighbours; a fast check, made first."""
    return name in _NAMES


def _is_modelled(name: str, value: Mapping[str, Any], around: Mapping[str, Any]) -> bool:
    """Return False for a facet that is not in the spec, as a `FacetRow` or as received."""
    if name == "content" and "modelled" in around:
        return bool(around["modelled"])
    if FACET not in value:
        return True
    url = str(value[FACET])
    return any(name in known and known[name].describes(url) for known in facet_schemas().values())


def _kind(name: str, around: Mapping[str, Any]) -> Kind | None:
    """Return the kind of data in the field, by its name and its neighbours."""
    value = around[name]
    kind = FIELDS.get(name)
    if kind is None:
        return _beside(name, around)
    if kind is Kind.CHECK and isinstance(value, list):
        return Kind.SOURCE if name == "parameters" else None  # the command line of a job
    if kind is Kind.CHECK and not any(
        each in around for each in ("status", "assertion", "severity", *COLUMN)
    ):
        return None  # `detail`, `content` and similar names have other meanings elsewhere
    if name == "source" and ("target" in around or "value" in around or "externalQueryId" in around):
        return None  # the start of an edge, who set a tag, or who answered a query
    if name in _TEXTS and not isinstance(value, str):
        return None  # an object or list, in which the text is classified by its own name
    return kind


def _is_of_a_run(around: Mapping[str, Any]) -> bool:
    """Return True for an attempt, an alert about a failed attempt, or an incident caused by one."""
    return (
        "failure_kind" in around
        or around.get("kind") == "RUN_FAILED"
        or ("cause_type" in around and around.get("run_id") is not None)
    )


def _beside(name: str, around: Mapping[str, Any]) -> Kind | None:
    """Return the kind of data in a field whose name has several meanings."""
    if name == "message" and "programmingLanguage" in around:
        return Kind.ERROR  # OpenLineage's errorMessage
    if name == "reason" and _is_of_a_run(around):
        return Kind.ERROR
    if name == "description" and "masking" in around:
        return Kind.SOURCE  # the derivation of a column
    if name in ("namespace", "name") and around.get("canonical") is False:
        return Kind.LOCATION  # another name of a dataset: its path or table
    if name == "name" and "uri" in around:
        return Kind.LOCATION  # the location
    if name == "task" and "errorMessage" in around:
        return Kind.SOURCE  # the query that could not be parsed
    if name == "value" and around.get("type") == "literal":
        return Kind.SAMPLE  # the values that the rows of a subset are compared with
    return None
