"""The facets of datasets and jobs: the newest of each name is kept, and shows on the dataset or process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor

from catalog.openlineage.documents import Ids, stamped
from catalog.openlineage.values import AnyEvent, DatasetEvent, Facets
from catalog.payload import jsonb
from catalog.records import Column
from catalog.schema import schema_hash
from catalog.sql import statement

Row = dict[str, Any]


def facet_rows(events: Iterable[AnyEvent], ids: Ids) -> list[Row]:
    """The newest facet of each subject and name in these events, as rows of `facet`."""
    newest: dict[tuple[str, str, str], Row] = {}
    for event in events:
        for subject, subject_id, facets in _subjects(event, ids):
            for name, facet in facets.items():
                row = {
                    "subject_type": subject,
                    "subject_id": subject_id,
                    "name": name,
                    "at": stamped(event.at),
                    "digest": event.digest,
                    "content": facet.content,
                    "modelled": facet.modelled,
                    "deleted": facet.deleted,
                }
                key = (subject, subject_id, name)
                known = newest.get(key)
                if known is None or (known["at"], known["digest"]) < (row["at"], row["digest"]):
                    newest[key] = row
    return [newest[key] for key in sorted(newest)]


def schema_rows(events: Iterable[AnyEvent], ids: Ids) -> list[Row]:
    """Every schema that a dataset is said to have, each with the first time in these events."""
    found: dict[tuple[str, str], tuple[str, tuple[Column, ...]]] = {}
    last: dict[
        str, tuple[Any, tuple[Column, ...], str]
    ] = {}  # events say the same of a dataset again and again
    for event in events:
        for subject, name_id, facets in _subjects(event, ids):
            facet = facets.get("schema") if subject == "DATASET" else None
            if facet is None or facet.deleted or not facet.modelled:
                continue
            fields = facet.content.get("fields", ())
            if name_id not in last or last[name_id][0] != fields:
                columns = columns_of(fields)
                last[name_id] = (fields, columns, schema_hash(columns))
            _, columns, digest = last[name_id]
            if columns:
                key, at = (name_id, digest), stamped(event.at)
                found[key] = (min(at, found[key][0]) if key in found else at, columns)
    return [
        {"name_id": name_id, "schema_hash": digest, "at": at, "columns": columns}
        for (name_id, digest), (at, columns) in sorted(found.items())
    ]


def store(
    cursor: Cursor[Any],
    organisation: UUID,
    rows: Sequence[Row],
    schemas: Sequence[Row],
    changed: Iterable[UUID] = (),
) -> None:
    """Keep facets and schemas, and show them on what nobody has declared. changed: datasets with other names now."""
    if schemas:
        statement("openlineage_schemas").execute(
            cursor, {"organisation": organisation, "schemas": jsonb(schemas)}
        )
    newer: list[Row] = []
    if rows:
        newer = (
            statement("openlineage_facets")
            .execute(cursor, {"organisation": organisation, "facets": jsonb(rows)})
            .fetchall()
        )
    names = [row["subject_id"] for row in newer if row["subject_type"] == "DATASET"]
    processes = [row["subject_id"] for row in newer if row["subject_type"] == "PROCESS"]
    datasets = list(changed)
    if names or datasets:
        _show_datasets(cursor, names, datasets)
    if processes:
        _show_processes(cursor, processes)


def columns_of(fields: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns that a schema facet lists. One that names a column twice keeps the first."""
    found = {
        str(each["name"]): Column(str(each["name"]), _type(each), description=each.get("description"))
        for each in reversed(fields)
    }
    return tuple(found[str(name)] for name in dict.fromkeys(each["name"] for each in fields))


def _type(each: Mapping[str, Any]) -> str:
    """The type; of a nested column with what is in it, unless the type says that itself."""
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


def _show_datasets(cursor: Cursor[Any], names: Sequence[UUID], datasets: Sequence[UUID]) -> None:
    known = (
        statement("openlineage_dataset_facets")
        .execute(cursor, {"names": names, "datasets": datasets})
        .fetchall()
    )
    if known:
        shown = [{"dataset_id": row["dataset_id"], **_dataset(row["facets"])} for row in known]
        statement("openlineage_dataset_attributes").execute(cursor, {"datasets": jsonb(shown)})


def _dataset(facets: Mapping[str, Any]) -> Row:
    """What facets say of a dataset, in the catalog's words; what they do not say is None."""
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
    known = statement("openlineage_process_facets").execute(cursor, {"processes": processes}).fetchall()
    if known:
        shown = [{"process_id": row["process_id"], **_process(row["facets"])} for row in known]
        statement("openlineage_process_attributes").execute(cursor, {"processes": jsonb(shown)})


def _process(facets: Mapping[str, Any]) -> Row:
    """What facets say of a job, in the catalog's words."""
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
