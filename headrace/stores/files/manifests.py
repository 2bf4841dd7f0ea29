"""Manifests: one JSON file per pointer, with which external readers find the published version.

A manifest is the files store's reference to a published version: a projection of its pointer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from headrace.files.filesystem import TextFile, normalised
from headrace.files.opening import files_for
from headrace.queries.rows import PublishedRow
from headrace.spark.failures import explained
from headrace.stores.data_files.partitions import escaped
from headrace.stores.data_files.reading import require_sizes
from headrace.stores.protocol import LazySession, Reference

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
    atomically; in object storage only if no other process has replaced them since they were read here. `session` is
    only called for filesystems that Hadoop reads. Raises ResourceError for one that
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
    files = files_for(location, session)
    earlier = files.read_text(location)
    behind = earlier is None or not _is_of(earlier, row)
    if behind:
        stored = [
            (f"{place}/{file.name}", file.byte_size)
            for place in row.version.locations
            for file in files_for(place, session).data_files(place)
        ]
        require_sizes(row.version, [byte_size for _, byte_size in stored])
        content = json.dumps(_content(row, stored), indent=2, default=str)
        files.replace_text(location, f"{content}\n", earlier)
    return Reference(row.dataset, row.partition, row.version.tag, location, behind)


def _remove(location: str, session: LazySession) -> None:
    files = files_for(location, session)
    if files.exists(location):
        files.delete(location)


def _location(folder: str, partition: str | None) -> str:
    return f"{folder}/{'current' if partition is None else escaped(partition)}.json"


def _is_of(manifest: TextFile, row: PublishedRow) -> bool:
    """Return True if the manifest reflects this pointer move."""
    try:
        found = json.loads(manifest.text)
    except ValueError:
        return False
    return isinstance(found, dict) and (found.get("tag"), found.get("generation")) == (
        row.version.tag,
        row.generation,
    )


def _content(row: PublishedRow, stored: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Return the manifest. stored: the path and size of each file.

    A version that was appended to others has no directory of its own: the files of some of them may be no version's.
    """
    version = row.version
    return {
        "dataset": version.dataset,
        "partition": version.partition,
        "tag": version.tag,
        "location": version.directory,
        "format": version.format,
        "options": dict(version.metadata.get("options") or {}),
        "columns": [asdict(column) for column in version.columns],
        "row_count": version.row_count,
        "byte_size": version.byte_size,
        "checksum": version.checksum,
        "files": [{"path": path, "byte_size": byte_size} for path, byte_size in stored],
        "generation": row.generation,
        "published_at": row.published_at.isoformat(timespec="seconds"),
    }
