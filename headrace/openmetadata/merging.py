"""Three-way merges: what should be there, what was sent last, and what is there now, which others may have changed.

Pure. What others wrote stays unless the declaration states another value and wins (`Winner`); tags and terms that they
added always stay. A merge reaches a fixed point: with its result there, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.openmetadata.client import Json
from headrace.settings import OpenMetadataFields, Winner

Value = Any
# The group of `OpenMetadataFields` that decides on each field of a body.
GOVERNED: Mapping[str, str] = {
    "description": "description",
    "owners": "owners",
    "tags": "tags",
    "domains": "domains",
    "dataProducts": "domains",
    "entityStatus": "status",
}
_DERIVED = frozenset({"Propagated", "Derived"})  # labels that the server makes from others
_STRUCTURE = (
    "dataType",
    "dataTypeDisplay",
    "constraint",
    "arrayDataType",
    "dataLength",
    "precision",
    "scale",
)


class Difference(NamedTuple):
    """A value that others wrote, where the declaration has another, or none.

    column: '' for the entity itself. is_kept: theirs stays.
    """

    field: str
    column: str
    declared: Value
    theirs: Value
    is_kept: bool


@dataclass
class Merged:
    """The outcome: the JSON Patch that leads to it, and what others wrote.

    changed: the fields that the patch changes, each with its value there and its new one.
    """

    operations: list[Json] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    changed: dict[str, tuple[Value, Value]] = field(default_factory=dict)


def merge(
    desired: Json, sent: Json | None, current: Json, rules: OpenMetadataFields, status: str | None = None
) -> Merged:
    """Merge a table or pipeline. desired, sent: bodies; current: the entity. status: the desired `entityStatus`."""
    merged = Merged()
    wanted = {**desired, **({"entityStatus": status} if status else {})}
    before = sent or {}
    for name, group in GOVERNED.items():
        if name == "entityStatus" and status is None and before.get("entityStatus") is None:
            theirs = current.get(name)
            if theirs == "Deprecated":
                merged.differences.append(Difference(name, "", None, theirs, is_kept=True))
            continue
        rule: Winner = getattr(rules, group)
        value = _field(
            name, "", wanted.get(name), before.get(name), current.get(name), rule, merged.differences
        )
        _set(merged, name, current.get(name), value)
    is_named = "displayName" in desired or "displayName" in before
    if is_named and current.get("displayName") in (before.get("displayName"), None):
        _set(merged, "displayName", current.get("displayName"), desired.get("displayName"))
    for name in ("sourceUrl", "fileFormat", "tableType", "tableConstraints", "state"):
        if name in desired or name in before:
            _set(merged, name, current.get(name), desired.get(name))
    if "extension" in desired:
        ours = {
            name: value
            for name, value in (current.get("extension") or {}).items()
            if name not in before.get("extension", {})
        }
        _set(merged, "extension", current.get("extension"), {**ours, **desired["extension"]})
    if "columns" in desired:
        columns = _columns(
            desired["columns"], before.get("columns") or (), current.get("columns") or (), rules, "", merged
        )
        if columns != [_comparable(each) for each in current.get("columns") or ()]:
            merged.operations.append({"op": "add", "path": "/columns", "value": columns})
            merged.changed["columns"] = _column_changes(current.get("columns") or (), columns)
    if "tasks" in desired:
        tasks = [
            {name: each.get(name) for name in ("name", "downstreamTasks")}
            for each in current.get("tasks") or ()
        ]
        wanted_tasks = [
            {name: each.get(name) for name in ("name", "downstreamTasks")} for each in desired["tasks"]
        ]
        if tasks != wanted_tasks:
            merged.operations.append({"op": "add", "path": "/tasks", "value": desired["tasks"]})
            merged.changed["tasks"] = (
                [each["name"] for each in tasks],
                [each["name"] for each in wanted_tasks],
            )
    return merged


def _field(
    name: str,
    column: str,
    desired: Value,
    sent: Value,
    current: Value,
    rule: Winner,
    differences: list[Difference],
) -> Value:
    """Return the value of a field after the merge, as the server has it."""
    if name == "tags":
        return _labels(column, desired or (), sent or (), current or (), rule, differences)
    ours, before, theirs = (_plain(name, each) for each in (desired, sent, current))
    if ours == theirs:
        return current
    if theirs == before or (not theirs and not (before and rule is Winner.STEWARD)):
        return desired  # only this side changed it
    is_kept = not ours or rule is Winner.STEWARD
    differences.append(Difference(name, column, ours or None, theirs or None, is_kept))
    return current if is_kept else desired


def _labels(
    column: str,
    desired: Iterable[Json],
    sent: Iterable[Json],
    current: Sequence[Json],
    rule: Winner,
    differences: list[Difference],
) -> list[Json]:
    """Merge tags and terms: theirs stay, ours follow the declaration."""
    ours, before = ({each["tagFQN"]: each for each in labels} for labels in (desired, sent))
    theirs = {each["tagFQN"]: each for each in current}
    removed_here = before.keys() - ours.keys()
    removed_there = (ours.keys() & before.keys()) - theirs.keys()
    kept = [each for each in current if each["tagFQN"] not in removed_here]
    added = [each for name, each in ours.items() if name not in theirs]
    if rule is Winner.STEWARD:
        added = [each for each in added if each["tagFQN"] not in removed_there]
    foreign = [
        name for name, each in theirs.items()
        if name not in ours and name not in removed_here and each.get("labelType") not in _DERIVED
    ]  # fmt: skip
    if foreign or removed_there:
        remaining = sorted({*foreign, *(ours.keys() - removed_there)})
        differences.append(
            Difference(
                "tags", column, sorted(ours), remaining, is_kept=rule is Winner.STEWARD or not removed_there
            )
        )
    return [*kept, *added]


def _columns(
    desired: Sequence[Json],
    sent: Iterable[Json],
    current: Iterable[Json],
    rules: OpenMetadataFields,
    above: str,
    merged: Merged,
) -> list[Json]:
    """Merge columns by name, in the order of the declaration; those that are gone here are left out."""
    before = {each["name"]: each for each in sent}
    there = {each["name"]: each for each in current}
    found = []
    for each in desired:
        name = each["name"]
        path = f"{above}.{name}" if above else name
        old, now = before.get(name, {}), there.get(name, {})
        made = {"name": name, **{key: each[key] for key in _STRUCTURE if key in each}}
        for kept in ("displayName", "extension"):
            if value := now.get(kept, each.get(kept)):
                made[kept] = value
        description = _field("description", path, each.get("description"), old.get("description"),
                             now.get("description"), rules.description, merged.differences)  # fmt: skip
        if description:
            made["description"] = description
        made["tags"] = _bare(
            _labels(path, each.get("tags") or (), old.get("tags") or (), now.get("tags") or (), rules.tags,
                    merged.differences)
        )  # fmt: skip
        if each.get("children"):
            fields = (old.get("children") or (), now.get("children") or ())
            made["children"] = _columns(each["children"], *fields, rules, path, merged)
        found.append(made)
    return found


def _comparable(column: Json) -> Json:
    """Return a column that is there, as `_columns` makes them."""
    made = {"name": column["name"], **{key: column[key] for key in _STRUCTURE if column.get(key) is not None}}
    made |= {key: column[key] for key in ("displayName", "extension", "description") if column.get(key)}
    made["tags"] = _bare(column.get("tags") or ())
    if column.get("children"):
        made["children"] = [_comparable(each) for each in column["children"]]
    return made


def _bare(labels: Iterable[Json]) -> list[Json]:
    return [
        {name: each[name] for name in ("tagFQN", "source", "labelType", "state") if name in each}
        for each in labels
    ]


def _plain(name: str, value: Value) -> Value:
    """Return a value as it is compared: references by id or FQN, the order of lists ignored."""
    if not value:
        return None
    if name == "owners":
        return sorted(each["id"] for each in value)
    if name in ("domains", "dataProducts"):
        return sorted(each if isinstance(each, str) else each["fullyQualifiedName"] for each in value)
    if name == "tableConstraints":
        return [(each["constraintType"], each.get("columns")) for each in value]
    return value


def _set(merged: Merged, name: str, current: Value, value: Value) -> None:
    """Add the operation that leads from the current value to this one."""
    same: Callable[[Value], Value] = (
        (lambda it: _bare(it or ())) if name == "tags" else (lambda it: _plain(name, it))
    )
    if same(current) == same(value):
        return
    if value in (None, [], {}):
        if current is not None:
            merged.operations.append({"op": "remove", "path": f"/{name}"})
    else:
        merged.operations.append({"op": "add", "path": f"/{name}", "value": value})
    merged.changed[name] = (same(current), same(value))


def _column_changes(current: Iterable[Json], columns: Sequence[Json]) -> tuple[Value, Value]:
    """Return the columns that differ: as they are there, and as they will be."""
    before = {each["name"]: _comparable(each) for each in current}
    after = {each["name"]: each for each in columns}
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not names:  # their order
        return list(before), list(after)
    return [before[name] for name in names if name in before], [
        after[name] for name in names if name in after
    ]
