"""The current published state, for runs and run plans."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from headrace.catalog import versions
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.rows import PublishedRow
from headrace.queries.versions import published_rows

_NEWEST = """
SELECT pointer.dataset_version_id
FROM catalog.published_pointer pointer
JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND dataset.full_name = %s AND pointer.dataset_version_id IS NOT NULL
ORDER BY pointer.moved_at DESC, pointer.partition_key DESC
LIMIT 1
"""
_FINGERPRINTS = """
SELECT dataset.full_name, pointer.partition_key, version.fingerprint
FROM catalog.published_pointer pointer
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.dataset_version version USING (dataset_version_id)
WHERE dataset.organisation_id = %s AND dataset.full_name = ANY (%s)
"""
_DATASETS = """
SELECT full_name
FROM catalog.dataset
WHERE organisation_id = %s
  AND EXISTS (
      SELECT FROM catalog.published_pointer pointer
      WHERE pointer.dataset_id = dataset.dataset_id AND pointer.generation > 0
  )
ORDER BY full_name
"""
_TAKE_TURN = """
SELECT pg_advisory_xact_lock(hashtextextended('copy of what is published/' || %s::uuid, 0))
"""
# A withdrawn pointer whose history was not kept is of files.
_WITHDRAWN = """
WITH pointer AS MATERIALIZED (
    SELECT dataset_id, partition_key, generation, dataset_version_id
    FROM catalog.published_pointer
    WHERE dataset_id = %(dataset)s AND generation > 0 AND (
        dataset_version_id IS NULL
        OR %(partitions)s::text[] IS NULL
        OR partition_key = ANY (%(partitions)s)
    )
)
SELECT pointer.partition_key, coalesce(previous.metadata_json ->> 'store', %(files)s) AS store,
       CASE WHEN previous.dataset_version_id IS NULL THEN %(base_uri)s ELSE previous.metadata_json ->> 'warehouse' END
           AS base_uri
FROM pointer
LEFT JOIN catalog.pointer_move move USING (dataset_id, partition_key, generation)
LEFT JOIN catalog.dataset_version previous ON previous.dataset_version_id = move.previous_version_id
LEFT JOIN catalog.dataset_version version ON version.dataset_version_id = pointer.dataset_version_id
WHERE pointer.dataset_version_id IS NULL
   OR previous.dataset_version_id IS NOT NULL
      AND coalesce(previous.metadata_json ->> 'store', %(files)s)
          <> coalesce(version.metadata_json ->> 'store', %(files)s)
ORDER BY pointer.partition_key
"""
_METADATA = "SELECT metadata_json FROM catalog.dataset WHERE dataset_id = %s"


@dataclass(frozen=True, slots=True)
class PublishedDataset:
    """A dataset with published versions, and the metadata of its declaration.

    rows: of the partitions asked for; all_rows returns those of all. withdrawn: by store and the base URI of the
    versions there (None: the warehouse), partitions of which it held the published version and no longer does: they
    have none, or one in another store.
    """

    metadata: Mapping[str, Any]
    rows: Sequence[PublishedRow]
    all_rows: Callable[[], Sequence[PublishedRow]]
    withdrawn: Mapping[tuple[str, str | None], Sequence[str | None]]


def datasets(engine: Engine) -> list[str]:
    """Return the datasets that have, or had, published versions, ordered by key."""
    with transaction(engine) as cursor:
        return [row["full_name"] for row in cursor.execute(_DATASETS, [current_context().organisation_id])]


@contextmanager
def in_turn(
    engine: Engine, dataset: str, partitions: Collection[str | None] | None = None
) -> Iterator[PublishedDataset]:
    """Yield the published versions of a dataset (of these partitions, or all), for copying them elsewhere.

    One block per dataset runs at a time, across processes, and reads after it has acquired the lock: the last copy
    therefore reflects what is published. Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {dataset})[dataset]
        cursor.execute(_TAKE_TURN, [dataset_id])
        row = cursor.execute(_METADATA, [dataset_id]).fetchone()
        assert row is not None  # noqa: S101 - datasets are never deleted
        asked = {
            "dataset": dataset_id,
            "partitions": None if partitions is None else [key or "" for key in partitions],
            "files": FILES_STORE,
            "base_uri": row["metadata_json"].get("warehouse"),
        }
        withdrawn: dict[tuple[str, str | None], list[str | None]] = {}
        for each in cursor.execute(_WITHDRAWN, asked):
            withdrawn.setdefault((each["store"], each["base_uri"]), []).append(each["partition_key"] or None)
        rows = published_rows(cursor, [dataset], partitions)
        yield PublishedDataset(
            row["metadata_json"], rows, lambda: published_rows(cursor, [dataset]), withdrawn
        )


def newest(engine: Engine, dataset: str) -> Version | None:
    """Return the version that was published last, whatever its partition; None if nothing is published."""
    with transaction(engine) as cursor:
        row = cursor.execute(_NEWEST, [current_context().organisation_id, dataset]).fetchone()
        if row is None:
            return None
        return versions.by_ids(cursor, [row["dataset_version_id"]])[row["dataset_version_id"]]


def fingerprints(engine: Engine, datasets: Sequence[str]) -> dict[tuple[str, str | None], str | None]:
    """Return the fingerprint of each published version of these datasets, by dataset and partition."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_FINGERPRINTS, [current_context().organisation_id, list(datasets)]).fetchall()
    return {(row["full_name"], row["partition_key"] or None): row["fingerprint"] for row in rows}
