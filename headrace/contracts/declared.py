"""Terms as a person declares them: the document of a defs.yaml, and single checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from headrace.catalog.records import Check, Column
from headrace.checks.predicates import plain_parameter
from headrace.contracts.terms import Terms
from headrace.declarations.checks import ColumnCheck, DatasetCheck, column_checks, dataset_checks
from headrace.durations import duration_text
from headrace.severity import Severity

_SECONDS = "_seconds"
_BUILT_IN = {*ColumnCheck.rules(), *DatasetCheck.rules()}
_OF_A_MODEL = "pandera"  # the kind of checks that only a pandera model can declare


def declaration(terms: Terms) -> str:
    """Return the terms as a document of a defs.yaml. A computed dataset still needs its code."""
    kind = "ExternalDataset" if terms.is_external else "Dataset"
    document = {"type": f"headrace.{kind}", "attributes": attributes(terms)}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    if terms.is_external:
        return text
    return f"# A contract has no code: add `sql` or `python`.\n{text}"


def attributes(terms: Terms) -> dict[str, Any]:
    """Return the attributes of the declaration; those without a value are left out."""
    dataset_rules = [_rule(check) for check in terms.checks if not _belongs_to_column(check, terms)]
    own = dict(terms.place) if terms.is_external else {}
    database = "database" in own
    found: dict[str, Any] = {
        "key": terms.key,
        "renamed_from": terms.renamed_from,
        "description": terms.description,
        "owners": list(terms.owners),
        "tags": dict(terms.tags),
        "metadata": dict(terms.metadata),
        "format": terms.format if terms.is_external and not database else None,
        **own,
        "output": None if terms.is_external else _output(terms),
        "partitions": dict(terms.partitions),
        "schema": {"columns": {each.name: _column(each, terms) for each in terms.columns}}
        if terms.columns
        else None,
        "checks": [] if terms.is_external else [rule for rule in dataset_rules if rule],
        "sla": declared_sla(terms.sla),
        "keep": dict(terms.keep),
    }
    return {name: value for name, value in found.items() if value}


def declared_check(check: Check) -> dict[str, Any]:
    """Return the check as it is declared. One that only a pandera model can declare keeps its kind."""
    value: Any
    match check.kind:
        case "not_null":
            value = True
        case "unique":
            value = list(check.parameters["columns"]) if check.column is None else True
        case "unique_across_partitions":
            value = list(check.parameters["columns"])
        case "sql":
            value = check.parameters["expression"]
        case "in_range" | "str_length" | "row_count" | "references" | "reconcile" | "pandera":
            value = dict(check.parameters)
        case kind if kind in _BUILT_IN:
            value = check.parameters[plain_parameter(kind)]
        case _:
            value = {"kind": check.kind, "parameters": dict(check.parameters)}
    rule = check.kind if check.kind in (*_BUILT_IN, _OF_A_MODEL) else "custom"
    found = {rule: value}
    if rule == _OF_A_MODEL or check_of(found, check.column).name != check.name:
        found["name"] = check.name
    if check.severity is Severity.WARNING:
        found["severity"] = "warning"
    if check.quarantine:
        found["quarantine"] = True
    if check.description:
        found["description"] = check.description
    return found


def check_of(declared: Mapping[str, Any], column: str | None) -> Check:
    """Return the record of a declared check. Raises pydantic.ValidationError."""
    if _OF_A_MODEL in declared:
        return Check(
            name=declared["name"],
            kind=_OF_A_MODEL,
            column=column,
            parameters=declared[_OF_A_MODEL],
            severity=Severity[declared.get("severity", "error").upper()],
            description=declared.get("description"),
        )
    if column is None:
        return next(dataset_checks([DatasetCheck.model_validate(declared)]))
    return next(column_checks(column, [ColumnCheck.model_validate(declared)], nullable=True))


def declared_sla(sla: Mapping[str, Any]) -> dict[str, Any]:
    """Return an SLA of the catalog as it is declared."""
    return {
        name.removesuffix(_SECONDS): duration_text(value) if name.endswith(_SECONDS) else value
        for name, value in sla.items()
    }


def _belongs_to_column(check: Check, terms: Terms) -> bool:
    return check.column is not None and any(check.column == column.name for column in terms.columns)


def _column(column: Column, terms: Terms) -> dict[str, Any] | str:
    rules = [_rule(check) for check in terms.checks if check.column == column.name]
    found: dict[str, Any] = {
        "type": column.type,
        "description": column.description,
        "tags": list(column.tags),
        "checks": [rule for rule in rules if rule],
    }
    found = {name: value for name, value in found.items() if value}
    if not column.nullable:
        found["nullable"] = False
    return found if len(found) > 1 else column.type


def _rule(check: Check) -> dict[str, Any] | str | None:
    """Return a check for a list of checks: by its kind alone, if that says everything."""
    if check.kind == _OF_A_MODEL:
        return None
    found = declared_check(check)
    return check.kind if found in ({"not_null": True}, {"unique": True}) else found


def _output(terms: Terms) -> dict[str, Any]:
    return {**terms.place, **({} if terms.format == "parquet" else {"format": terms.format})}
