"""Roll a published pointer back to an earlier version."""

from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog import published_events as events
from headrace.catalog import versions
from headrace.catalog.lookup import dataset_ids, find, named, which_partition
from headrace.catalog.records import Outcome, Publication, Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.errors import RollbackRefused
from headrace.publishing.lineage import follow_pointers
from headrace.publishing.sql import statement
from headrace.publishing.withdrawal import is_of_present_definition

_MOVE = """
UPDATE catalog.published_pointer
SET dataset_version_id = %(to)s, generation = generation + 1, moved_at = greatest(clock_timestamp(), moved_at)
WHERE dataset_id = %(dataset_id)s AND partition_key = %(partition)s
RETURNING generation, moved_at
"""
_RECORD = """
INSERT INTO catalog.pointer_move (
    dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, moved_by,
    reason, moved_at
) VALUES (
    %(dataset_id)s, %(partition)s, %(generation)s, %(organisation)s, %(to)s, %(from)s, 'ROLLBACK', %(by)s, %(reason)s,
    %(moved_at)s
)
"""
_RECORD_CHANGE = (
    "INSERT INTO catalog.outbox (organisation_id, topic, payload_json) VALUES (%s, 'version.rolled_back', %s)"
)


def rollback(
    engine: Engine, dataset: str, partition: str | None, to_tag: str | None, *, by: str, reason: str
) -> Publication:
    """Publish the version `to_tag` again, or the one published before the current one, or before a withdrawal.

    Running runs that would replace the current version end as superseded. Raises RollbackRefused if there is no earlier
    version, or `to_tag` is already published or never was; VersionExpired, UnknownVersion, UnknownDataset.
    """
    place = named(dataset, partition)
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {dataset})[dataset]
        pointer = _locked_pointer(cursor, dataset_id, partition)
        if pointer is None:
            which = which_partition(cursor, dataset_id, partition)
            raise RollbackRefused(f"{place} has nothing published" + (f". {which}" if which else ""))
        current: UUID | None = pointer["dataset_version_id"]
        if to_tag is None:
            version = _before(cursor, current, dataset_id, partition, place)
        else:
            version = find(cursor, dataset_id, dataset, to_tag, partition)
        if version.version_id == current:
            raise RollbackRefused(f"{place} has version {version.tag} published already")
        if version.outcome is not Outcome.PUBLISHED:
            raise RollbackRefused(
                f"version {version.tag} of {place} is {version.outcome}: it was never published"
            )
        version.require_rows()
        if not is_of_present_definition(cursor, version.version_id):
            raise RollbackRefused(
                f"version {version.tag} of {place} was published when the partitions were declared otherwise; "
                "materialize the partition again"
            )
        generation = _move(cursor, dataset_id, current, version, by, reason)
    return Publication(version=version, outcome=Outcome.PUBLISHED, generation=generation, reason=reason)


def target(engine: Engine, published: Version, tag: str | None = None) -> Version:
    """Return the version that a rollback would publish. Raises RollbackRefused, UnknownVersion."""
    dataset, partition = published.dataset, published.partition
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {dataset})[dataset]
        if tag is not None:
            return find(cursor, dataset_id, dataset, tag, partition)
        return _before(
            cursor, published.version_id, dataset_id, partition, named(dataset, partition), published.tag
        )


def _locked_pointer(
    cursor: Cursor[dict[str, Any]], dataset_id: UUID, partition: str | None
) -> dict[str, Any] | None:
    """Return the pointer, whose version is null if it was withdrawn; None if nothing was ever published."""
    cursor.execute(
        "SELECT dataset_version_id FROM catalog.published_pointer "
        "WHERE dataset_id = %s AND partition_key = %s AND generation > 0 FOR NO KEY UPDATE",
        [dataset_id, partition or ""],
    )
    return cursor.fetchone()


def _before(
    cursor: Cursor[dict[str, Any]],
    current: UUID | None,
    dataset_id: UUID,
    partition: str | None,
    place: str,
    than: str = "the current one",
) -> Version:
    parameters = {"current": current, "dataset_id": dataset_id, "partition": partition or ""}
    row = statement("rollback").execute(cursor, parameters).fetchone()
    if row is None:
        raise RollbackRefused(f"{place} had no version published before {than}")
    return versions.by_ids(cursor, [row["dataset_version_id"]])[row["dataset_version_id"]]


def _move(
    cursor: Cursor[dict[str, Any]],
    dataset_id: UUID,
    current: UUID | None,
    version: Version,
    by: str,
    reason: str,
) -> int:
    move = {
        "dataset_id": dataset_id,
        "partition": version.partition or "",
        "organisation": current_context().organisation_id,
        "from": current,
        "to": version.version_id,
        "by": by,
        "reason": reason,
    }
    moved = cursor.execute(_MOVE, move).fetchone()
    assert moved is not None  # noqa: S101 - the row is locked
    cursor.execute(_RECORD, {**move, **moved})
    follow_pointers(cursor, dataset_id, version.dataset, moved["moved_at"])
    change = {
        "dataset": version.dataset,
        "partition": version.partition,
        "tag": version.tag,
        "version_id": version.version_id,
        "generation": moved["generation"],
        "by": by,
        "reason": reason,
    }
    cursor.execute(_RECORD_CHANGE, [current_context().organisation_id, jsonb(change)])
    facets = {"headrace_rollback": events.facet(**{k: v for k, v in change.items() if k != "dataset"})}
    events.store(cursor, events.dataset_event(events.dataset(version.dataset, facets)))
    return int(moved["generation"])
