"""Convert columns of older versions to the wider types that newer ones have (`catalog.schema.widens`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.catalog.schema import nested_parts, struct_fields

if TYPE_CHECKING:
    from pyspark.sql import Column


def converted(value: Column, old: str, new: str) -> Column:
    """Return the value of type `old` as the wider type `new`; fields that a struct has gained are null.

    Spark's own cast does not add fields to a struct.
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
