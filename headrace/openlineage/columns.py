"""Column lineage as reported by events: in the columnLineage facet, and in the fields of the lineage facet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from headrace.catalog.naming import Name
from headrace.database.jsonb import jsonb
from headrace.openlineage.documents import Ids, stamped
from headrace.openlineage.model import (
    AnyEvent,
    Dataset,
    DatasetEvent,
    Facets,
    RunEvent,
)
from headrace.openlineage.sql import statement

_WHOLE = ""  # in place of a column: the whole dataset


@dataclass(frozen=True, slots=True)
class Source:
    """A dependency of a column on a column of another dataset."""

    target_field: str
    source: str
    source_field: str
    type: str
    subtype: str
    description: str
    masking: bool


@dataclass(frozen=True, slots=True)
class ColumnStatement:
    """The column lineage of one dataset in one facet of an event. process: None if no run or job is named."""

    target: str
    process: str | None
    via: str
    at: str
    run_id: UUID | None
    sources: tuple[Source, ...]


def column_statements(event: AnyEvent, ids: Ids) -> Iterator[ColumnStatement]:
    """Yield the column lineage in the event. Lineage of an input is not attributed to the job that reads it."""
    at = stamped(event.at)
    if isinstance(event, DatasetEvent):
        yield from _of_dataset(event.dataset, ids, None, at, None)
        return
    run_id = event.run_id if isinstance(event, RunEvent) else None
    job = ids.process(event.job.name)
    for dataset in event.outputs:
        yield from _of_dataset(dataset, ids, job, at, run_id)
    for dataset in event.inputs:
        yield from _of_dataset(dataset, ids, None, at, run_id)
    lineage = event.job.facets.get("lineage")
    if lineage is not None and lineage.modelled and not lineage.deleted:
        for entry in lineage.content["entries"]:
            if entry["type"] == "DATASET":
                target = ids.dataset(Name(entry["namespace"], entry["name"]))
                yield ColumnStatement(target, job, "lineage", at, run_id, tuple(_explicit(entry, ids)))


def store(cursor: Cursor[Any], organisation: UUID, reported: list[ColumnStatement]) -> None:
    """Store reported column lineage; rows that are no longer reported are kept and marked as not current."""
    if not reported:
        return
    rows: dict[UUID, dict[str, Any]] = {}
    newest: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in reported:
        by = each.process or each.target
        of = {"target_name_id": each.target, "reporter_id": by, "process_id": each.process, "via": each.via}
        known = newest.setdefault((each.target, by, each.via), {**of, "last_at": each.at})
        known["last_at"] = max(known["last_at"], each.at)
        for source in each.sources:
            identity = uuid5(organisation, "\n".join(("column", each.target, by, each.via, *_text(source))))
            row = rows.setdefault(identity, _row(identity, of, source, each))
            # If two runs report it at the same time, it is attributed to the smaller id.
            if (each.at, str(each.run_id or "")) < (row["first_at"], str(row["run_id"] or "")):
                row |= {"first_at": each.at, "run_id": each.run_id}
            row["last_at"] = max(row["last_at"], each.at)
    statement("columns").execute(
        cursor,
        {
            "organisation": organisation,
            "rows": jsonb([rows[key] for key in sorted(rows)]),
            "newest": jsonb([newest[key] for key in sorted(newest)]),
        },
    )


def _of_dataset(
    dataset: Dataset, ids: Ids, process: str | None, at: str, run_id: UUID | None
) -> Iterator[ColumnStatement]:
    if not dataset.facets:
        return
    target = ids.dataset(dataset.name)
    for via, read in (("columnLineage", _implied), ("lineage", _explicit)):
        content = _content(dataset.facets, via)
        if content is not None:
            yield ColumnStatement(target, process, via, at, run_id, tuple(read(content, ids)))


def _content(facets: Facets, name: str) -> Mapping[str, Any] | None:
    """Return the content of the facet, empty if it was deleted."""
    facet = facets.get(name)
    if facet is None or not (facet.modelled or facet.deleted):
        return None
    return {"fields": {}} if facet.deleted else facet.content


def _implied(content: Mapping[str, Any], ids: Ids) -> Iterator[Source]:
    for target, entry in content["fields"].items():
        for each in entry["inputFields"]:
            yield from _sources(target, each, ids, _before_1_1(entry))
    for each in content.get("dataset", ()):
        yield from _sources(_WHOLE, each, ids, [])


def _explicit(content: Mapping[str, Any], ids: Ids) -> Iterator[Source]:
    for target, entry in content.get("fields", {}).items():
        for each in entry["inputs"]:
            if each["type"] == "DATASET":
                yield from _sources(target, each, ids, [])
    for each in content.get("inputs", ()):
        if each["type"] == "DATASET" and "field" in each:
            yield from _sources(_WHOLE, each, ids, [])


def _sources(
    target: str, each: Mapping[str, Any], ids: Ids, otherwise: list[Mapping[str, Any]]
) -> Iterator[Source]:
    source = ids.dataset(Name(each["namespace"], each["name"]))
    for how in each.get("transformations") or otherwise or [{}]:
        yield Source(
            target_field=target,
            source=source,
            source_field=each.get("field", _WHOLE),
            type=how.get("type", ""),
            subtype=how.get("subtype", ""),
            description=how.get("description", ""),
            masking=how.get("masking", False),
        )


def _before_1_1(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Parse the first version of the facet, which gives one transformation for all sources of a column."""
    kind = entry.get("transformationType")
    if not kind:
        return []
    masked = kind == "MASKED"
    return [
        {
            "type": "DIRECT",
            "subtype": "TRANSFORMATION" if masked else kind,
            "description": entry.get("transformationDescription", ""),
            "masking": masked,
        }
    ]


def _text(source: Source) -> Iterator[str]:
    yield from (source.target_field, source.source, source.source_field, source.type, source.subtype)
    yield from (source.description, str(source.masking))


def _row(identity: UUID, of: Mapping[str, Any], source: Source, reported: ColumnStatement) -> dict[str, Any]:
    return {
        **of,
        "column_lineage_id": identity,
        "target_field": source.target_field,
        "source_name_id": source.source,
        "source_field": source.source_field,
        "transformation_type": source.type,
        "transformation_subtype": source.subtype,
        "transformation_description": source.description,
        "masking": source.masking,
        "run_id": reported.run_id,
        "first_at": reported.at,
        "last_at": reported.at,
    }
