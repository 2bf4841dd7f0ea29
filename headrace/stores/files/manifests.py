"""Manifests: one JSON file per pointer, with which external readers find the published version.

A manifest is a projection of its pointer, written from the catalog's current state. A crash between a publish and its
manifest leaves it out of date; the next update of that pointer, or of all, corrects it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.published import in_turn
from headrace.catalog.queries.rows import PublishedRow
from headrace.settings import settings
from headrace.spark.failures import explained
from headrace.stores.files.filesystem import (
    Files,
    LocalFiles,
    StoredFile,
    is_local,
    normalised,
)
from headrace.stores.files.opening import files_for
from headrace.stores.files.partitions import escaped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_CONCURRENT_FILES = 16  # concurrent files; object stores are mostly waiting

Session = Callable[[], "SparkSession"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The current manifest of a pointer. rewritten: it was out of date."""

    dataset: str
    partition: str | None
    tag: str
    location: str
    rewritten: bool


def update_manifests(
    engine: Engine, dataset: str, session: Session, partitions: Collection[str | None] | None = None
) -> list[Manifest]:
    """Update the dataset's manifests (of these partitions, or all) to the published versions; current ones are
    unchanged, and those of withdrawn pointers are deleted.

    They are stored in `_published` next to the dataset's versions, named `<partition or "current">.json`, and replaced
    atomically. External datasets have none: others write their files, to one place. Versions in other stores have none
    either: they are found through their own catalogs. `session` is only called for files that are not on this machine.
    Raises UnknownDataset, CatalogUnavailable, and ResourceError for one that cannot be written, after all others are.
    """
    with in_turn(engine, dataset, partitions) as published:
        if published.metadata.get("external"):
            return []
        warehouse = normalised(published.metadata.get("warehouse") or settings().warehouse_uri)
        folder = f"{warehouse}/{dataset}/_published"
        with explained(folder, wholly=True):
            with ThreadPoolExecutor(_MAX_CONCURRENT_FILES) as writers:
                updates = [
                    writers.submit(_updated, row, folder, session)
                    for row in published.rows
                    if row.version.store == FILES_STORE
                ]
                removals = [
                    writers.submit(_remove, _location(folder, partition), session)
                    for partition in published.withdrawn
                ]
            for removal in removals:
                removal.result()
            return [update.result() for update in updates]


def _updated(row: PublishedRow, folder: str, session: Session) -> Manifest:
    location = _location(folder, row.partition)
    files = _files(location, session)
    behind = not (files.exists(location) and _is_of(files, location, row))
    if behind:
        stored = _files(row.version.location, session).data_files(row.version.location)
        files.replace_text(location, json.dumps(_content(row, stored), indent=2, default=str) + "\n")
    return Manifest(row.dataset, row.partition, row.version.tag, location, behind)


def _remove(location: str, session: Session) -> None:
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


def _files(location: str, session: Session) -> Files:
    return LocalFiles() if is_local(location) else files_for(location, session())
