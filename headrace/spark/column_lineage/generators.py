"""Trace generators (explode, inline, stack, json_tuple...)."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.column_lineage import Subtype
from headrace.spark.column_lineage.expressions import Expressions, Reference
from headrace.spark.column_lineage.values import NOTHING, Value, field_of, merged, through


def generated(
    expressions: Expressions, reference: int | None, names: Sequence[str]
) -> tuple[list[Value], bool]:
    """Return the sources of each generated column, and whether the number of rows per input row is constant."""
    name, children = expressions.head(reference)
    given = [expressions.value(each) for each in children if is_reference(each)]
    if name == "GeneratorOuter":
        return generated(expressions, children[0], names)
    if name == "Function":
        return [expressions.value(reference)] * len(names), False
    steady = bool(children) and expressions.head(children[0])[0] in ("CreateArray", "CreateMap")
    if name == "Inline":
        made = [through(field_of(given[0], each), Subtype.TRANSFORMATION, keep=True) for each in names]
        return made, steady
    if name in ("Explode", "PosExplode"):
        number = NOTHING if steady else through(given[0], Subtype.TRANSFORMATION)
        place = [number] if name == "PosExplode" else []
        made = _elements(expressions, children[0], len(names) - len(place))
        return [*place, *(through(each, Subtype.TRANSFORMATION, keep=True) for each in made)], steady
    if name == "Stack":
        cells = given[1:]
        made = [merged(cells[place :: len(names)], keep=True) for place in range(len(names))]
        return [through(each, Subtype.TRANSFORMATION, keep=True) for each in made], True
    value = through(merged(given), Subtype.TRANSFORMATION)
    return [value] * len(names), name in ("JsonTuple", "ReplicateRows")


def _elements(expressions: Expressions, collection: Reference, count: int) -> list[Value]:
    """Return the elements of an array, or the keys and values of a map, which are separate for a literal map."""
    name, cells = expressions.head(collection)
    if name != "CreateMap":
        return [expressions.value(collection)] * count
    return [merged(map(expressions.value, cells[place::2]), keep=True) for place in range(2)]


def is_reference(each: object) -> bool:
    """Return True if a part of an expression is another expression, and not an annotation."""
    return each is None or isinstance(each, int)
