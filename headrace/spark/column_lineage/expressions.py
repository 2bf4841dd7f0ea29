"""Trace the expressions of a plan node, in dependency order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.catalog.column_lineage import DIRECT, Subtype
from headrace.spark.column_lineage.values import (
    NOTHING,
    Doubt,
    Value,
    depending,
    field_of,
    merged,
    reported,
    rows,
    struct,
    through,
    with_dependency,
)

Reference = int | None
Environment = dict[int, Value]

# Masking functions, whose results do not reveal the input: OpenLineage's list, and approx_count_distinct, which is also
# a count.
MASKING = frozenset(
    [
        "Crc32",
        "HiveHash",
        "Md5",
        "Murmur3Hash",
        "Sha1",
        "Sha2",
        "XxHash64",
        "Count",
        "HyperLogLogPlusPlus",
        "Mask",
        "MaskExpr",
    ]
)
# Functions that return one of their inputs, or elements of them: struct fields are preserved.
# fmt: off
_KEEPING = frozenset({
    "AnyValue", "ArrayAppend", "ArrayDistinct", "ArrayExcept", "ArrayInsert", "ArrayIntersect",
    "ArrayPrepend", "ArrayRemove", "ArrayRepeat", "ArrayUnion", "CollectList", "CollectSet",
    "CollectTopK", "Concat", "CreateArray", "CreateMap", "Explode", "First", "Flatten", "Greatest",
    "KnownNotContainsNull", "KnownNotNull", "Lag", "Last", "Lead", "Least", "MapConcat",
    "MapFromArrays", "MapKeys", "MapValues", "Max", "Min", "NthValue", "PosExplode", "Reverse",
    "Shuffle", "Slice", "SortArray",
})
# fmt: on
# The same for the first argument; the others decide which of its elements or rows is returned.
_CHOOSING = frozenset(
    ["ElementAt", "GetArrayItem", "GetMapValue", "MaxBy", "MaxMinByK", "MinBy", "TryElementAt"]
)
_FILTERING = frozenset({"ArrayFilter", "MapFilter"})
# Values outside the lambda's body are returned as well: a map's keys or its values.
_BESIDE = frozenset({"MapZipWith", "TransformKeys", "TransformValues"})


class Expressions:
    """The expressions of one node.

    known: values of the attributes in scope. subquery: the values of a subquery's output, its row dependencies, and its
    inputs. below: the inputs of the node's rows. inputs: all inputs of the plan. count: called with the values read.
    """

    def __init__(
        self,
        records: Sequence[Sequence[Any]],
        known: Callable[[int], Value],
        subquery: Callable[[int, Sequence[int]], tuple[list[Value], Value, frozenset[str]]],
        below: frozenset[str],
        inputs: Sequence[str],
        count: Callable[[Iterable[Value]], None],
    ) -> None:
        """Trace all expressions. Raises KeyError for an attribute that no node below provides."""
        self.defined: Environment = {}
        self._bound: Environment = {}
        self._known = known
        self._subquery = subquery
        self._below = below
        self._inputs = inputs
        self._records = records
        self._values: list[Value] = []
        for record in records:
            read = _READERS.get(record[0])
            value = read(self, *record[1:]) if read else self._other(record[0], record[1:])
            count((value,))
            self._values.append(value)

    def value(self, reference: Reference) -> Value:
        """Return the value of a reference."""
        if reference is None:
            return NOTHING
        if reference >= 0:
            return self._values[reference]
        return self._bound.get(-1 - reference) or self._known(-1 - reference)

    def named(self, references: Iterable[Reference]) -> Environment:
        """Return the values of named expressions, by their attributes."""
        found: Environment = {}
        for reference in references:
            if reference is None:
                continue
            attribute = -1 - reference if reference < 0 else self._records[reference][1]
            found[attribute] = self.value(reference)
        return found

    def head(self, reference: Reference) -> tuple[str, Sequence[Any]]:
        """Return the class of an expression and its operands; '' for an attribute or a literal."""
        if reference is None or reference < 0:
            return "", ()
        record = self._records[reference]
        return record[0], record[1:]

    def _all(self, references: Iterable[Reference], keep: bool = False) -> Value:
        return merged((self.value(each) for each in references), keep)

    def _other(self, name: str, children: Sequence[Reference]) -> Value:
        if name in _CHOOSING:
            chosen = through(self.value(children[0]), Subtype.TRANSFORMATION, keep=True)
            return depending(chosen, self._all(children[1:]), Subtype.CONDITIONAL)
        keep = name in _KEEPING
        return through(self._all(children, keep), Subtype.TRANSFORMATION, name in MASKING, keep)

    def _alias(self, attribute: int, sql: str, child: Reference) -> Value:
        value = reported(self.value(child), sql, plain=self.head(child)[0] in ("", "Alias"))
        self.defined[attribute] = value
        return value

    def _replaced(self, name: str, child: Reference) -> Value:
        value = self.value(child)
        return through(value, Subtype.TRANSFORMATION, masking=True) if name in MASKING else value

    def _if(self, condition: Reference, *values: Reference) -> Value:
        return self._casewhen([condition], values)

    def _casewhen(self, conditions: Sequence[Reference], values: Sequence[Reference]) -> Value:
        chosen = through(self._all(values, keep=True), Subtype.TRANSFORMATION, keep=True)
        return depending(chosen, self._all(conditions), Subtype.CONDITIONAL)

    def _coalesce(self, *values: Reference) -> Value:
        return self._casewhen(values, values)

    def _pivotfirst(self, column: Reference, value: Reference) -> Value:
        return depending(self.value(value), self.value(column), Subtype.CONDITIONAL)

    def _mapentries(self, child: Reference) -> Value:
        part = through(self.value(child), Subtype.TRANSFORMATION, keep=True)
        return through(struct({"key": part, "value": part}), Subtype.TRANSFORMATION, keep=True)

    def _sortorder(self, child: Reference, *_same: Reference) -> Value:
        return through(self.value(child), Subtype.SORT)

    def _subquery_value(self, name: str, values: list[Value], depends: Value, below: frozenset[str]) -> Value:
        if name == "Exists":
            return through(depends if depends.sources or depends.doubt else rows(below, True), Subtype.FILTER)
        return with_dependency(merged(values, keep=len(values) == 1), depends)

    def _inner(self, name: str, scope: int, output: Sequence[int]) -> Value:
        return self._subquery_value(name, *self._subquery(scope, output))

    def _over(
        self, kind: str, function: Reference, partition: Sequence[Reference], order: Sequence[Reference]
    ) -> Value:
        # The children of a ranking function are its order, which its value is not made of.
        value = NOTHING if kind else through(self.value(function), Subtype.TRANSFORMATION, keep=True)
        return depending(value, self._all([*partition, *order]), Subtype.WINDOW)

    def _aggregated(self, function: Reference, conditions: Sequence[Reference]) -> Value:
        value = through(self.value(function), Subtype.AGGREGATION, keep=True)
        if not value.sources and not value.doubt:
            value = rows(self._below, True)  # without a column in it, nothing but the number of rows
        return depending(value, self._all(conditions), Subtype.FILTER)

    def _field(self, name: str, child: Reference) -> Value:
        return field_of(self.value(child), name)

    def _struct(self, names: Sequence[str], values: Sequence[Reference]) -> Value:
        return struct(dict(zip(names, map(self.value, values), strict=True)))

    def _zip(self, names: Sequence[str], *arrays: Reference) -> Value:
        parts = [through(self.value(each), Subtype.TRANSFORMATION, keep=True) for each in arrays]
        return through(struct(dict(zip(names, parts, strict=True))), Subtype.TRANSFORMATION, keep=True)

    def _bind(
        self,
        name: str,
        variables: Sequence[int],
        arguments: Sequence[Reference],
        bodies: Sequence[Reference],
    ) -> Value:
        """Bind the variables of a lambda while its body is traced."""
        elements = [through(self.value(each), Subtype.TRANSFORMATION, keep=True) for each in arguments]
        if name == "ArrayAggregate":
            start = merged([elements[1], *map(self.value, bodies)], keep=True)
            given = [start, elements[0]]
        elif name == "MapZipWith":
            given = [merged(elements), *elements]
        elif name == "ZipWith":
            given = elements
        else:
            given = [merged(elements, keep=True)] * len(variables)
        self._bound.update(zip(variables, given, strict=False))
        return NOTHING

    def _lambda(self, name: str, arguments: Sequence[Reference], bodies: Sequence[Reference]) -> Value:
        whole = self._all(arguments, keep=True)
        if name in _FILTERING:
            kept = through(whole, Subtype.TRANSFORMATION, keep=True)
            return depending(kept, self._all(bodies), Subtype.CONDITIONAL)
        if name == "ArraySort":
            kept = through(whole, Subtype.TRANSFORMATION, keep=True)
            return depending(kept, self._all(bodies), Subtype.SORT)
        made = through(self._all(bodies, keep=True), Subtype.TRANSFORMATION, keep=True)
        used = [
            (input, path)
            for input, path, subtype, _ in made.sources
            if subtype in DIRECT and name not in _BESIDE
        ]
        # The number of elements depends on the array, whichever of their fields the body uses.
        length = {
            key: masked
            for key, masked in through(whole, Subtype.TRANSFORMATION).sources.items()
            if not any(key[0] == input and path[: len(key[1])] == key[1] for input, path in used)
        }
        return with_dependency(made, Value(length, made.doubt or whole.doubt))

    def _variable(self, name: str) -> Value:
        reason = f"the session's variable {name}: its value is not in the plan"
        return rows(self._inputs, False, Doubt(reason, 0.2))

    def _function(self, kind: str, name: str, *arguments: Reference) -> Value:
        reason = f"the {kind} function {name}: the plan does not show how its result depends on its arguments"
        given = through(self._all(arguments), Subtype.TRANSFORMATION)
        return Value(given.sources, Doubt(reason, 0.5))


_READERS: dict[str, Callable[..., Value]] = {
    "Aggregated": Expressions._aggregated,
    "Alias": Expressions._alias,
    "Bind": Expressions._bind,
    "CaseWhen": Expressions._casewhen,
    "Coalesce": Expressions._coalesce,
    "Field": Expressions._field,
    "Function": Expressions._function,
    "If": Expressions._if,
    "Lambda": Expressions._lambda,
    "MapEntries": Expressions._mapentries,
    "Over": Expressions._over,
    "PivotFirst": Expressions._pivotfirst,
    "Replaced": Expressions._replaced,
    "SortOrder": Expressions._sortorder,
    "Struct": Expressions._struct,
    "Subquery": Expressions._inner,
    "Variable": Expressions._variable,
    "Zip": Expressions._zip,
}
