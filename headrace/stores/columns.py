"""Columns of frames and versions: as declared, merged over versions, as text, and converted to wider types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.catalog.records import Column, Version
from headrace.catalog.schema import nested_parts, struct_fields, widens
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


def conformed(df: DataFrame, declared: Sequence[Column], dataset: str) -> tuple[Column, ...]:
    """Return the declared columns, if the frame has exactly these by name and type; the frame's own if none are
    declared.

    Raises SchemaMismatch listing every difference.
    """
    found = {field.name: field for field in df.schema.fields}
    if not found or len(found) < len(df.schema.fields):
        raise SchemaMismatch(
            f"{dataset}: the result has no columns, or duplicate column names: {df.columns}."
        )
    if not declared:
        return tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in found.values())
    expected = {column.name: column for column in declared}
    differences = [f"{name} is missing" for name in expected if name not in found]
    differences += [f"{name} is not declared" for name in found if name not in expected]
    differences += [
        f"{name} is {found[name].dataType.simpleString()}, declared {column.type}"
        for name, column in expected.items()
        if name in found and found[name].dataType.simpleString() != column.type
    ]
    if differences:
        raise SchemaMismatch(
            f"{dataset}: the result does not have the declared columns: {'; '.join(differences)}. Correct the "
            "transform or the declaration."
        )
    return tuple(declared)


def merged_columns(versions: Sequence[Version]) -> tuple[Column, ...]:
    """Return the columns of the version with the newest ones, then those that only others have.

    Raises SchemaMismatch naming the versions if a column has types that do not widen to the newest one's.
    """
    newest_first = sorted(versions, key=lambda v: (v.schema_at, v.tag), reverse=True)
    merged: dict[str, tuple[Column, Version]] = {}
    for version in newest_first:
        for column in version.columns:
            kept, by = merged.setdefault(column.name, (column, version))
            if kept.type != column.type and not widens(column.type, kept.type):
                raise SchemaMismatch(
                    f"{version.dataset}: column {column.name} is {column.type} in {_place(version)} and "
                    f"{kept.type} in {_place(by)}. Materialize the older partitions again, or pin the input to "
                    "versions that fit."
                )
    return tuple(column for column, _ in merged.values())


def schema_text(columns: Sequence[Column]) -> str:
    """Format the columns as Spark DDL."""
    return ", ".join(f"{quoted(column.name)} {type_text(column.type)}" for column in columns)


def type_text(type: str) -> str:
    """Return a type with the names of its fields quoted, which Spark's simple type names are not."""
    if type.startswith("struct<"):
        fields = (f"{quoted(name)}:{type_text(inner)}" for name, inner in struct_fields(type).items())
        return f"struct<{','.join(fields)}>"
    if type.startswith(("array<", "map<")):
        return f"{type.partition('<')[0]}<{','.join(map(type_text, nested_parts(type)))}>"
    return type


def converted(value: SparkColumn, old: str, new: str) -> SparkColumn:
    """Return the value of type `old` as the wider type `new` (see `catalog.schema.widens`).

    Fields that a struct has gained are null. Spark's own cast does not add fields to a struct.
    """
    from pyspark.sql import functions as F

    if old == new:
        return value
    if new.startswith("struct<"):
        before, after = struct_fields(old), struct_fields(new)
        fields = [
            (
                converted(value.getField(name), before[name], type_)
                if name in before
                else F.lit(None).cast(type_)
            ).alias(name)
            for name, type_ in after.items()
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if new.startswith("array<"):
        (element,), (wider,) = nested_parts(old), nested_parts(new)
        return F.transform(value, lambda each: converted(each, element, wider))
    if new.startswith("map<"):
        (key, item), (wider_key, wider) = nested_parts(old), nested_parts(new)
        keyed = F.transform_keys(value, lambda each, _: converted(each, key, wider_key))
        return F.transform_values(keyed, lambda _, each: converted(each, item, wider))
    return value.cast(new)


def _place(version: Version) -> str:
    return version.tag if version.partition is None else f"{version.tag} (partition {version.partition})"
