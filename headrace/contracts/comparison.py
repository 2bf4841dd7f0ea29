"""Compare the terms of a dataset: which changes break a reader of the earlier ones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.catalog.records import Check
from headrace.catalog.schema import classify, sensitive
from headrace.contracts.declared import declared_check, declared_sla
from headrace.contracts.document import STATED_SLA
from headrace.contracts.terms import Terms, implied_check
from headrace.severity import Severity

_LOWER, _HIGHER = -1, 1
# Which way a bound of the SLA is stricter, and whether its absence is the weakest.
_BOUNDS = {
    "max_age_seconds": _LOWER,
    "min_rows": _HIGHER,
    "min_bytes": _HIGHER,
}
_AGREED = ("deadline", "timezone", "calendar", "partition")
_CHECK_BOUNDS = {
    "greater_than": _HIGHER,
    "greater_than_or_equal_to": _HIGHER,
    "less_than": _LOWER,
    "less_than_or_equal_to": _LOWER,
}


@dataclass(frozen=True, slots=True)
class Change:
    """A difference. field: of the declaration. breaking: a reader of the earlier terms may fail or be wrong."""

    field: str
    message: str
    breaking: bool


def changes(before: Terms, after: Terms) -> list[Change]:
    """Return the differences, the breaking ones first."""
    found = [
        *_schema(before, after),
        *_checks(before, after),
        *_sla(before.sla, after.sla),
        *_partitions(before, after),
        *_place(before, after),
        *_described(before, after),
    ]
    return sorted(found, key=lambda change: not change.breaking)


def as_stated(before: Terms, after: Terms) -> Terms:
    """Return the earlier terms with everything that the standard has no field for as it is now.

    For contracts that do not state it: its absence there is not a change.
    """
    unstated = {name: value for name, value in after.sla.items() if name not in STATED_SLA}
    return replace(
        before,
        format=after.format,
        place=after.place,
        partitions=after.partitions,
        keep=after.keep,
        metadata=after.metadata,
        sla={**unstated, **before.sla},
    )


def _schema(before: Terms, after: Terms) -> Iterator[Change]:
    if not before.columns:
        return
    if not after.columns:
        yield Change("schema", "the columns are not declared any more", True)
        return
    differences = classify(before.columns, after.columns)
    yield from (Change("schema", line, True) for line in differences.breaking)
    yield from (Change("schema", line, False) for line in differences.compatible)
    kept = {column.name: column for column in after.columns}
    lost = (sensitive(before.columns) - sensitive(after.columns)) & kept.keys()
    yield from (Change("schema", f"column {name} is not sensitive any more", True) for name in sorted(lost))
    for column in before.columns:
        other = kept.get(column.name, column)
        if column.name not in lost and set(column.tags) != set(other.tags):
            yield Change(
                "schema", f"column {column.name}: tags {_text(column.tags)} became {_text(other.tags)}", False
            )
        if column.description != other.description:
            yield Change("schema", f"column {column.name} is described differently", False)


def _checks(before: Terms, after: Terms) -> Iterator[Change]:
    present = [*after.checks, *_implied(after)]
    columns = {column.name for column in after.columns}
    for check in before.checks:
        if check.column is not None and columns and check.column not in columns:
            continue  # with its column, which is a change of its own
        if not any(_is_kept(check, other) for other in present):
            alike = [
                other for other in after.checks if (other.kind, other.column) == (check.kind, check.column)
            ]
            became = f"became {_rule(alike[0])}" if alike else "was removed"
            yield Change("checks", f"check {check.name}: {_rule(check)} {became}", True)
    earlier = [*before.checks, *_implied(before)]
    for check in after.checks:
        if check not in earlier and not any(_is_kept(check, other) for other in earlier):
            yield Change("checks", f"check {check.name}: {_rule(check)} is new or stricter", False)


def _implied(terms: Terms) -> list[Check]:
    return [
        Check(implied_check(column.name)[0], "not_null", column.name)
        for column in terms.columns
        if not column.nullable
    ]


def _is_kept(check: Check, other: Check) -> bool:
    """Return True if data that passes `other` passes `check`, too."""
    if check.kind != other.kind or (check.column != other.column and check.kind != "unique"):
        return False
    if check.severity is Severity.ERROR and other.severity is Severity.WARNING and not other.quarantine:
        return False
    return check.parameters == other.parameters or _is_stricter(check, other)


def _is_stricter(check: Check, other: Check) -> bool:
    was, now = dict(check.parameters), dict(other.parameters)
    match check.kind:
        case "unique" | "unique_across_partitions":
            return set(was["columns"]) >= set(now["columns"])
        case "isin":
            return set(_value(was)) >= set(_value(now))
        case "notin":
            return set(_value(was)) <= set(_value(now))
        case "row_count":
            return _within(was.get("min"), now.get("min"), _HIGHER) and _within(
                was.get("max"), now.get("max"), _LOWER
            )
        case kind if kind in _CHECK_BOUNDS:
            return _within(_value(was), _value(now), _CHECK_BOUNDS[kind])
    bounds = {"min_value": _HIGHER, "max_value": _LOWER}
    if check.kind not in ("in_range", "str_length"):
        return False
    others = [{name: value for name, value in each.items() if name not in bounds} for each in (was, now)]
    return others[0] == others[1] and all(
        _within(was.get(name), now.get(name), way) for name, way in bounds.items()
    )


def _value(parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any value of a check
    return next(iter(parameters.values()))


def _within(was: Any, now: Any, way: int) -> bool:  # noqa: ANN401
    """Return True if the bound `now` is at least as strict as `was`; None does not bind."""
    if was is None or was == now:
        return True
    if now is None:
        return False
    try:
        return bool(now >= was if way == _HIGHER else now <= was)
    except TypeError:
        return False


def _sla(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    was, now = declared_sla(before), declared_sla(after)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        field = name.removesuffix("_seconds")
        if old == new:
            continue
        is_weaker = name in _BOUNDS and not _within(old, new, _BOUNDS[name])
        breaking = is_weaker or (name in _AGREED and "deadline" in before)
        message = f"{field} {_text(was.get(field))} became {_text(now.get(field))}"
        yield Change("sla", message, breaking)


def _partitions(before: Terms, after: Terms) -> Iterator[Change]:
    was, now = dict(before.partitions), dict(after.partitions)
    if was == now:
        return
    starts = str(was.pop("start", "")), str(now.pop("start", ""))
    is_earlier = was == now and starts[1] < starts[0]
    message = f"{_text(before.partitions)} became {_text(after.partitions)}"
    yield Change("partitions", message, bool(before.partitions or after.partitions) and not is_earlier)


def _place(before: Terms, after: Terms) -> Iterator[Change]:
    if before.format != after.format:
        yield Change("format", f"{before.format} became {after.format}", True)
    for name in sorted(before.place.keys() | after.place.keys()):
        old, new = before.place.get(name), after.place.get(name)
        if old != new:
            yield Change(name, f"{_text(old)} became {_text(new)}", name in _READ_FROM)
    if before.keep != after.keep:
        shorter = any(
            not _within(before.keep.get(name), after.keep.get(name), _HIGHER)
            for name in ("versions", "days", "month_ends")
        )
        is_new = bool(after.keep) and not before.keep  # without `keep`, every version stays
        yield Change(
            "keep",
            f"{_text(before.keep)} became {_text(after.keep)}",
            bool(after.keep) and (shorter or is_new),
        )


_READ_FROM = {"store", "location", "connection", "table", "database"}


def _described(before: Terms, after: Terms) -> Iterator[Change]:
    level = "classification"
    if level in before.tags and level not in after.tags:
        yield Change(level, f"{before.tags[level]} was removed", True)
    pairs: list[tuple[str, Callable[[Terms], object]]] = [
        ("description", lambda terms: terms.description),
        ("owners", lambda terms: terms.owners),
        ("tags", lambda terms: {name: value for name, value in terms.tags.items() if name != level}),
        ("metadata", lambda terms: terms.metadata),
    ]
    for name, value in pairs:
        if value(before) != value(after):
            yield Change(name, f"{_text(value(before))} became {_text(value(after))}", False)
    if level in after.tags and before.tags.get(level) != after.tags[level]:
        yield Change(level, f"{_text(before.tags.get(level))} became {after.tags[level]}", False)


def _rule(check: Check) -> str:
    found = {
        name: value for name, value in declared_check(check).items() if name not in ("name", "description")
    }
    return ", ".join(name if value is True else f"{name} {_text(value)}" for name, value in found.items())


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_text(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_text(each) for each in value) or "none"
    return "none" if value in (None, "") else str(value)
