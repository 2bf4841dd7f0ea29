"""Resolve the version a reader gets: by tag, as of a time, by pin, or as published."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog import versions
from headrace.catalog.lookup import MAX_PARTITIONS_SHOWN, dataset_ids, find, named, which_partition
from headrace.catalog.records import InputRequest, PinReason, ResolvedInput, Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import MissingVersion, PinRefused
from headrace.publishing.sql import statement
from headrace.publishing.withdrawal import is_readable

# So that the version does not expire meanwhile.
_LOCK_POINTER = """
SELECT FROM catalog.published_pointer WHERE dataset_id = %s AND partition_key = %s FOR NO KEY UPDATE
"""


def resolve(engine: Engine, requests: Sequence[InputRequest]) -> list[list[ResolvedInput]]:
    """Return the exact versions that each request reads, in the order of its partitions (or partition keys).

    One query for all requests. With `partitions=()` every published partition is read, except those without a version
    of the tag, or without one at the requested time. Raises MissingVersion naming what is missing, VersionExpired,
    UnknownDataset.
    """
    chosen = choose(engine, requests)
    for request, found in zip(requests, chosen, strict=True):
        there = {each.version.partition for each in found}
        missing = [partition for partition in request.partitions if partition not in there]
        if missing or not found:
            raise MissingVersion(_missing(request, missing))
        for each in found:
            each.version.require_rows()
    return chosen


def choose(engine: Engine, requests: Sequence[InputRequest]) -> list[list[ResolvedInput]]:
    """Resolve like `resolve`, but omit partitions without such a version. Raises UnknownDataset."""
    if not requests:
        return []
    with transaction(engine) as cursor:
        dataset_ids(cursor, {request.dataset for request in requests})
        rows = statement("resolve").execute(cursor, _parameters(requests)).fetchall()
        found = versions.by_ids(
            cursor, (row["dataset_version_id"] for row in rows if row["dataset_version_id"])
        )
    chosen: list[list[ResolvedInput]] = [[] for _ in requests]
    for row in rows:
        if row["dataset_version_id"] is not None:
            chosen[row["ordinal"]].append(
                ResolvedInput(found[row["dataset_version_id"]], PinReason(row["reason"]))
            )
    return chosen


def inputs_of_chain(engine: Engine, version_id: UUID) -> set[UUID]:
    """Return the inputs of a version, and of all versions before it that it continues."""
    with transaction(engine) as cursor:
        rows = statement("inputs_of_chain").execute(cursor, {"version_id": version_id})
        return {row["input_version_id"] for row in rows}


def pin(
    engine: Engine,
    dataset: str,
    tag: str,
    partition: str | None = None,
    consumer: str | None = None,
    *,
    by: str,
    reason: str,
) -> Version:
    """Pin readers (all, or the dataset `consumer`) to the version `tag`, whatever is published; replaces an existing
    pin.

    Raises UnknownVersion, VersionExpired, and PinRefused for a version that was never published, or whose partition was
    withdrawn.
    """
    with transaction(engine) as cursor:
        ids = dataset_ids(cursor, {dataset, *([consumer] if consumer else [])})
        cursor.execute(_LOCK_POINTER, [ids[dataset], partition or ""])
        version = find(cursor, ids[dataset], dataset, tag, partition)
        version.require_rows()
        if version.outcome != "PUBLISHED":
            raise PinRefused(
                f"version {tag} of {named(dataset, partition)} is {version.outcome} and cannot be read"
            )
        if not is_readable(cursor, version.version_id):
            which = which_partition(cursor, ids[dataset], partition)
            raise PinRefused(
                f"version {tag} of {named(dataset, partition)} belongs to a partition "
                "that the declaration no longer has" + (f". {which}" if which else "")
            )
        place = (ids[dataset], partition or "", ids[consumer] if consumer else None)
        _end_pin(cursor, place, by)
        cursor.execute(
            "INSERT INTO catalog.dataset_pin (dataset_id, partition_key, consumer_id, organisation_id, "
            "dataset_version_id, pinned_by, reason) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [*place, current_context().organisation_id, version.version_id, by, reason],
        )
    return version


def unpin(
    engine: Engine, dataset: str, partition: str | None = None, consumer: str | None = None, *, by: str
) -> None:
    """Remove the pin; readers get the published version again. Raises PinRefused if there is no such pin."""
    with transaction(engine) as cursor:
        ids = dataset_ids(cursor, {dataset, *([consumer] if consumer else [])})
        if not _end_pin(cursor, (ids[dataset], partition or "", ids[consumer] if consumer else None), by):
            readers = consumer or "all readers"
            raise PinRefused(
                f"{named(dataset, partition)} has no pin for {readers}; `headrace show {dataset}` lists its pins"
            )


def _parameters(requests: Sequence[InputRequest]) -> dict[str, Any]:
    """Return one element per (request, partition); partition null means every published one."""
    flat = [
        (ordinal, position, request, partition)
        for ordinal, request in enumerate(requests)
        for position, partition in enumerate(
            [key or "" for key in request.partitions] if request.partitions else [None]
        )
    ]
    return {
        "organisation": current_context().organisation_id,
        "ordinals": [ordinal for ordinal, _, _, _ in flat],
        "positions": [position for _, position, _, _ in flat],
        "datasets": [request.dataset for _, _, request, _ in flat],
        "consumers": [request.consumer for _, _, request, _ in flat],
        "partitions": [partition for _, _, _, partition in flat],
        "tags": [request.version_tag for _, _, request, _ in flat],
        "times": [request.as_of for _, _, request, _ in flat],
    }


def _missing(request: InputRequest, partitions: Sequence[str | None]) -> str:
    """Create the error: what is missing, for which reader, and what to do."""
    keys = [key for key in partitions if key is not None]
    shown = ", ".join(keys[:MAX_PARTITIONS_SHOWN]) + (
        f" and {len(keys) - MAX_PARTITIONS_SHOWN} more" if len(keys) > MAX_PARTITIONS_SHOWN else ""
    )
    where = f" in partition{'s' if len(keys) > 1 else ''} {shown}" if keys else ""
    if request.version_tag is not None:
        what, remedy = (
            f"no published version {request.version_tag}",
            f"`headrace versions {request.dataset}` lists its versions",
        )
    elif request.as_of is not None:
        what, remedy = f"no version published by {request.as_of.isoformat()}", "choose a later time"
    else:
        what, remedy = "no published version", f"run `headrace materialize {request.dataset}"
        if len(keys) == 1:
            remedy += f" --partition {keys[0]}"
        remedy += f"`, or `headrace observe {request.dataset}` if another system writes it"
    return f"{request.consumer} reads {request.dataset}, which has {what}{where}: {remedy}."


def _end_pin(cursor: Cursor[Any], place: tuple[UUID, str, UUID | None], by: str) -> bool:
    cursor.execute(
        "UPDATE catalog.dataset_pin SET unpinned_at = now(), unpinned_by = %s WHERE dataset_id = %s "
        "AND partition_key = %s AND consumer_id IS NOT DISTINCT FROM %s AND unpinned_at IS NULL",
        [by, *place],
    )
    return cursor.rowcount > 0
