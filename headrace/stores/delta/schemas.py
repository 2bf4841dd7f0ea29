"""Delta schemas of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deltalake import Schema

from headrace.catalog.records import Column
from headrace.catalog.schema import nested_parts, struct_fields
from headrace.spark.errors import SchemaMismatch

_TYPES: Mapping[str, str] = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}


def delta_schema(dataset: str, columns: Sequence[Column]) -> Schema:
    """Return the schema of the columns. Raises SchemaMismatch for a type that Delta does not have."""
    try:
        fields = [
            _field(column.name, column.type, {"comment": column.description} if column.description else {})
            for column in columns
        ]
    except ValueError as error:
        raise SchemaMismatch(
            f"{dataset}: Delta cannot store {error}. Cast the column, or use the store `files`."
        ) from error
    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def with_fields_of(schema: Schema, other: Schema) -> Schema:
    """Return the schema with the fields that only the other one has."""
    names = {field.name for field in schema.fields}
    return Schema([*schema.fields, *(field for field in other.fields if field.name not in names)])


def _field(name: str, type: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    # Nullable: the checks see to it; a file says only what Spark could prove.
    return {"name": name, "type": _type(type), "nullable": True, "metadata": dict(metadata)}


def _type(text: str) -> str | dict[str, Any]:
    if text.startswith("struct<"):
        fields = [_field(name, inner, {}) for name, inner in struct_fields(text).items()]
        return {"type": "struct", "fields": fields}
    if text.startswith("array<"):
        return {"type": "array", "elementType": _type(nested_parts(text)[0]), "containsNull": True}
    if text.startswith("map<"):
        key, value = map(_type, nested_parts(text))
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if text.startswith("decimal("):
        return text
    if text.startswith(("char(", "varchar(")):
        return "string"
    if text not in _TYPES:
        raise ValueError(f"the type {text}")
    return _TYPES[text]
