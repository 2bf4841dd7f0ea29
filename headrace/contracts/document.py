"""Terms as a document of the Open Data Contract Standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.catalog.records import Column
from headrace.catalog.schema import sensitive
from headrace.contracts.columns import type_fields, type_options
from headrace.contracts.declared import check_of, declared_sla
from headrace.contracts.rules import VENDOR, rule_of
from headrace.contracts.terms import Terms

API_VERSION = "v3.1.0"
FIRST_VERSION = "1.0.0"
CONFIDENTIAL = "confidential"  # the classification of a sensitive column
RETIRED = "retired"  # of a dataset's migration, and the status of its contract
STATED_SLA = {
    "max_age_seconds",
    "deadline",
    "timezone",
}  # the parts of an SLA for which the standard has fields
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def contract(
    terms: Terms, version: str = FIRST_VERSION, servers: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the contract of a dataset. servers: places of its data in addition to the declared one."""
    found: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "DataContract",
        "id": terms.key,
        "version": version,
        "status": RETIRED if terms.tags.get("migration") == RETIRED else "active",
        "name": terms.name,
        "domain": terms.domain,
        "tags": [f"{name}:{value}" if value else name for name, value in terms.tags.items()],
        "description": {"purpose": terms.description} if terms.description else None,
        "servers": [*_declared_server(terms), *servers],
        "schema": [schema_object(terms)],
        "team": {"members": [{"username": owner, "role": "owner"} for owner in terms.owners]}
        if terms.owners
        else None,
        "slaProperties": _sla(terms),
        "customProperties": [{"property": VENDOR, "value": _rest(terms)}],
    }
    return {name: value for name, value in found.items() if value}


def text_of(document: Mapping[str, Any]) -> str:
    """Return the YAML of a contract. Raises pydantic.ValidationError for a document that is none."""
    from open_data_contract_standard.model import OpenDataContractStandard

    return OpenDataContractStandard.model_validate(document).to_yaml()


def schema_object(terms: Terms) -> dict[str, Any]:
    """Return the dataset as an object of a contract's schema."""
    of_columns = {column.name for column in terms.columns}
    rules = [rule_of(check) for check in terms.checks if check.column not in of_columns]
    found: dict[str, Any] = {
        "name": terms.name,
        "logicalType": "object",
        "physicalType": "table",
        "description": terms.description,
        "properties": [_property(column, terms) for column in terms.columns],
        "quality": rules,
    }
    return {name: value for name, value in found.items() if value}


def _property(column: Column, terms: Terms) -> dict[str, Any]:
    checks = [check for check in terms.checks if check.column == column.name]
    options, rest = type_options(checks, column.type)
    unique = rule_of_uniqueness(column.name)
    keys = _partition_columns(terms)
    found: dict[str, Any] = {
        "name": column.name,
        **type_fields(column.type),
        "logicalTypeOptions": options,
        "description": column.description,
        "required": not column.nullable,
        "unique": any(rule_of(check) == unique for check in rest),
        "tags": list(column.tags),
        "classification": CONFIDENTIAL if sensitive([column]) else None,
        "quality": [rule for check in rest if (rule := rule_of(check)) != unique],
    }
    if column.name in terms.primary_key:
        found |= {"primaryKey": True, "primaryKeyPosition": terms.primary_key.index(column.name) + 1}
    if column.name in keys:
        found |= {"partitioned": True, "partitionKeyPosition": keys.index(column.name) + 1}
    return {name: value for name, value in found.items() if value}


def rule_of_uniqueness(column: str) -> dict[str, Any]:
    """Return the rule that `unique: true` of a property stands for."""
    return rule_of(check_of({"unique": True}, column))


def _partition_columns(terms: Terms) -> list[str]:
    parts = terms.partitions.get("dimensions", {"": terms.partitions})
    return [parts[name]["column"] for name in sorted(parts) if "column" in parts[name]]


def _sla(terms: Terms) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "max_age_seconds" in terms.sla:
        found.append({"property": "latency", **_length(terms.sla["max_age_seconds"])})
    if "deadline" in terms.sla:
        cron = terms.sla["deadline"]
        found.append(
            {
                "property": "timeOfAvailability",
                "value": cron,
                "valueExt": terms.sla.get("timezone", "UTC"),
                "scheduler": "cron",
                "schedule": cron,
            }
        )
    if "days" in terms.keep:
        found.append({"property": "retention", "value": terms.keep["days"], "unit": "d"})
    return [{**each, "element": terms.name} for each in found]


def _length(seconds: float) -> dict[str, Any]:
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return {"value": int(seconds // size), "unit": unit}


def _declared_server(terms: Terms) -> list[dict[str, Any]]:
    location = terms.place.get("location")
    if location is None:
        return []
    scheme, separator, path = str(location).partition("://")
    if scheme in ("s3", "s3a"):
        place = {"type": "s3", "location": f"s3://{path}"}
    elif scheme == "file" or not separator:
        place = {"type": "local", "path": path if separator else location}
    else:
        place = {"type": "custom", "location": location}
    return [{"server": "declared", **place, "format": terms.format}]


def _rest(terms: Terms) -> dict[str, Any]:
    """Return what the standard has no field for, as declared."""
    sla = {name: value for name, value in terms.sla.items() if name not in STATED_SLA}
    found: dict[str, Any] = {
        "type": "ExternalDataset" if terms.is_external else "Dataset",
        "format": terms.format,
        "renamed_from": terms.renamed_from,
        "place": dict(terms.place),
        "partitions": dict(terms.partitions),
        "sla": declared_sla(sla),
        "keep": dict(terms.keep),
        "metadata": dict(terms.metadata),
    }
    return {name: value for name, value in found.items() if value}
