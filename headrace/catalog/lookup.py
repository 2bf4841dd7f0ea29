"""Find datasets and versions by key and tag, with errors that name what exists instead."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog import versions
from headrace.catalog.naming import own_namespace
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.errors import UnknownDataset, UnknownVersion

_RENAMED = """
SELECT named.name AS former, dataset.full_name AS key
FROM catalog.dataset_name named
JOIN catalog.dataset USING (dataset_id)
WHERE named.organisation_id = %s AND named.namespace = %s AND named.name = ANY (%s)
"""
MAX_PARTITIONS_SHOWN = 5  # in a message


def dataset_ids(cursor: Cursor[dict[str, Any]], keys: Iterable[str]) -> dict[str, UUID]:
    """Return the ids of these datasets, by key. Raises UnknownDataset naming those that are not registered."""
    wanted = set(keys)
    cursor.execute(
        "SELECT full_name, dataset_id FROM catalog.dataset WHERE organisation_id = %s AND full_name = ANY (%s)",
        [current_context().organisation_id, list(wanted)],
    )
    ids = {row["full_name"]: row["dataset_id"] for row in cursor}
    if unknown := wanted - ids.keys():
        names = cursor.execute(
            _RENAMED,
            [current_context().organisation_id, own_namespace(current_context().organisation), list(unknown)],
        )
        if renamed := {row["former"]: row["key"] for row in names}:
            raise UnknownDataset.renamed(renamed)
        cursor.execute(
            "SELECT full_name FROM catalog.dataset WHERE organisation_id = %s",
            [current_context().organisation_id],
        )
        raise UnknownDataset.among(unknown, [row["full_name"] for row in cursor])
    return ids


def find(
    cursor: Cursor[dict[str, Any]], dataset_id: UUID, dataset: str, tag: str, partition: str | None
) -> Version:
    """Return the version `tag` of one partition. Raises UnknownVersion naming the newest existing tags."""
    cursor.execute(
        "SELECT dataset_version_id FROM catalog.dataset_version "
        "WHERE dataset_id = %s AND partition_key = %s AND version_tag = %s",
        [dataset_id, partition or "", tag],
    )
    row = cursor.fetchone()
    if row is None:
        cursor.execute(
            "SELECT version_tag FROM catalog.dataset_version WHERE dataset_id = %s AND partition_key = %s "
            "ORDER BY produced_at DESC LIMIT 3",
            [dataset_id, partition or ""],
        )
        newest = ", ".join(row["version_tag"] for row in cursor)
        raise UnknownVersion(
            f"{named(dataset, partition)} has no version {tag}. "
            + (
                which_partition(cursor, dataset_id, partition)
                or (f"The newest are: {newest}." if newest else "It has no versions.")
            )
        )
    return versions.by_ids(cursor, [row["dataset_version_id"]])[row["dataset_version_id"]]


def which_partition(cursor: Cursor[dict[str, Any]], dataset_id: UUID, partition: str | None) -> str | None:
    """Create the error for a missing partition of a partitioned dataset; None for other datasets."""
    if partition is not None:
        return None
    cursor.execute(
        "SELECT partition_key FROM catalog.published_pointer "
        "WHERE dataset_id = %s AND partition_key <> '' AND dataset_version_id IS NOT NULL "
        "ORDER BY partition_key DESC LIMIT %s",
        [dataset_id, MAX_PARTITIONS_SHOWN],
    )
    keys = [row["partition_key"] for row in cursor]
    return (
        f"It is published by partition: choose one with --partition, such as {', '.join(keys)}."
        if keys
        else None
    )


def named(dataset: str, partition: str | None) -> str:
    """Format a dataset, or one of its partitions, for a message."""
    return dataset if partition is None else f"{dataset} partition {partition}"
