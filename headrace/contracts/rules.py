"""Checks as quality rules of the Open Data Contract Standard, and back.

A rule of the standard's library is used where there is one, otherwise a custom rule of the engine `headrace`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from headrace.catalog.records import Check
from headrace.contracts.declared import check_of, declared_check
from headrace.severity import Severity

VENDOR = (
    "headrace"  # the engine of custom rules, and the custom property with what the standard has no field for
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def rule_of(check: Check) -> dict[str, Any]:
    """Return the quality rule of a check. A library rule that says less than the check has it as a custom property."""
    described: dict[str, Any] = {
        "name": check.name,
        "severity": "warning" if check.severity is Severity.WARNING else "error",
        **({"description": check.description} if check.description else {}),
    }
    library = _library_rule(check)
    if library is None:
        implementation = declared_check(check)
        return {**described, "type": "custom", "engine": VENDOR, "implementation": implementation}
    rule = {**described, "type": "library", **library}
    if check_of_rule(rule, check.column) == check:
        return rule
    return {**rule, "customProperties": [{"property": VENDOR, "value": declared_check(check)}]}


def check_of_rule(rule: Mapping[str, Any], column: str | None) -> Check | None:
    """Return the check of a quality rule of a column, or of the dataset; None if there is none like it."""
    own = next(
        (each.get("value") for each in rule.get("customProperties") or () if each.get("property") == VENDOR),
        rule.get("implementation") if rule.get("engine") == VENDOR else None,
    )
    declared = own if isinstance(own, dict) else _declared(rule, column)
    if declared is None:
        return None
    try:
        return check_of(declared, column)
    except (ValidationError, KeyError):
        return None


def _library_rule(check: Check) -> dict[str, Any] | None:
    parameters = check.parameters
    match check.kind:
        case "not_null":
            return {"metric": "nullValues", "mustBe": 0}
        case "unique" if check.column is not None:
            return {"metric": "duplicateValues", "mustBe": 0}
        case "unique":
            return {
                "metric": "duplicateValues",
                "arguments": {"properties": list(parameters["columns"])},
                "mustBe": 0,
            }
        case "isin":
            values = list(next(iter(parameters.values())))
            return {"metric": "invalidValues", "arguments": {"validValues": values}, "mustBe": 0}
        case "str_contains":
            return {
                "metric": "invalidValues",
                "arguments": {"pattern": parameters["pattern"]},
                "mustBe": 0,
            }
        case "row_count" if {"min", "max"} <= parameters.keys():
            return {"metric": "rowCount", "mustBeBetween": [parameters["min"], parameters["max"]]}
        case "row_count":
            operators = {"min": "mustBeGreaterOrEqualTo", "max": "mustBeLessOrEqualTo"}
            return {"metric": "rowCount", **{operators[name]: value for name, value in parameters.items()}}
    return None


def _declared(rule: Mapping[str, Any], column: str | None) -> dict[str, Any] | None:
    """Return the declared check of a library rule."""
    found = _rule(rule, column)
    if found is None:
        return None
    name = re.sub(r"\W+", "_", str(rule.get("name") or ""))
    if _NAME.fullmatch(name):
        found["name"] = name
    if str(rule.get("severity", "")).lower() in ("warning", "info"):
        found["severity"] = "warning"
    if rule.get("description"):
        found["description"] = rule["description"]
    return found


def _rule(rule: Mapping[str, Any], column: str | None) -> dict[str, Any] | None:
    arguments = rule.get("arguments") or {}
    none_fails = rule.get("mustBe") == 0
    match rule.get("metric") or rule.get("rule"), column:
        case "nullValues", str() if none_fails:
            return {"not_null": True}
        case "duplicateValues", str() if none_fails:
            return {"unique": True}
        case "duplicateValues", None if none_fails and arguments.get("properties"):
            return {"unique": arguments["properties"]}
        case "invalidValues", str() if none_fails and arguments.keys() == {"validValues"}:
            return {"isin": arguments["validValues"]}
        case "invalidValues", str() if none_fails and arguments.keys() == {"pattern"}:
            return {"str_contains": arguments["pattern"]}
        case "rowCount", None if rule.get("unit") in (None, "rows"):
            bounds = _row_bounds(rule)
            return {"row_count": bounds} if bounds else None
    return None


def _row_bounds(rule: Mapping[str, Any]) -> dict[str, int]:
    if rule.get("mustBeBetween") is not None:
        return dict(zip(("min", "max"), rule["mustBeBetween"], strict=True))
    if rule.get("mustBe") is not None:
        return {"min": rule["mustBe"], "max": rule["mustBe"]}
    bounds = {
        "min": (rule.get("mustBeGreaterOrEqualTo"), rule.get("mustBeGreaterThan"), 1),
        "max": (rule.get("mustBeLessOrEqualTo"), rule.get("mustBeLessThan"), -1),
    }
    found: dict[str, int] = {}
    for name, (included, excluded, step) in bounds.items():
        if included is not None:
            found[name] = included
        elif excluded is not None:
            found[name] = int(excluded) + step
    return found
