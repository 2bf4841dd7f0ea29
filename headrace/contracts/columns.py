"""Types of columns in the Open Data Contract Standard, and the bounds that it states as options of a type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.catalog.records import Check
from headrace.catalog.schema import nested_parts
from headrace.contracts.declared import check_of
from headrace.spark.types import spark_type

_LOGICAL = {
    "string": "string",
    "binary": "string",
    "variant": "string",
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}
# The type of a column whose physical type is another system's.
_SPARK = {
    "string": "string",
    "integer": "bigint",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "time": "string",
}
LOGICAL_TYPES = (*_SPARK, "object", "array", "map", "vector")
_BOUNDS = {
    "minimum": "greater_than_or_equal_to",
    "maximum": "less_than_or_equal_to",
    "exclusiveMinimum": "greater_than",
    "exclusiveMaximum": "less_than",
}
_LENGTHS = {"minLength": "min_value", "maxLength": "max_value"}


def type_fields(type_: str) -> dict[str, Any]:
    """Return the fields of a property that state its Spark type; nested types have their parts as properties."""
    logical = logical_type(type_)
    parts: dict[str, Any] = {}
    if type_.startswith("array<"):
        (element,) = nested_parts(type_)
        parts = {"items": type_fields(element)}
    elif type_.startswith("struct<"):
        named = (part.split(":", 1) for part in nested_parts(type_))
        parts = {"properties": [{"name": name.strip("`"), **type_fields(inner)} for name, inner in named]}
    return {"logicalType": logical, "physicalType": type_, **parts}


def logical_type(type_: str) -> str:
    """Return the logical type of a Spark type; those for which the standard has none are texts."""
    kind = type_.partition("<")[0].partition("(")[0]
    nested = {"array": "array", "struct": "object", "map": "object", "decimal": "number"}
    return nested.get(kind) or _LOGICAL[kind]


def column_type(written: Mapping[str, Any]) -> str | None:
    """Return the Spark type of a property; None if neither of its types is known."""
    try:
        return spark_type(str(written["physicalType"]))
    except (KeyError, ValueError):
        pass
    match written.get("logicalType"):
        case "array" if isinstance(written.get("items"), Mapping):
            element = column_type(written["items"])
            return element and f"array<{element}>"
        case "object" if written.get("properties"):
            parts = [(each.get("name"), column_type(each)) for each in written["properties"]]
            if any(inner is None for _, inner in parts):
                return None
            return f"struct<{','.join(f'{name}:{inner}' for name, inner in parts)}>"
        case logical:
            return _SPARK.get(str(logical))


def type_options(checks: Sequence[Check], type_: str) -> tuple[dict[str, Any], tuple[Check, ...]]:
    """Return the options of a column's type that its checks amount to, and the checks that they do not express."""
    options: dict[str, Any] = {}
    rest: list[Check] = []
    for check in checks:
        found = _options(check)
        stated = list(checks_of_options(found, type_, check.column or ""))
        if stated == [check] and options.keys().isdisjoint(found):
            options |= found
        else:
            rest.append(check)
    return options, tuple(rest)


def checks_of_options(options: Mapping[str, Any], type_: str, column: str) -> Iterator[Check]:
    """Yield the checks that the options of a column's type amount to."""
    logical = logical_type(type_)
    if logical == "string":
        lengths = {key: options[name] for name, key in _LENGTHS.items() if name in options}
        if lengths:
            yield check_of({"str_length": lengths}, column)
        if "pattern" in options:
            yield check_of({"str_contains": options["pattern"]}, column)
        return
    comparable = {"integer": (int, float), "number": (int, float), "date": (str,), "timestamp": (str,)}
    for option, kind in _BOUNDS.items():
        value = options.get(option)
        if isinstance(value, comparable.get(logical, ())) and not isinstance(value, bool):
            yield check_of({kind: value}, column)


def _options(check: Check) -> dict[str, Any]:
    for option, kind in _BOUNDS.items():
        if check.kind == kind:
            return {option: next(iter(check.parameters.values()))}
    if check.kind == "str_length":
        return {name: check.parameters[key] for name, key in _LENGTHS.items() if key in check.parameters}
    return {"pattern": check.parameters["pattern"]} if check.kind == "str_contains" else {}
