"""Mask JSON that other systems wrote, which has no types of ours: OpenLineage facets, and free metadata.

Fields are known by name and, where a name means several things, by their neighbours. In a facet of the spec a text is
shown only if `PUBLIC_FACET_FIELDS` lists its field; the test of all standard facets keeps the list complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.access.sensitivity import MASK, Sensitive
from headrace.catalog.masking.policy import Policy, Subject, masked, unless_changed
from headrace.catalog.naming import Name, key_of, own_namespace, place
from headrace.context import current_context

_FACET_ADDRESS = "_schemaURL"
_OF_EVERY_FACET = frozenset({"_producer", _FACET_ADDRESS, "_deleted"})
_COLUMN = ("column", "field")

_SENSITIVE_FIELDS: Mapping[str, Sensitive] = {
    "location": Sensitive.LOCATION,
    "path": Sensitive.LOCATION,
    "uri": Sensitive.LOCATION,
    "connectionUrl": Sensitive.LOCATION,
    "metadataUri": Sensitive.LOCATION,
    "warehouseUri": Sensitive.LOCATION,
    "catalogProperties": Sensitive.LOCATION,
    "locations": Sensitive.LOCATION,
    "identifiers": Sensitive.LOCATION,
    "previousIdentifier": Sensitive.LOCATION,
    "options": Sensitive.METADATA,
    "columnMetrics": Sensitive.STATISTICS,
    "dimensions": Sensitive.STATISTICS,  # partition values
    "identifier": Sensitive.SAMPLE,  # partition values as one text
    "sample": Sensitive.SAMPLE,
    "samples": Sensitive.SAMPLE,
    "preview": Sensitive.SAMPLE,
    "parameters": Sensitive.SOURCE,  # what a job was started with
    "params": Sensitive.CHECK,
    "expected": Sensitive.CHECK,
    "actual": Sensitive.CHECK,
    "content": Sensitive.CHECK,
    "query": Sensitive.SOURCE,
    "sql": Sensitive.SOURCE,
    "sourceCode": Sensitive.SOURCE,
    "command": Sensitive.SOURCE,
    "expression": Sensitive.SOURCE,
    "transformationDescription": Sensitive.SOURCE,
    "environmentVariables": Sensitive.SOURCE,
    "stackTrace": Sensitive.ERROR,
    "errorMessage": Sensitive.ERROR,
}
_TEXTS = frozenset({"query", "sql", "path", "sourceCode", "command", "errorMessage", "expression"})

# The text fields of standard facets that hold no value, place or code.
PUBLIC_FACET_FIELDS: Mapping[str, frozenset[str]] = {
    facet: frozenset(fields.split())
    for facet, fields in {
        "catalog": "framework name type",
        "columnLineage": "field name namespace subtype transformationType type",
        "dataQualityAssertions": "assertion column contentType description name severity",
        "dataQualityMetrics": "lastUpdated",
        "datasetType": "datasetType subType",
        "documentation": "contentType description",
        "errorMessage": "programmingLanguage",
        "externalQuery": "externalQueryId source",
        "hierarchy": "name type",
        "jobDependencies": "dependency_type name namespace runId sequence_trigger_rule status_trigger_rule "
        "trigger_rule",
        "jobType": "eventContentMode eventTrigger integration jobType processingType",
        "lifecycleStateChange": "lifecycleStateChange",
        "lineage": "field name namespace runId subtype type",
        "nominalTime": "nominalEndTime nominalStartTime",
        "ownership": "name type",
        "parent": "name namespace runId",
        "processing_engine": "name openlineageAdapterVersion version",
        "schema": "description name type",
        "sourceCode": "language",
        "sourceCodeLocation": "branch pullRequestNumber repoUrl tag type url version",
        "sql": "dialect",
        "storage": "fileFormat storageLayer",
        "subset": "comparison field operator type",
        "tags": "field key source value",
        "test": "contentType description name severity status type",
        "version": "datasetVersion",
    }.items()
}


def masked_json(value: Any, about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - JSON
    """Return free metadata as the caller may see it: without code, messages and values, by the names of fields."""
    return _masked(value, about, policy, None)


def masked_facet(name: str | None, content: Any, about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a facet as the caller may see it. name: None for a facet that is not of the spec."""
    if name is None or not isinstance(content, Mapping):
        return _masked_unknown(content, about, policy)
    return _masked(content, about, policy, PUBLIC_FACET_FIELDS.get(name, frozenset()))


def _masked(value: Any, about: Subject, policy: Policy, public: frozenset[str] | None) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return unless_changed(value, [_masked(each, about, policy, public) for each in value])
    if not isinstance(value, Mapping):
        return value
    about = _subject(value, about)
    columns = [value[name] for name in _COLUMN if isinstance(value.get(name), str)]
    shown = {
        name: _masked_field(name, each, value, columns, about, policy, public) for name, each in value.items()
    }
    return unless_changed(value, shown)


def _masked_field(
    name: str,
    value: Any,  # noqa: ANN401 - JSON
    around: Mapping[str, Any],
    columns: list[str],
    about: Subject,
    policy: Policy,
    public: frozenset[str] | None,
) -> Any:  # noqa: ANN401 - JSON
    kind = _kind(name, value, around)
    if kind is not None:
        return masked(kind, value, columns, about, policy)
    if isinstance(value, Mapping) and _FACET_ADDRESS in value:
        return _masked_unknown(value, about, policy)  # a facet within another is of no known schema
    if isinstance(value, str) and public is not None and name not in public and name not in _OF_EVERY_FACET:
        return masked(Sensitive.FACET, value, (), about, policy)
    if isinstance(value, list) and any(isinstance(each, str) for each in value):
        hidden = public is not None and name not in public
        return masked(Sensitive.FACET, value, (), about, policy) if hidden else value
    return _masked(value, about, policy, public)


def _masked_unknown(content: Any, about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - JSON
    if not content or policy.allows(Sensitive.FACET, about):
        return content
    if not isinstance(content, Mapping):
        return MASK
    return {name: each if name in _OF_EVERY_FACET else MASK for name, each in content.items()}


def _kind(name: str, value: object, around: Mapping[str, Any]) -> Sensitive | None:
    """Return what a field holds, by its name and its neighbours; None if it is not sensitive by name."""
    kind = _SENSITIVE_FIELDS.get(name)
    if kind is None:
        return _kind_of_ambiguous(name, around)
    if name == "parameters" and not isinstance(value, list):
        return Sensitive.CHECK if _is_of_check(around) else None
    if kind is Sensitive.CHECK and (isinstance(value, list) or not _is_of_check(around)):
        return None
    if name in _TEXTS and not isinstance(value, str):
        return None  # an object or a list, in which the text is found by its own name
    return kind


def _is_of_check(around: Mapping[str, Any]) -> bool:
    return any(each in around for each in ("status", "assertion", "severity", *_COLUMN))


def _kind_of_ambiguous(name: str, around: Mapping[str, Any]) -> Sensitive | None:
    if name == "message" and "programmingLanguage" in around:
        return Sensitive.ERROR  # the errorMessage facet
    if name == "description" and "masking" in around:
        return Sensitive.SOURCE  # how a column is made
    if name == "name" and "uri" in around:
        return Sensitive.LOCATION  # the dataSource facet
    if name == "task" and "errorMessage" in around:
        return Sensitive.SOURCE  # the extractionError facet: the query that could not be read
    if name == "value" and around.get("type") == "literal":
        return Sensitive.SAMPLE  # the subset facet: what rows are compared with
    return None


def _subject(value: Mapping[str, Any], about: Subject) -> Subject:
    """Return the dataset and process that an object names, or else what it is part of."""
    if isinstance(value.get("namespace"), str) and isinstance(value.get("name"), str):
        key = _key(value["namespace"], value["name"])
        about = Subject(key, key)
    job = value.get("job")
    if (
        isinstance(job, Mapping)
        and isinstance(job.get("namespace"), str)
        and isinstance(job.get("name"), str)
    ):
        about = replace(about, process=_key(job["namespace"], job["name"]))
    return about


def _key(namespace: str, name: str) -> str:
    own = own_namespace(current_context().organisation)
    return key_of(place(Name(namespace, name), own).name, own)
