"""Column lineage of versions being published: stored with the version and added to the column graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog import published_events as events
from headrace.catalog.column_lineage import (
    WHOLE,
    ColumnLineage,
    ColumnSource,
    LineageOfOutput,
    as_json,
    from_json,
    is_field,
)
from headrace.catalog.naming import Name, key_of, name_id, place
from headrace.catalog.records import Outcome, VersionDraft
from headrace.context import current_context
from headrace.database.jsonb import encoded, jsonb
from headrace.publishing.sql import statement

UNKNOWN = "UNKNOWN"  # subtype of an edge from a possible source
_MAX_TEXT_LENGTH = 2000  # characters of an expression or reason in the graph; the version has the full text

_LOCK = """
SELECT FROM catalog.column_lineage_report WHERE target_name_id = %(name_id)s AND via = 'plan'
ORDER BY reporter_id FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class _ReportedLineage:
    """The lineage of versions of one dataset.

    hash: None if nothing is reported. published: when one of them was published; None if none is. reporter_id: the
    process that reports it, in a run.
    """

    dataset: str
    hash: str | None
    lineage: LineageOfOutput
    published: datetime | None
    reporter_id: UUID | None = None
    run_id: UUID | None = None


def lineage_hashes(drafts: Sequence[VersionDraft]) -> list[str | None]:
    """Return the hash of each draft's lineage; drafts of one run share it, and it is hashed once."""
    lineages = {id(draft.lineage): draft.lineage for draft in drafts if draft.lineage is not None}
    hashes = {
        identity: hashlib.sha256(encoded(as_json(each))).hexdigest() for identity, each in lineages.items()
    }
    return [hashes.get(id(draft.lineage)) for draft in drafts]


def provenances(
    cursor: Cursor[Any], drafts: Sequence[VersionDraft], hashes: Sequence[str | None]
) -> dict[int, UUID]:
    """Return the provenance of each draft with lineage, by position: what sensitivity is inherited by. Stores new ones.

    One small query; none if no draft has lineage.
    """
    lineages = {id(draft.lineage): draft.lineage for draft in drafts if draft.lineage is not None}
    sources = {identity: _flow_sources(each) for identity, each in lineages.items()}
    items = [
        {
            "ordinal": ordinal,
            "dataset": draft.dataset,
            "hash": digest,
            "inputs": draft.inputs,
            "sources": sources[id(draft.lineage)],
        }
        for ordinal, (draft, digest) in enumerate(zip(drafts, hashes, strict=True))
        if digest is not None
    ]
    if not items:
        return {}
    rows = statement("lineage/provenances").execute(
        cursor, {"organisation": current_context().organisation_id, "lineages": jsonb(items)}
    )
    return {row["ordinal"]: row["provenance_id"] for row in rows}


def store_lineage(
    cursor: Cursor[Any],
    run_id: UUID | None,
    drafts: Sequence[VersionDraft],
    hashes: Sequence[str | None],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Store the lineage of the `rows` returned by publish.sql, in its transaction.

    One small query if it is unchanged, as usual; none if no draft has lineage.
    """
    reported = _reported_lineages(drafts, hashes, rows)
    if not reported:
        return
    organisation = current_context().organisation_id
    items = [_item(ordinal, each) for ordinal, each in enumerate(reported)]
    known = statement("lineage/known").execute(
        cursor, {"organisation": organisation, "run_id": run_id, "lineages": jsonb(items)}
    )
    new: list[_ReportedLineage] = []
    changed, replaced = [], []
    for row in known.fetchall():
        each = reported[row["ordinal"]]
        if not row["stored"]:
            new.append(each)
        if not row["is_reported"] and each.published is not None:
            changed.append(replace(each, reporter_id=row["process_id"], run_id=run_id))
        if row["others"] and each.published is not None:
            replaced.append((row["dataset_id"], each))
    if new:
        _name_inputs(cursor, new)
        statement("lineage/store").execute(
            cursor, {"organisation": organisation, "lineages": jsonb([_stored(each) for each in new])}
        )
    _record(cursor, changed)
    for dataset_id, each in replaced:
        follow_pointers(cursor, dataset_id, each.dataset, each.published)


def follow_pointers(cursor: Cursor[Any], dataset_id: UUID, dataset: str, at: datetime) -> None:
    """Update the graph from `at` on to the lineage of published versions, for pointers that moved from another version.

    If a process writes several partitions, the newest version counts.
    """
    place = {"dataset_id": dataset_id, "name_id": _name_id(dataset)}
    cursor.execute(_LOCK, place)  # so that a concurrent publish is either seen here or recorded after this
    for row in statement("lineage/heads").execute(cursor, place).fetchall():
        lineage = from_json(row["content"]) if row["content"] is not None else LineageOfOutput()
        _record(
            cursor, [_ReportedLineage(dataset, row["hash"], lineage, at, row["process_id"], row["run_id"])]
        )


def _record(cursor: Cursor[Any], reported: Sequence[_ReportedLineage]) -> None:
    """Record the lineage of one process and run."""
    if not reported:
        return
    _name_inputs(cursor, reported)
    parameters = {
        "organisation": current_context().organisation_id,
        "process_id": reported[0].reporter_id,
        "run_id": reported[0].run_id,
        "names": jsonb(_names(reported)),
        "lineages": jsonb([_item(ordinal, each) for ordinal, each in enumerate(reported)]),
        "edges": jsonb([edge for each in reported for edge in _edges(each)]),
    }
    statement("lineage/reserve").execute(cursor, parameters)
    statement("lineage/record").execute(cursor, parameters)


def _name_inputs(cursor: Cursor[Any], reported: Sequence[_ReportedLineage]) -> None:
    """Store the names of the lineages' datasets and inputs, where they are new."""
    parameters = {"organisation": current_context().organisation_id, "namespace": events.namespace()}
    if past := _past(reported):
        statement("lineage/past_inputs").execute(cursor, {**parameters, "past": jsonb(past)})
    statement("lineage/names").execute(cursor, {**parameters, "names": jsonb(_names(reported))})


def _reported_lineages(
    drafts: Sequence[VersionDraft], hashes: Sequence[str | None], rows: Sequence[Mapping[str, Any]]
) -> list[_ReportedLineage]:
    """Return one entry per dataset and lineage; of two published lineages of one dataset, the later counts."""
    found: dict[tuple[str, str], _ReportedLineage] = {}
    for draft, digest, row in zip(drafts, hashes, rows, strict=True):
        if draft.lineage is None or digest is None or row["replayed"]:
            continue
        at = row["produced_at"] if row["outcome"] == Outcome.PUBLISHED else None
        if (draft.dataset, digest) not in found or at is not None:
            found[draft.dataset, digest] = _ReportedLineage(draft.dataset, digest, draft.lineage, at)
    existing = {
        reported.dataset: reported.hash for reported in found.values() if reported.published is not None
    }
    return [
        reported if existing.get(reported.dataset) == reported.hash else replace(reported, published=None)
        for reported in found.values()
    ]


def _item(ordinal: int, reported: _ReportedLineage) -> dict[str, Any]:
    return {
        "ordinal": ordinal,
        "dataset": reported.dataset,
        "hash": reported.hash,
        "name_id": _name_id(reported.dataset),
        "reporter_id": reported.reporter_id or _name_id(reported.dataset),
        "at": reported.published,
    }


def _stored(reported: _ReportedLineage) -> dict[str, Any]:
    known, of = reported.lineage.coverage()
    names = _input_names(reported.lineage)
    return {
        "dataset": reported.dataset,
        "hash": reported.hash,
        "content": as_json(reported.lineage),
        "column_count": of,
        "known_count": known,
        "flows": [
            {
                "source_name_id": names[flow.input],
                "source_column": flow.source,
                "target_column": flow.target,
                "certain": flow.certain,
            }
            for flow in reported.lineage.flows()
        ],
    }


def _flow_sources(lineage: LineageOfOutput) -> list[dict[str, Any]]:
    names = {_name(flow.input) for flow in lineage.flows()}
    return [
        {"name_id": name_id(current_context().organisation_id, name), "dataset": name.name} for name in names
    ]


def _names(reported: Sequence[_ReportedLineage]) -> list[dict[str, Any]]:
    keys = {each.dataset for each in reported} | {key for each in reported for key in each.lineage.inputs()}
    names = {_name(key) for key in keys}
    return [
        {"dataset": name.name, "name_id": name_id(current_context().organisation_id, name)}
        for name in sorted(names)
    ]


def _past(reported: Sequence[_ReportedLineage]) -> list[dict[str, Any]]:
    """Return the names of undeclared inputs, unless they are Headrace datasets after all."""
    keys = {key for each in reported for key in each.lineage.inputs() if "#" not in key}
    names = {name for name in map(_name, keys) if name.namespace != events.namespace()}
    return [
        {
            "name_id": name_id(current_context().organisation_id, name),
            "namespace": name.namespace,
            "name": name.name,
            "key": key_of(name, events.namespace()),
        }
        for name in sorted(names)
    ]


def _edges(reported: _ReportedLineage) -> Iterator[dict[str, Any]]:
    """Yield rows of the graph. A struct whose fields are traced separately is represented by its fields only: they
    may differ."""
    target, names = _name_id(reported.dataset), _input_names(reported.lineage)
    apart = {each.column.partition(".")[0] for each in reported.lineage.columns if is_field(each.column)}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    first = next(iter(reported.lineage.columns), ColumnLineage(WHOLE))
    whole = ColumnLineage(WHOLE, reported.lineage.whole, None, first.confidence or 1.0, first.origin)
    for column in (*reported.lineage.columns, whole):
        if column.column in apart and column.unknown is None:
            continue
        for source in column.sources:
            row = _edge(target, column, source, names[source.input])
            rows[tuple(row.values())] = row
    yield from rows.values()


def _edge(target: UUID, column: ColumnLineage, source: ColumnSource, source_id: UUID) -> dict[str, Any]:
    unknown = column.unknown is not None
    return {
        "name_id": target,
        "target_field": column.column,
        "source_name_id": source_id,
        "source_field": source.column,
        "type": "" if unknown else source.type.value,
        "subtype": UNKNOWN if unknown else source.subtype.value,
        "description": (column.unknown or source.expression)[:_MAX_TEXT_LENGTH],
        "masking": source.masking and not unknown,
        "confidence": column.confidence,
        "origin": column.origin.value,
    }


def _input_names(lineage: LineageOfOutput) -> dict[str, UUID]:
    return {key: _name_id(key) for key in lineage.inputs()}


def _name_id(key: str) -> UUID:
    return name_id(current_context().organisation_id, _name(key))


def _name(key: str) -> Name:
    """Return the graph's name of a Headrace dataset, or of a path or table; files of a Headrace dataset are that
    dataset."""
    own = events.namespace()
    return Name(own, key) if "#" in key else place(Name(*events.named(key)), own).name
