"""Manifests: one JSON file per pointer, with which external readers find the published version.

A manifest is the files store's reference to a published version: a projection of its pointer.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from headrace.files.filesystem import (
    Files,
    LocalFiles,
    StoredFile,
    is_local,
    normalised,
)
from headrace.files.opening import files_for
from headrace.queries.rows import PublishedRow
from headrace.spark.failures import explained
from headrace.stores.data_files.partitions import escaped
from headrace.stores.protocol import LazySession, Reference

if TYPE_CHECKING:
    pass

_MAX_CONCURRENT_FILES = 16  # concurrent files; object stores are mostly waiting


def update_manifests(
    dataset: str,
    rows: Sequence[PublishedRow],
    withdrawn: Sequence[str | None],
    warehouse_uri: str,
    session: LazySession,
) -> list[Reference]:
    """Update the manifests of the published versions; current ones are unchanged, and withdrawn ones are deleted.

    They are stored in `_published` next to the dataset's versions, named `<partition or "current">.json`, and replaced
    atomically. `session` is only called for files that are not on this machine. Raises ResourceError for one that
    cannot be written, after all others are.
    """
    folder = f"{normalised(warehouse_uri)}/{dataset}/_published"
    with explained(folder, wholly=True):
        with ThreadPoolExecutor(_MAX_CONCURRENT_FILES) as writers:
            updates = [writers.submit(_updated, row, folder, session) for row in rows]
            removals = [
                writers.submit(_remove, _location(folder, partition), session) for partition in withdrawn
            ]
        for removal in removals:
            removal.result()
        return [update.result() for update in updates]


def _updated(row: PublishedRow, folder: str, session: LazySession) -> Reference:
    location = _location(folder, row.partition)
    files = _files(location, session)
    behind = not (files.exists(location) and _is_of(files, location, row))
    if behind:
        stored = _files(row.version.location, session).data_files(row.version.location)
        files.replace_text(location, json.dumps(_content(row, stored), indent=2, default=str) + "\n")
    return Reference(row.dataset, row.partition, row.version.tag, location, behind)


def _remove(location: str, session: LazySession) -> None:
    files = _files(location, session)
    if files.exists(location):
        files.delete(location)


def _location(folder: str, partition: str | None) -> str:
    return f"{folder}/{'current' if partition is None else escaped(partition)}.json"


def _is_of(files: Files, location: str, row: PublishedRow) -> bool:
    """Return True if the manifest reflects this pointer move."""
    with files.open(location) as file:
        text = file.read()
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and (found.get("tag"), found.get("generation")) == (
        row.version.tag,
        row.generation,
    )


def _content(row: PublishedRow, stored: Sequence[StoredFile]) -> dict[str, Any]:
    version = row.version
    return {
        "dataset": version.dataset,
        "partition": version.partition,
        "tag": version.tag,
        "location": version.location,
        "format": version.format,
        "options": dict(version.metadata.get("options") or {}),
        "columns": [dataclasses.asdict(column) for column in version.columns],
        "row_count": version.row_count,
        "byte_size": version.byte_size,
        "checksum": version.checksum,
        "files": [{"name": file.name, "byte_size": file.byte_size} for file in stored],
        "generation": row.generation,
        "published_at": row.published_at.isoformat(timespec="seconds"),
    }


def _files(location: str, session: LazySession) -> Files:
    return LocalFiles() if is_local(location) else files_for(location, session())
