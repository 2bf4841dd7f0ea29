"""Facets of datasets and jobs: the newest of each name is stored and shown with the dataset or process."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.records import Column
from headrace.catalog.schema import schema_hash
from headrace.database.jsonb import jsonb
from headrace.openlineage.documents import Ids, stamped
from headrace.openlineage.model import AnyEvent, DatasetEvent, Facets
from headrace.openlineage.sql import statement

Row = dict[str, Any]


def store(
    cursor: Cursor[Any],
    organisation: UUID,
    events: Sequence[AnyEvent],
    ids: Ids,
    changed: Iterable[UUID] = (),
) -> None:
    """Store the facets and schemas of these events, and show them with undeclared datasets and jobs.

    changed: datasets that have other names now. Schemas are only compared for datasets with new information: most
    events repeat what is known.
    """
    rows = _facet_rows(events, ids)
    kept: list[Row] = []
    if rows:
        kept = (
            statement("facets")
            .execute(cursor, {"organisation": organisation, "facets": jsonb(rows)})
            .fetchall()
        )
    dated = {str(row["subject_id"]) for row in kept if row["name"] == "schema"}
    dated |= {row["subject_id"] for row in rows if row["name"] == "schema" and row["several"]}
    schemas = _schema_rows(events, ids, dated) if dated else []
    if schemas:
        statement("schemas").execute(cursor, {"organisation": organisation, "schemas": jsonb(schemas)})
    newer = [row for row in kept if row["changed"]]
    show(cursor, [row["subject_id"] for row in newer if row["subject_type"] == "DATASET"], list(changed))
    processes = [row["subject_id"] for row in newer if row["subject_type"] == "PROCESS"]
    if processes:
        _show_processes(cursor, processes)


def show(cursor: Cursor[Any], names: Sequence[UUID], datasets: Sequence[UUID]) -> None:
    """Show facets with these datasets, and with datasets of these names, unless they are declared."""
    if not names and not datasets:
        return
    known = statement("dataset_facets").execute(cursor, {"names": names, "datasets": datasets}).fetchall()
    if known:
        shown = [{"dataset_id": row["dataset_id"], **_dataset(row["facets"])} for row in known]
        statement("dataset_attributes").execute(cursor, {"datasets": jsonb(shown)})


def _facet_rows(events: Iterable[AnyEvent], ids: Ids) -> list[Row]:
    """Return the newest facet of each subject and name, as rows of `facet`, with the time of the first.

    several: the events disagree about it.
    """
    newest: dict[tuple[str, str, str], Row] = {}
    for event in events:
        at = stamped(event.at)
        for subject, subject_id, facets in _subjects(event, ids):
            for name, facet in facets.items():
                row = {
                    "subject_type": subject,
                    "subject_id": subject_id,
                    "name": name,
                    "at": at,
                    "first_at": at,
                    "digest": event.digest,
                    "content": facet.content,
                    "modelled": facet.modelled,
                    "deleted": facet.deleted,
                    "several": False,
                }
                key = (subject, subject_id, name)
                known = newest.get(key)
                if known is not None:
                    row["first_at"] = min(at, known["first_at"])
                    row["several"] = known["several"] or known["content"] != facet.content
                    if (known["at"], known["digest"]) >= (at, event.digest):
                        row = {**known, "first_at": row["first_at"], "several": row["several"]}
                newest[key] = row
    return [newest[key] for key in sorted(newest)]


def _schema_rows(events: Iterable[AnyEvent], ids: Ids, dated: Container[str]) -> list[Row]:
    """Return every schema reported for one of these datasets, with its first time in these events."""
    found: dict[tuple[str, str], tuple[str, tuple[Column, ...]]] = {}
    for event in events:
        for subject, name_id, facets in _subjects(event, ids):
            facet = facets.get("schema") if subject == "DATASET" and name_id in dated else None
            if facet is None or facet.deleted or not facet.modelled:
                continue
            columns = columns_of(facet.content.get("fields", ()))
            if columns:
                key, at = (name_id, schema_hash(columns)), stamped(event.at)
                found[key] = (min(at, found[key][0]) if key in found else at, columns)
    return [
        {"name_id": name_id, "schema_hash": digest, "at": at, "columns": columns}
        for (name_id, digest), (at, columns) in sorted(found.items())
    ]


def columns_of(fields: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of a schema facet. Of duplicate names the first is kept."""
    found = {
        str(each["name"]): Column(str(each["name"]), _type(each), description=each.get("description"))
        for each in reversed(fields)
    }
    return tuple(found[str(name)] for name in dict.fromkeys(each["name"] for each in fields))


def _type(each: Mapping[str, Any]) -> str:
    """Return the type; for a nested column including its fields, unless the type already contains them."""
    stated = str(each.get("type", "unknown"))
    inner = each.get("fields")
    if not inner or "<" in stated:
        return stated
    parts = ",".join(f"{field['name']}:{_type(field)}" for field in inner)
    return f"{stated}<{parts}>"


def _subjects(event: AnyEvent, ids: Ids) -> Iterator[tuple[str, str, Facets]]:
    if isinstance(event, DatasetEvent):
        yield "DATASET", ids.dataset(event.dataset.name), event.dataset.facets
        return
    yield "PROCESS", ids.process(event.job.name), event.job.facets
    for dataset in (*event.inputs, *event.outputs):
        yield "DATASET", ids.dataset(dataset.name), dataset.facets


def _dataset(facets: Mapping[str, Any]) -> Row:
    """Return the catalog attributes of a dataset according to its facets; missing ones are None."""
    tags = facets.get("tags", {}).get("tags", [])
    of_columns: dict[str, list[str]] = {}
    for tag in tags:
        if "field" in tag:
            word = tag["key"] if tag["value"].lower() in {"true", "1", "yes", tag["key"].lower()} else None
            of_columns.setdefault(tag["field"], []).append(word or f"{tag['key']}={tag['value']}")
    columns = columns_of(facets.get("schema", {}).get("fields", ()))
    metadata = {
        name: {key: value for key, value in facets[name].items() if not key.startswith("_")}
        for name in ("dataSource", "datasetType", "storage", "catalog", "hierarchy", "lifecycleStateChange")
        if name in facets
    }
    return {
        "description": facets.get("documentation", {}).get("description"),
        "format": facets.get("storage", {}).get("fileFormat"),
        "owners": _owners(facets),
        "tags": {tag["key"]: tag["value"] for tag in tags if "field" not in tag} or None,
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "nullable": True,
                "description": column.description,
                "tags": sorted(set(of_columns.get(column.name, ()))),
            }
            for column in columns
        ]
        or None,
        "metadata": {"external": True, **metadata},
    }


def _owners(facets: Mapping[str, Any]) -> list[str] | None:
    return [owner["name"] for owner in facets.get("ownership", {}).get("owners", ())] or None


def _show_processes(cursor: Cursor[Any], processes: Sequence[UUID]) -> None:
    known = statement("process_facets").execute(cursor, {"processes": processes}).fetchall()
    if known:
        shown = [{"process_id": row["process_id"], **_process(row["facets"])} for row in known]
        statement("process_attributes").execute(cursor, {"processes": jsonb(shown)})


def _process(facets: Mapping[str, Any]) -> Row:
    """Return the catalog attributes of a job according to its facets."""
    place = facets.get("sourceCodeLocation", {})
    metadata = {
        name: {key: value for key, value in facets[name].items() if not key.startswith("_")}
        for name in ("jobType", "sourceCodeLocation", "tags")
        if name in facets
    }
    return {
        "description": facets.get("documentation", {}).get("description"),
        "owners": _owners(facets) or [],
        "code_version": place.get("version"),
        "source": facets.get("sql", {}).get("query") or facets.get("sourceCode", {}).get("sourceCode"),
        "metadata": metadata,
    }
