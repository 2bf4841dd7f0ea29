"""Find garbage in the warehouse: directories that no version names, left by dead runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from headrace.catalog.naming import own_namespace
from headrace.catalog.runs import reap
from headrace.database.connection import transaction
from headrace.database.ids import organisation, organisation_id
from headrace.stores.files.store import TAG, FilesStore

GRACE = timedelta(days=1)
_DATASETS = """
SELECT full_name, metadata_json ->> 'warehouse' AS warehouse, (
    SELECT coalesce(array_agg(DISTINCT version_tag), '{}') FROM catalog.dataset_version version
    WHERE version.dataset_id = dataset.dataset_id
       OR version.dataset_id IN (
           -- The versions of a dataset that was renamed stay in the directory of its former key.
           SELECT named.dataset_id FROM catalog.dataset_name named
           WHERE named.organisation_id = dataset.organisation_id
             AND named.namespace = %(namespace)s
             AND named.name = dataset.full_name
       )
) AS tags
FROM catalog.dataset
WHERE organisation_id = %(organisation)s
ORDER BY full_name
"""
_OLDEST_RUNNING = """
SELECT min(start_ts) AS start_ts
FROM catalog.run_attempt
WHERE organisation_id = %s AND state = 'RUNNING'
"""


@dataclass(frozen=True, slots=True)
class Garbage:
    """A directory that no version names: its dataset and tag, the time it was written, its size in bytes.

    warehouse: the warehouse of the dataset's versions, if it is not the configured one.
    """

    dataset: str
    tag: str
    warehouse: str | None
    location: str
    written_at: datetime
    byte_size: int


def garbage(
    engine: Engine, store: FilesStore, grace: timedelta = GRACE, now: datetime | None = None
) -> list[Garbage]:
    """Return directories in the warehouse that no version names; blocked and superseded versions are versions.

    Directories newer than `grace` before `now`, or than the start of the oldest live attempt, are excluded: that run
    may still publish them.
    """
    reap(engine)
    before = (now or datetime.now(UTC)) - grace
    with transaction(engine) as cursor:
        datasets = cursor.execute(
            _DATASETS, {"organisation": organisation_id(), "namespace": own_namespace(organisation())}
        ).fetchall()
        running = cursor.execute(_OLDEST_RUNNING, [organisation_id()]).fetchone()
    if running is not None and running["start_ts"] is not None:
        before = min(
            before, running["start_ts"].replace(microsecond=0)
        )  # tags have a resolution of one second
    return [
        _garbage(store, row["full_name"], tag, row["warehouse"])
        for row in datasets
        for tag in store.tags(row["full_name"], row["warehouse"])
        if tag not in row["tags"] and _begun(tag) < before
    ]


def _garbage(store: FilesStore, dataset: str, tag: str, warehouse: str | None) -> Garbage:
    location = store.location(dataset, tag, warehouse)
    return Garbage(dataset, tag, warehouse, location, _begun(tag), store.sizes(location).byte_size)


def _begun(tag: str) -> datetime:
    match = TAG.fullmatch(tag)
    assert match is not None  # noqa: S101 - the store lists tags only
    return datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
