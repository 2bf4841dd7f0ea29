"""Iceberg schemas of columns: a name has the same field id in every schema of its table.

The files that Spark writes have no field ids, so readers find a field by the table's mapping of names. A version's
files are read with its own schema, so a column keeps its id even if its type changes, or it is dropped for a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from pyiceberg.exceptions import ResolveError
from pyiceberg.schema import Schema, index_by_name, promote
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from headrace.catalog.records import Column
from headrace.catalog.schema import nested_parts, struct_fields
from headrace.spark.errors import SchemaMismatch

Path = tuple[str, ...]  # from a column to one of its fields, elements, keys or values
_TYPES: Mapping[str, IcebergType] = {
    "boolean": BooleanType(),
    "tinyint": IntegerType(),
    "smallint": IntegerType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
}


class FieldIds:
    """The field ids of a table by path; a new path gets the next one."""

    def __init__(self, schemas: Iterable[Schema] = (), last: int = 0) -> None:
        self.by_path: dict[Path, int] = {}
        self._next = count(last + 1)
        for schema in schemas:
            self._add((), schema.as_struct())

    def of(self, path: Path) -> int:
        """Return the id of a path."""
        if path not in self.by_path:
            self.by_path[path] = next(self._next)
        return self.by_path[path]

    def name_mapping(self) -> NameMapping:
        """Return the mapping of all names that the table has had."""
        children: dict[Path, list[Path]] = {}
        for path in self.by_path:
            children.setdefault(path[:-1], []).append(path)

        def mapped(path: Path) -> MappedField:
            fields = [mapped(child) for child in children.get(path, ())]
            return MappedField.model_validate(
                {"field-id": self.by_path[path], "names": [path[-1]], "fields": fields}
            )

        return NameMapping([mapped(path) for path in children.get((), ())])

    def _add(self, path: Path, type: IcebergType) -> None:
        match type:
            case StructType(fields=fields):
                parts = [(field.name, field.field_id, field.field_type) for field in fields]
            case ListType():
                parts = [("element", type.element_id, type.element_type)]
            case MapType():
                parts = [("key", type.key_id, type.key_type), ("value", type.value_id, type.value_type)]
            case _:
                parts = []
        for name, field_id, inner in parts:
            self.by_path[*path, name] = field_id
            self._add((*path, name), inner)


def iceberg_schema(dataset: str, columns: Sequence[Column], ids: FieldIds, schema_id: int = 0) -> Schema:
    """Return the schema of the columns. Raises SchemaMismatch for a type or a name that Iceberg does not have."""
    try:
        fields = [
            NestedField(
                ids.of((column.name,)),
                column.name,
                _type(column.type, (column.name,), ids),
                required=False,  # the checks see to it; a file says only what Spark could prove
                doc=column.description,
            )
            for column in columns
        ]
        schema = Schema(*fields, schema_id=schema_id)
        index_by_name(schema)
    except ValueError as error:
        raise SchemaMismatch(
            f"{dataset}: Iceberg cannot store it: {error}. Cast or rename the column, or use the store `files`."
        ) from error
    return schema


def merged_fields(fields: Sequence[NestedField], others: Sequence[NestedField]) -> list[NestedField]:
    """Return the fields, each with the wider of its types, then the other fields."""
    kept = {field.name: field for field in others}
    merged = [
        kept[field.name] if field.name in kept and _widens(field, kept[field.name]) else field
        for field in fields
    ]
    names = {field.name for field in fields}
    return [*merged, *(field for field in others if field.name not in names)]


def _widens(field: NestedField, other: NestedField) -> bool:
    try:
        promote(field.field_type, other.field_type)
    except ResolveError:
        return False
    return True


def _type(text: str, path: Path, ids: FieldIds) -> IcebergType:
    if text.startswith("struct<"):
        return StructType(
            *(
                NestedField(ids.of((*path, name)), name, _type(inner, (*path, name), ids), required=False)
                for name, inner in struct_fields(text).items()
            )
        )
    if text.startswith("array<"):
        element = (*path, "element")
        return ListType(ids.of(element), _type(nested_parts(text)[0], element, ids), element_required=False)
    if text.startswith("map<"):
        key, value = (*path, "key"), (*path, "value")
        key_type, value_type = nested_parts(text)
        return MapType(
            ids.of(key),
            _type(key_type, key, ids),
            ids.of(value),
            _type(value_type, value, ids),
            value_required=False,
        )
    if text.startswith("decimal("):
        precision, scale = text[len("decimal(") : -1].split(",")
        return DecimalType(int(precision), int(scale))
    if text.startswith(("char(", "varchar(")):
        return StringType()
    if text not in _TYPES:
        raise ValueError(f"column {path[0]} has the type {text}")
    return _TYPES[text]
