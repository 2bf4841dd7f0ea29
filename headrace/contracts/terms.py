"""The terms of a dataset: what its readers rely on, and nothing of how it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from headrace.access.redaction import scrubbed
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import Check, Column, DatasetRecord
from headrace.connections.relations import FETCH_SIZE, Source
from headrace.execution.plan import ExternalPlan, OutputPlan, Plan

# Of the record's metadata: what the platform adds, which has fields of its own here or concerns no reader.
_ADDED = {
    "external", "location", "database", "options", "marker", "reader", "control", "produced_by",
    "warehouse", "store", "keep", "extract", "incremental",
}  # fmt: skip
_IMPLIED = "partition"  # the kind of the check that follows from the partitions


class NotDeclared(Exception):
    """A dataset that the project does not declare; the message names similar ones."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        near = get_close_matches(key, sorted(known), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        super().__init__(f"this project does not declare {key}{hint}")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one dataset, independent of how they are written.

    checks: the declared ones, by name; those that follow from `nullable` and `partitions` are left out. sla: as in the
    catalog, with durations in seconds. partitions, keep: as declared. place: of a dataset the fields of `output`, of an
    external one those of its location, as declared; both without secrets.
    """

    key: str
    format: str
    is_external: bool = False
    description: str | None = None
    owners: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    checks: tuple[Check, ...] = ()
    sla: Mapping[str, Any] = field(default_factory=dict)
    partitions: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    renamed_from: str | None = None

    @property
    def domain(self) -> str:
        """The first half of the key."""
        return self.key.split("/")[0]

    @property
    def name(self) -> str:
        """The second half of the key."""
        return self.key.split("/")[1]

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the first check `unique`, of several columns if there is one, that are never null."""
        required = {column.name for column in self.columns if not column.nullable}
        checks = sorted(self.checks, key=lambda check: check.column is not None)
        keys = (tuple(check.parameters["columns"]) for check in checks if check.kind == "unique")
        return next((key for key in keys if required.issuperset(key)), ())


def terms_by_key(plans: Iterable[Plan]) -> dict[str, Terms]:
    """Return the terms of the datasets of some plans."""
    found: dict[str, Terms] = {}
    for plan in plans:
        if isinstance(plan, ExternalPlan):
            found[plan.record.key] = _terms(plan.record, _external_place(plan), is_external=True)
        else:
            found |= {each.record.key: _terms(each.record, _place(each)) for each in plan.outputs}
    return found


def terms_of(plans: Iterable[Plan], key: str) -> Terms:
    """Return the terms of one dataset. Raises NotDeclared."""
    found = terms_by_key(plans)
    if key not in found:
        raise NotDeclared(key, found)
    return found[key]


def explicit(columns: Iterable[Column], checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return the checks by name, without those that follow from the columns and partitions."""
    required = {column.name for column in columns if not column.nullable}
    implied = {implied_check(name) for name in required}
    kept = (each for each in checks if each.kind != _IMPLIED and not _same(each, implied))
    return tuple(sorted(kept, key=lambda check: check.name))


def implied_check(column: str) -> tuple[str, str]:
    """Return name and column of the check that a column with `nullable: false` has."""
    return f"{column}_not_null", column


def _same(check: Check, implied: set[tuple[str, str]]) -> bool:
    place = (check.name, check.column or "")
    return place in implied and check == Check(check.name, "not_null", check.column)


def _terms(record: DatasetRecord, place: Mapping[str, Any], *, is_external: bool = False) -> Terms:
    return Terms(
        key=record.key,
        format=record.format,
        is_external=is_external,
        description=record.description,
        owners=record.owners,
        tags=dict(record.tags),
        columns=record.columns,
        checks=explicit(record.columns, record.checks),
        sla=dict(record.sla or {}),
        partitions=_partitions(record),
        place=scrubbed({name: value for name, value in place.items() if value}),
        keep=dict(record.metadata.get("keep", {})),
        metadata=scrubbed({name: value for name, value in record.metadata.items() if name not in _ADDED}),
        renamed_from=record.renamed_from,
    )


def _partitions(record: DatasetRecord) -> dict[str, Any]:
    """Return the partitions as declared; a column of each dimension is what the check `partition` reads."""
    declared = dict(record.partition_definition or {})
    columns = next((check.parameters["columns"] for check in record.checks if check.kind == _IMPLIED), ())
    if columns and "dimensions" in declared:
        # The check has the columns in the order of the dimensions' names.
        pairs = zip(sorted(declared["dimensions"].items()), columns, strict=True)
        declared["dimensions"] = {name: {**one, "column": column} for (name, one), column in pairs}
    elif columns:
        declared["column"] = columns[0]
    return declared


def _place(output: OutputPlan) -> dict[str, Any]:
    place: dict[str, Any] = {"options": dict(output.options)}
    if output.store != FILES_STORE:
        place["store"] = output.store
    if output.location is not None and "://" in output.location:
        place["location"] = output.location
    elif output.location is not None:  # connection:schema.table
        place["connection"], _, place["table"] = output.location.partition(":")
    return place


def _external_place(plan: ExternalPlan) -> dict[str, Any]:
    return {
        "location": plan.location,
        "database": {} if plan.source is None else _source(plan.source),
        "options": dict(plan.options),
        "marker": plan.marker,
        "reader": plan.reader,
        "control": plan.control and plan.control.described,
        "produced_by": list(plan.produced_by),
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        name: value for name, value in source.metadata.items() if (name, value) != ("fetch_size", FETCH_SIZE)
    }
