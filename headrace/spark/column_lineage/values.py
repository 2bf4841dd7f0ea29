"""Traced values: the source columns and fields of a value in a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.catalog.column_lineage import DIRECT, Subtype

Path = tuple[str, ...]
# Input, path of the column in it (none: the whole input), transformation, and its expression.
Key = tuple[str, Path, Subtype, str]
Sources = Mapping[Key, bool]  # whether the value is masked on the path

_STRENGTH = {Subtype.IDENTITY: 0, Subtype.TRANSFORMATION: 1, Subtype.AGGREGATION: 2}

Node = Mapping[str, Any]  # of a plan, as exported by PlanText


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a value is unknown, and the confidence of what is known nevertheless (0 to 1)."""

    reason: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Value:
    """The sources of a value.

    whole: it is an unchanged column of an input, or an element of one, so that its fields are that column's fields.
    fields: it is a struct of these. ways: it is one of these, each after a step, so that a field of it is that field of
    one of them. around: dependencies of the whole value, and so of every field, which `sources` contains as well.
    """

    sources: Sources = field(default_factory=dict)
    doubt: Doubt | None = None
    whole: bool = False
    fields: Mapping[str, Value] | None = None
    ways: tuple[tuple[Value, Subtype, bool], ...] = ()
    around: Value | None = None


NOTHING = Value()


def column(input: str, name: str, *, structured: bool = True) -> Value:
    """Create the value of an input's column. structured: it may have fields, in it or in its elements."""
    return Value({(input, (name,), Subtype.IDENTITY, ""): False}, whole=structured)


def through(value: Value, subtype: Subtype, masking: bool = False, keep: bool = False) -> Value:
    """Return the value after a step of this kind. keep: fields are preserved (an element, a maximum), or end here."""
    if not value.sources and not value.doubt:
        return value
    sources: dict[Key, bool] = {}
    for (input, path, before, expression), masked in value.sources.items():
        key = (input, path, _after(before, subtype), expression)
        sources[key] = sources.get(key, True) and (masked or masking)
    return Value(
        sources, value.doubt, ways=((value, subtype, masking),) if keep and _structured(value) else ()
    )


def merged(values: Iterable[Value], keep: bool = False) -> Value:
    """Merge the sources of all values. keep: the result is one of them unchanged, so that its fields are theirs."""
    every = [value for value in values if value.sources or value.doubt]
    if not every:
        return NOTHING
    if len(every) == 1:
        only = every[0]
        return only if keep or not _structured(only) else Value(only.sources, only.doubt)
    sources: dict[Key, bool] = {}
    for value in every:
        add(sources, value.sources)
    doubts = [value.doubt for value in every if value.doubt]
    ways = tuple((value, Subtype.IDENTITY, False) for value in every) if keep else ()
    if not any(_structured(value) for value in every):
        ways = ()
    return Value(sources, min(doubts, key=lambda doubt: doubt.confidence) if doubts else None, ways=ways)


def depending(value: Value, on: Value, how: Subtype) -> Value:
    """Add a dependency on another value."""
    return with_dependency(value, through(on, how))


def with_dependency(value: Value, to: Value) -> Value:
    """Add a dependency of a given kind on another value."""
    if not to.sources and not to.doubt:
        return value
    sources: dict[Key, bool] = dict(value.sources)
    add(sources, to.sources)
    around = value.around
    if value.fields is not None or value.ways:
        around = to if around is None else merged([around, to])
    return replace(value, sources=sources, doubt=to.doubt or value.doubt, around=around)


def multiplied_by(value: Value, sources: Sources) -> Value:
    """Add dependencies of how often the value's rows occur."""
    claimed = {(input, path) for input, path, _, _ in value.sources}
    return with_dependency(
        value, Value({key: masked for key, masked in sources.items() if key[:2] not in claimed})
    )


def add(to: dict[Key, bool], sources: Sources) -> None:
    """Add sources to others; a source masked on only one path is not masked."""
    for key, masked in sources.items():
        to[key] = to.get(key, True) and masked


def reported(value: Value, expression: str, *, plain: bool = False) -> Value:
    """Return the value with its expression. plain: a bare name, which an existing expression takes precedence over."""
    if not value.sources:
        return value
    sources: dict[Key, bool] = {}
    for key, masked in value.sources.items():
        if not key[3] or (not plain and key[2] in DIRECT):
            key = (key[0], key[1], key[2], expression)
        sources[key] = sources.get(key, True) and masked
    return replace(value, sources=sources)


def field_of(value: Value, name: str) -> Value:
    """Return the field with this name of a struct, or of an array of structs."""
    return _field(value, name) if value.around is None else with_dependency(_field(value, name), value.around)


def _field(value: Value, name: str) -> Value:
    if value.fields is not None:
        return value.fields.get(name, NOTHING)
    if value.ways:
        return merged(
            (
                through(field_of(way, name), subtype, masking, keep=True)
                for way, subtype, masking in value.ways
            ),
            keep=True,
        )
    if value.whole:
        return replace(
            value,
            sources={
                (input, (*path, name) if path and subtype in DIRECT else path, subtype, expression): masked
                for (input, path, subtype, expression), masked in value.sources.items()
            },
        )
    return value


def struct(fields: Mapping[str, Value]) -> Value:
    """Create the value of a struct."""
    whole = merged(through(value, Subtype.TRANSFORMATION) for value in fields.values())
    return Value(whole.sources, whole.doubt, fields=fields)


def rows(inputs: Iterable[str], masking: bool, doubt: Doubt | None = None) -> Value:
    """Create a dependency on whole inputs: a row count, or an opaque function of them."""
    subtype = Subtype.TRANSFORMATION if doubt else Subtype.AGGREGATION
    return Value({(input, (), subtype, ""): masking for input in sorted(inputs)}, doubt)


def _structured(value: Value) -> bool:
    return value.whole or value.fields is not None or bool(value.ways)


def _after(before: Subtype, step: Subtype) -> Subtype:
    """Combine two steps: a dependency stays one, and an aggregation outranks a transformation."""
    if step not in DIRECT:
        return step
    if before not in DIRECT:
        return before
    return before if _STRENGTH[before] >= _STRENGTH[step] else step
