"""The versions that runs elsewhere wrote, as they tell of them, and what readers of these datasets get."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from catalog.openlineage.documents import Document
from catalog.openlineage.facets import columns_of
from catalog.openlineage.outlines import Written, versions
from catalog.openlineage.runs import Stored
from catalog.payload import jsonb
from catalog.schema import schema_hash
from catalog.sql import statement

Row = dict[str, Any]
_TAG = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_FILES = re.compile(r"(file|s3|s3a|s3n|gs|hdfs|abfss?|wasbs?)://")
_OF_RUNS = """
SELECT dataset_version_id, dataset_id, version_tag, path, produced_by_run_id, produced_at, row_count, byte_size,
       file_count, schema_hash, format
FROM catalog.dataset_version
WHERE produced_by_run_id = ANY (%s) AND idempotency_key LIKE 'openlineage/%%'
"""
_PLACES = """
SELECT name_id, named.dataset_id, named.namespace, named.name, EXISTS (
    SELECT
    FROM catalog.lineage_edge edge
    WHERE edge.target_id = named.dataset_id
      AND edge.edge_role = 'PRODUCES'
      AND edge.valid_to IS NULL
      AND (SELECT technology FROM catalog.process WHERE process_id = edge.source_id) = 'SPARK'
    OFFSET 0 -- of each name for itself, whatever the planner knows of the tables
) AS computed_here
FROM catalog.dataset_name named
WHERE name_id = ANY (%s)
"""
_COMPARED = (
    "path",
    "produced_by_run_id",
    "produced_at",
    "row_count",
    "byte_size",
    "file_count",
    "schema_hash",
    "format",
)


def store(cursor: Cursor[Any], organisation: UUID, told: Stored) -> frozenset[UUID]:
    """Bring the versions of these runs to what their documents come to; returns those that were not there before.

    Of a dataset that others write readers get what was produced last. Datasets that Spark computes here keep their own
    versions, and none of these. The history of the pointer is a function of the versions, unless others than such runs
    write the dataset too, or a person has moved it: then a version moves it if it is newer than what stands.
    """
    runs, former = told.runs, told.former
    written = {run_id: versions(document) for run_id, document in runs.items()}
    before = list(told.known & (runs.keys() | former))
    stored = {row["dataset_version_id"]: row for row in cursor.execute(_OF_RUNS, [before])} if before else {}
    if not stored and not any(written.values()):
        return frozenset()
    places = {
        str(row["name_id"]): row
        for row in cursor.execute(
            _PLACES, [[UUID(each.name_id) for all_ in written.values() for each in all_]]
        )
    }
    claimed: dict[tuple[UUID, str], Row] = {}
    for run_id, found in written.items():
        for each in sorted(found, key=lambda version: version.name_id):
            place = places[each.name_id]
            if not place["computed_here"]:
                row = _row(organisation, run_id, each, place)
                key = (row["dataset_id"], row["version_tag"])
                if key not in claimed or _first(row, claimed[key]):
                    claimed[key] = row
    wanted = {row["dataset_version_id"]: row for row in claimed.values()}
    gone = [row for key, row in stored.items() if key not in wanted]
    changed = [row for key, row in wanted.items() if key not in stored or _differs(stored[key], row)]
    if not gone and not changed:
        return frozenset()
    since = _since([*gone, *changed, *(stored[key] for key in stored.keys() & wanted.keys())], changed, gone)
    parameters = {
        "organisation": organisation,
        "places": jsonb([{"dataset_id": dataset, "since": at} for dataset, at in sorted(since.items())]),
        "gone": [row["dataset_version_id"] for row in gone],
        "versions": jsonb(changed),
        "runs": list({row["produced_by_run_id"] for row in changed}),
        "changed": [row["dataset_version_id"] for row in changed],
        "former": list(former),
    }
    statement("openlineage_clear").execute(cursor, parameters)
    added = statement("openlineage_versions").execute(cursor, parameters).fetchall()
    statement("openlineage_pointers").execute(cursor, parameters)
    # A tag that was made up here is known to nobody before: only one that was reported may have been read already.
    if any(map(_names_a_version, runs.values())) or not all(
        _TAG.fullmatch(row["version_tag"]) for row in changed
    ):
        statement("openlineage_inputs").execute(cursor, parameters)
    return frozenset(row["dataset_version_id"] for row in added)


def _names_a_version(document: Document) -> bool:
    """Whether the run says of anything it read which version that was."""
    return any(use["facets"].keys() & {"version", "place"} for use in document["inputs"].values())


def _row(organisation: UUID, run_id: UUID, version: Written, place: Mapping[str, Any]) -> Row:
    columns = columns_of(version.fields)
    identity = uuid5(organisation, f"openlineage/{version.name_id}\n{version.tag}")
    return {
        "dataset_version_id": identity,
        "dataset_id": place["dataset_id"],
        "version_tag": version.tag,
        "path": version.path or _location(place["namespace"], place["name"]),
        "format": version.format or "unknown",
        "row_count": version.row_count,
        "byte_size": version.byte_size,
        "file_count": min(version.file_count, 2**31 - 1),
        "schema_hash": schema_hash(columns),
        "produced_by_run_id": run_id,
        "produced_at": datetime.fromisoformat(version.at),
        "idempotency_key": f"openlineage/{identity}",
    }


def _first(one: Row, other: Row) -> bool:
    """Whether of two runs that say they wrote the same version this one was there first."""
    return (one["produced_at"], one["produced_by_run_id"]) < (
        other["produced_at"],
        other["produced_by_run_id"],
    )


def _differs(stored: Row, wanted: Row) -> bool:
    return any(stored[name] != wanted[name] for name in _COMPARED)


def _since(rows: Sequence[Row], changed: Sequence[Row], gone: Sequence[Row]) -> dict[UUID, datetime]:
    """Of each dataset whose versions change, the time from which its history is made anew."""
    touched = {row["dataset_id"] for row in (*changed, *gone)}
    since: dict[UUID, datetime] = {}
    for row in rows:
        dataset = row["dataset_id"]
        if dataset in touched:
            since[dataset] = min(since.get(dataset, row["produced_at"]), row["produced_at"])
    return since


def _location(namespace: str, name: str) -> str:
    """Where files of the dataset are, '' for what is no files."""
    if _FILES.match(name):
        return name
    if namespace == "file":
        return f"file://{name}" if name.startswith("/") else ""
    if _FILES.match(namespace):
        return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    return ""
