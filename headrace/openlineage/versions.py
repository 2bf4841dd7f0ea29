"""Versions that OpenLineage runs come to: their outputs as rows, which later events may change or withdraw."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from headrace.catalog.schema import schema_hash
from headrace.events.versions import StoredRow, VersionRow, write_versions
from headrace.openlineage.documents import Document, stored_document
from headrace.openlineage.facets import columns_of
from headrace.openlineage.outlines import OutputVersion, versions
from headrace.openlineage.runs import StoredRuns
from headrace.openlineage.sql import statement

Key = tuple[UUID, str]  # a dataset, and the tag of a version
_TAG = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_FILES = re.compile(r"(file|s3|s3a|s3n|gs|hdfs|abfss?|wasbs?)://")
_OF_RUNS = """
SELECT dataset_version_id, dataset_id, partition_key, version_tag, path, produced_by_run_id, produced_at, row_count,
       byte_size, file_count, schema_hash, format
FROM catalog.dataset_version
WHERE produced_by_run_id = ANY (%s) AND idempotency_key LIKE 'openlineage/%%'
"""
# What schedulers report of the same runs takes precedence.
_FINAL = """
SELECT produced_by_run_id, dataset_id, partition_key FROM catalog.dataset_version
WHERE produced_by_run_id = ANY (%s) AND starts_with(idempotency_key, 'reported/')
"""
_PLACES = """
SELECT name_id, named.dataset_id, dataset.full_name, named.namespace, named.name, EXISTS (
    SELECT
    FROM catalog.lineage_edge edge
    WHERE edge.target_id = named.dataset_id
      AND edge.edge_role = 'PRODUCES'
      AND edge.valid_to IS NULL
      AND (SELECT technology FROM catalog.process WHERE process_id = edge.source_id) = 'SPARK'
    OFFSET 0 -- of each name for itself, whatever the planner knows of the tables
) AS computed_here
FROM catalog.dataset_name named
JOIN catalog.dataset USING (dataset_id)
WHERE name_id = ANY (%s)
"""
# Versions of merged datasets with the same tag: the run that wrote each first is determined again.
_SEPARATED = """
SELECT apart.produced_by_run_id AS one, other.produced_by_run_id AS other
FROM catalog.dataset_version apart
JOIN catalog.dataset_version other
    ON other.dataset_id = apart.dataset_id
   AND other.partition_key = apart.partition_key
   AND other.version_tag = left(apart.version_tag, -9)
WHERE apart.dataset_id = ANY (%s)
  AND right(apart.version_tag, 9) = '-' || left(apart.dataset_version_id::text, 8)
  AND apart.idempotency_key LIKE 'openlineage/%%'
  AND other.idempotency_key LIKE 'openlineage/%%'
"""
_DOCUMENTS = """
SELECT run_id, document FROM catalog.openlineage_run
WHERE organisation_id = %s AND run_id = ANY (%s) AND NOT native
"""
_RIVALS = """
SELECT reported.run_id, document
FROM unnest(%s::uuid[], %s::text[]) AS freed (dataset_id, version_tag)
JOIN catalog.dataset_name named USING (dataset_id)
JOIN catalog.run_dataset used ON used.name_id = named.name_id AND used.version = freed.version_tag
JOIN catalog.openlineage_run reported
  ON reported.organisation_id = used.organisation_id AND reported.run_id = used.run_id
WHERE reported.organisation_id = %s AND role = 'OUTPUT' AND NOT native AND document -> 'ended' ->> 'kind' = 'COMPLETE'
ORDER BY document -> 'ended' ->> 'at', reported.run_id
LIMIT %s
"""
_THERE = """
SELECT dataset_version_id, dataset_id, partition_key, version_tag, produced_by_run_id, produced_at,
       starts_with(idempotency_key, 'reported/') AS is_final
FROM unnest(%s::uuid[], %s::text[]) AS claimed (dataset_id, version_tag)
JOIN catalog.dataset_version USING (dataset_id, version_tag)
WHERE partition_key = '' AND (starts_with(idempotency_key, 'openlineage/') OR starts_with(idempotency_key, 'reported/'))
"""
_MAX_RIVALS = 1000  # rounds for one version, or those of one batch, that lost the run which wrote it


def store(
    cursor: Cursor[Any],
    organisation: UUID,
    reported: StoredRuns,
    merged: Collection[UUID] = (),
    *,
    silent: bool = False,
) -> frozenset[UUID]:
    """Update the versions of these runs from their documents; returns the new versions.

    Datasets that Spark computes here keep their own versions and get none of these. An output that the scheduler of a
    run reports, too, is one version, the scheduler's.

    merged: datasets that others have been merged into. A version that two of its names have becomes one, as if they had
    always been names of one dataset. silent: no outbox messages.
    """
    again = _separated(cursor, organisation, merged) if merged else {}
    runs = {**again, **reported.runs}
    before = list((reported.known | again.keys()) & (runs.keys() | reported.former))
    stored = {row["dataset_version_id"]: row for row in cursor.execute(_OF_RUNS, [before])} if before else {}
    changed: list[VersionRow] = []
    added = frozenset[UUID]()
    claimed = _claimed(_rows(cursor, organisation, runs))
    if stored or claimed:
        freed = _freed(stored.values(), claimed)
        if freed:
            candidates = _candidates(cursor, organisation, freed, runs.keys())
            runs |= candidates
            others = _rows(cursor, organisation, candidates)
            claimed = _claimed([*claimed.values(), *(row for row in others if _key(row) in freed)])
        weighed = [*reported.former, *runs]
        changed, added = _update(cursor, organisation, stored, claimed, weighed, silent=silent)
    # A generated tag was unknown to readers: only a reported one may have been read already.
    naming = {run for run, document in runs.items() if document.is_complete and _names_a_version(document)}
    if merged or naming or not all(map(_is_made_up, changed)):
        statement("inputs").execute(
            cursor,
            {
                "organisation": organisation,
                "runs": list(naming | {row["produced_by_run_id"] for row in changed}),
                "changed": [row["dataset_version_id"] for row in changed],
                "merged": list(merged),
            },
        )
    return added


def _update(
    cursor: Cursor[Any],
    organisation: UUID,
    stored: Mapping[UUID, StoredRow],
    claimed: Mapping[Key, VersionRow],
    weighed: Sequence[UUID],
    *,
    silent: bool,
) -> tuple[list[VersionRow], frozenset[UUID]]:
    """Update the stored versions to the claimed ones, by the runs that were compared.

    Returns the changed and the new versions.
    """
    wanted = {row["dataset_version_id"]: row for row in claimed.values()}
    changed = [row for key, row in wanted.items() if key not in stored or _differs(stored[key], row)]
    lost, superseded = _decided(_there(cursor, changed), changed, weighed)
    changed = [row for row in changed if row["dataset_version_id"] not in lost]
    gone = [row for key, row in stored.items() if key not in wanted or key in lost]
    gone += [row for row in superseded if row["dataset_version_id"] not in stored]
    added = write_versions(
        cursor,
        organisation,
        changed,
        gone=gone,
        former=[stored[key] for row in changed if (key := row["dataset_version_id"]) in stored],
        weighed=weighed,
        silent=silent,
    )
    return changed, added


def _rows(cursor: Cursor[Any], organisation: UUID, documents: Mapping[UUID, Document]) -> list[VersionRow]:
    """Return the outputs of runs as rows of versions.

    Without datasets that Spark computes here, and what a scheduler reports of the same run.
    """
    written = {run_id: found for run_id, document in documents.items() if (found := versions(document))}
    if not written:
        return []
    final = {tuple(row.values()) for row in cursor.execute(_FINAL, [list(written)])}
    names = [UUID(each.name_id) for found in written.values() for each in found]
    places = {str(row["name_id"]): row for row in cursor.execute(_PLACES, [names])}
    rows = [
        _row(organisation, run_id, each, places[each.name_id], historical=documents[run_id].historical)
        for run_id, found in written.items()
        for each in found
        if not places[each.name_id]["computed_here"]
    ]
    return [
        row
        for row in rows
        if (row["produced_by_run_id"], row["dataset_id"], row["partition_key"]) not in final
    ]


def _claimed(rows: Iterable[VersionRow]) -> dict[Key, VersionRow]:
    """Return, for each version, the row of the run that wrote it first."""
    found: dict[Key, VersionRow] = {}
    for row in rows:
        key = _key(row)
        if key not in found or _claim(row) < _claim(found[key]):
            found[key] = row
    return found


def _freed(stored: Iterable[StoredRow], claimed: Mapping[Key, VersionRow]) -> set[Key]:
    """Return the versions whose run wrote them later than was known, or not at all: another may have been first."""
    found = set()
    for row in stored:
        now = claimed.get(_key(row))
        if now is None or _claim(row) < _claim(now):
            found.add(_key(row))
    return found


def _candidates(
    cursor: Cursor[Any], organisation: UUID, freed: Collection[Key], known: Collection[UUID]
) -> dict[UUID, Document]:
    """Return the documents of other runs that report having written one of these versions."""
    datasets, tags = [dataset for dataset, _ in freed], [tag for _, tag in freed]
    rows = cursor.execute(_RIVALS, [datasets, tags, organisation, _MAX_RIVALS])
    return {row["run_id"]: stored_document(row["document"]) for row in rows if row["run_id"] not in known}


def _separated(cursor: Cursor[Any], organisation: UUID, merged: Collection[UUID]) -> dict[UUID, Document]:
    """Return the documents of the runs whose versions had the same tag in datasets that are merged now."""
    found = {run for row in cursor.execute(_SEPARATED, [list(merged)]) for run in row.values()}
    if not found:
        return {}
    rows = cursor.execute(_DOCUMENTS, [organisation, list(found)])
    return {row["run_id"]: stored_document(row["document"]) for row in rows}


def _there(cursor: Cursor[Any], changed: Sequence[VersionRow]) -> dict[Key, StoredRow]:
    """Return the stored versions with these tags, if they may belong to another run or name."""
    stated = [row for row in changed if not _is_made_up(row)]
    if not stated:
        return {}
    keys = [row["dataset_id"] for row in stated], [row["version_tag"] for row in stated]
    return {_key(row): row for row in cursor.execute(_THERE, [*keys])}


def _decided(
    there: Mapping[Key, StoredRow], changed: Sequence[VersionRow], known: Collection[UUID]
) -> tuple[set[UUID], list[StoredRow]]:
    """Decide which of the changed versions belong to others, which were first, and which of the others were not."""
    lost: set[UUID] = set()
    superseded: list[StoredRow] = []
    for row in changed:
        other = there.get(_key(row))
        if other is None or other["dataset_version_id"] == row["dataset_version_id"]:
            continue
        first = other["produced_by_run_id"] not in known and _claim(other) < _claim(row)
        if other["is_final"] or first:
            lost.add(row["dataset_version_id"])
        else:
            superseded.append(other)
    return lost, superseded


def _is_made_up(row: StoredRow) -> bool:
    return _TAG.fullmatch(row["version_tag"]) is not None


def _names_a_version(document: Document) -> bool:
    """Return True if the run reports the version of any of its inputs."""
    return any(use.facets.keys() & {"version", "place", "directory"} for use in document.inputs.values())


def _row(
    organisation: UUID, run_id: UUID, version: OutputVersion, place: Mapping[str, Any], *, historical: bool
) -> VersionRow:
    identity = uuid5(organisation, f"openlineage/{version.name_id}\n{version.tag}")
    return {
        "dataset_version_id": identity,
        "dataset_id": place["dataset_id"],
        "dataset": place["full_name"],
        "partition_key": "",
        "version_tag": version.tag,
        "path": version.path or _location(place["namespace"], place["name"]),
        "format": version.format or "unknown",
        "schema_hash": schema_hash(columns_of(version.fields)),
        "columns": (),
        "row_count": version.row_count,
        "byte_size": version.byte_size,
        "file_count": min(version.file_count, 2**31 - 1),
        "checksum": "",
        "idempotency_key": f"openlineage/{identity}",
        "produced_by_run_id": run_id,
        "process_id": None,
        "produced_at": datetime.fromisoformat(version.at),
        "historical": historical,
        "metadata_json": {},
        "is_final": False,
    }


def _key(row: StoredRow) -> Key:
    return row["dataset_id"], row["version_tag"]


def _claim(row: StoredRow) -> tuple[datetime, UUID, UUID]:
    """Choose the writer of a version: the minimum of those that report having written it."""
    return row["produced_at"], row["produced_by_run_id"], row["dataset_version_id"]


def _differs(stored: StoredRow, wanted: StoredRow) -> bool:
    return any(wanted[name] != value for name, value in stored.items())


def _location(namespace: str, name: str) -> str:
    """Return the location of the dataset's files, '' if it has none."""
    if _FILES.match(name):
        return name
    if namespace == "file":
        return f"file://{name}" if name.startswith("/") else ""
    if _FILES.match(namespace):
        return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    return ""
