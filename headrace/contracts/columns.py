"""Types of columns in the Open Data Contract Standard, and the bounds that it states as options of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from headrace.catalog.records import Check
from headrace.catalog.schema import nested_parts, struct_fields
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
_MAP_PARTS = ("mapKeyType", "mapValueType")
_LENGTHS = {"minLength": "min_value", "maxLength": "max_value"}


def type_fields(type_: str) -> dict[str, Any]:
    """Return the fields of a property that state its Spark type.

    The parts of a nested type are properties and items, and its physical type is its kind alone: other tools do not
    read `struct<a:int>`. Those of a map, for which version 3.1 has no field, are where other tools look for them.
    """
    kind = type_.partition("<")[0]
    fields: dict[str, Any] = {"logicalType": logical_type(type_), "physicalType": type_}
    if kind == type_:
        return fields
    parts = nested_parts(type_)
    fields["physicalType"] = kind
    if kind == "array":
        fields["items"] = type_fields(parts[0])
    elif kind == "struct":
        named = struct_fields(type_).items()
        fields["properties"] = [{"name": name.strip("`"), **type_fields(inner)} for name, inner in named]
    else:
        fields["customProperties"] = [
            {"property": name, "value": part} for name, part in zip(_MAP_PARTS, parts, strict=True)
        ]
    return fields


def logical_type(type_: str) -> str:
    """Return the logical type of a Spark type; those for which the standard has none are texts."""
    kind = type_.partition("<")[0].partition("(")[0]
    nested = {"array": "array", "struct": "object", "map": "object", "decimal": "number"}
    return nested.get(kind) or _LOGICAL[kind]


def column_type(written: Mapping[str, Any]) -> str | None:
    """Return the Spark type of a property; None if it is not known."""
    try:
        return spark_type(str(written["physicalType"]))
    except (KeyError, ValueError):
        pass
    custom = {each.get("property"): each.get("value") for each in written.get("customProperties") or ()}
    match written.get("logicalType"):
        case "array" if isinstance(written.get("items"), Mapping):
            return _nested("array", [column_type(written["items"])])
        case "object" if written.get("properties"):
            inner = [(_quoted(str(each.get("name"))), column_type(each)) for each in written["properties"]]
            return _nested("struct", [type_ and f"{name}:{type_}" for name, type_ in inner])
        case "object" | "map" if custom.keys() >= {*_MAP_PARTS}:
            return _nested("map", [str(custom[name]) for name in _MAP_PARTS])
        case logical:
            return _SPARK.get(str(logical))


def _nested(kind: str, parts: Sequence[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    try:
        return spark_type(f"{kind}<{','.join(known)}>")
    except ValueError:
        return None


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name}`"


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
        declared = [{"str_length": lengths}] if lengths else []
        declared += [{"str_contains": options["pattern"]}] if "pattern" in options else []
        yield from filter(None, (_check(each, column) for each in declared))
        return
    comparable = {"integer": (int, float), "number": (int, float), "date": (str,), "timestamp": (str,)}
    for option, kind in _BOUNDS.items():
        value = options.get(option)
        if isinstance(value, comparable.get(logical, ())) and not isinstance(value, bool):
            yield check_of({kind: value}, column)


def _check(declared: Mapping[str, Any], column: str) -> Check | None:
    try:
        return check_of(declared, column)
    except ValidationError:  # such as a length that is a text
        return None


def _options(check: Check) -> dict[str, Any]:
    for option, kind in _BOUNDS.items():
        if check.kind == kind:
            return {option: next(iter(check.parameters.values()))}
    if check.kind == "str_length":
        return {name: check.parameters[key] for name, key in _LENGTHS.items() if key in check.parameters}
    return {"pattern": check.parameters["pattern"]} if check.kind == "str_contains" else {}
