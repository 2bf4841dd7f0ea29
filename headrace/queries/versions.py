"""Versions: the newest of a dataset, a single one, and the published ones."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.lookup import dataset_ids, find, named, which_partition
from headrace.catalog.records import CheckResult, CheckStatus, Version
from headrace.catalog.sensitivity import marked
from headrace.catalog.versions import by_ids
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownVersion
from headrace.queries.rows import Move, MoveKind, PublishedRow, VersionDetail, VersionRef, VersionRow
from headrace.queries.sql import statement

_INPUTS = "SELECT DISTINCT input_version_id FROM catalog.version_input WHERE dataset_version_id = ANY (%s)"
_TAGGED = """
SELECT dataset_version_id FROM catalog.dataset_version
WHERE dataset_id = %(dataset_id)s AND version_tag = %(tag)s AND partition_key = coalesce(%(partition)s, partition_key)
"""


def versions(
    engine: Engine,
    key: str,
    partition: str | None = None,
    limit: int = 20,
    before: datetime | None = None,
) -> list[VersionRow]:
    """Return the newest versions of a dataset (of all partitions, or one) written before `before`.

    Includes blocked and superseded ones. Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        rows = (
            statement("datasets/versions")
            .execute(
                cursor,
                {
                    "dataset_id": dataset_ids(cursor, {key})[key],
                    "partition": partition,
                    "before": before,
                    "limit": limit,
                },
            )
            .fetchall()
        )
        found = by_ids(cursor, [row["dataset_version_id"] for row in rows])
    return [version_row(row, found) for row in rows]


def version(engine: Engine, key: str, tag: str | None = None, partition: str | None = None) -> VersionDetail:
    """Return one version: of this tag, or the published one. Raises UnknownDataset, UnknownVersion."""
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {key})[key]
        if tag is None:
            version_id = _published_id(cursor, dataset_id, key, partition)
        else:
            version_id = find(cursor, dataset_id, key, tag, partition).version_id
        row = statement("datasets/version").execute(cursor, {"version_id": version_id}).fetchone()
        found = by_ids(cursor, [version_id])
    assert row is not None  # noqa: S101 - it was found in the same transaction
    return VersionDetail(
        version=found[version_id],
        published=row["published"],
        reason=row["reason"],
        process_key=row["process_key"],
        process_source=row["process_source"],
        inputs=tuple(
            VersionRef(**{**each, "version_id": UUID(each["version_id"])}) for each in row["inputs"]
        ),
        used_by=row["used_by"],
        checks=tuple(check_result(each) for each in row["checks"]),
        statistics=row["statistics"],
        quarantine_location=row["quarantine_path"],
        quarantine_rows=row["quarantine_rows"],
        idempotency_key=row["idempotency_key"],
    )


def published(engine: Engine, keys: Sequence[str]) -> list[PublishedRow]:
    """Return every published partition of these datasets, in order.

    Datasets without one are omitted. Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        dataset_ids(cursor, keys)
        return published_rows(cursor, keys)


def inputs_of_published(engine: Engine, keys: Sequence[str]) -> dict[str, set[UUID]]:
    """Return the versions that the published version of each of these unpartitioned datasets was made from."""
    found: dict[str, set[UUID]] = {key: set() for key in keys}
    with transaction(engine) as cursor:
        for row in statement("datasets/published_inputs").execute(
            cursor, {"organisation": current_context().organisation_id, "keys": list(keys)}
        ):
            found[row["dataset"]].add(row["input_version_id"])
    return found


def inputs_of(engine: Engine, version_ids: Collection[UUID]) -> list[Version]:
    """Return the versions that these were made from, with their sensitive columns marked."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_INPUTS, [list(version_ids)]).fetchall()
        found = by_ids(cursor, [row["input_version_id"] for row in rows])
    return marked(
        engine, sorted(found.values(), key=lambda version: (version.dataset, version.partition or ""))
    )


def tagged(engine: Engine, key: str, tag: str, partition: str | None = None) -> list[Version]:
    """Return the versions with this tag, one per partition, with their sensitive columns marked.

    Blocked and superseded versions are included. Raises UnknownDataset, UnknownVersion.
    """
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {key})[key]
        rows = cursor.execute(_TAGGED, {"dataset_id": dataset_id, "tag": tag, "partition": partition})
        found = by_ids(cursor, [row["dataset_version_id"] for row in rows])
        if not found:
            find(cursor, dataset_id, key, tag, partition)
    return sorted(marked(engine, list(found.values())), key=lambda version: version.partition or "")


def published_rows(
    cursor: Cursor[dict[str, Any]], keys: Sequence[str], partitions: Collection[str | None] | None = None
) -> list[PublishedRow]:
    """Return `published` for these partitions or all, in a running transaction."""
    wanted = None if partitions is None else [partition or "" for partition in partitions]
    rows = (
        statement("datasets/published")
        .execute(
            cursor,
            {"organisation": current_context().organisation_id, "keys": list(keys), "partitions": wanted},
        )
        .fetchall()
    )
    found = by_ids(cursor, [row["dataset_version_id"] for row in rows])
    return [published_row(row, found) for row in rows]


def version_row(row: Mapping[str, Any], found: Mapping[UUID, Version]) -> VersionRow:
    """Convert a row of versions.sql or version_page.sql, for one of the versions found."""
    return VersionRow(
        version=found[row["dataset_version_id"]],
        published=row["published"],
        reason=row["reason"],
        failing=tuple(row["failing"]),
        warning=tuple(row["warning"]),
        quarantine_rows=row["quarantine_rows"],
        moves=tuple(
            Move(MoveKind(each["kind"]), each["by"], each["reason"], datetime.fromisoformat(each["at"]))
            for each in row["moves"]
        ),
    )


def published_row(row: Mapping[str, Any], found: Mapping[UUID, Version]) -> PublishedRow:
    """Convert a row of published.sql or published_page.sql, for one of the versions found."""
    return PublishedRow(
        dataset=row["dataset"],
        partition=row["partition_key"] or None,
        version=found[row["dataset_version_id"]],
        generation=row["generation"],
        published_at=row["moved_at"],
    )


def check_result(stored: Mapping[str, Any]) -> CheckResult:
    """Convert the JSON of a row to a check result."""
    return CheckResult(**{**stored, "status": CheckStatus(stored["status"])})


def _published_id(cursor: Cursor[dict[str, Any]], dataset_id: UUID, key: str, partition: str | None) -> UUID:
    cursor.execute(
        "SELECT dataset_version_id FROM catalog.published_pointer "
        "WHERE dataset_id = %s AND partition_key = %s AND dataset_version_id IS NOT NULL",
        [dataset_id, partition or ""],
    )
    row = cursor.fetchone()
    if row is None:
        raise UnknownVersion(
            f"{named(key, partition)} has no published version. "
            + (
                which_partition(cursor, dataset_id, partition)
                or "Run `headrace materialize`, or `headrace observe` if another system writes it; "
                "or choose a version by its tag."
            )
        )
    version_id: UUID = row["dataset_version_id"]
    return version_id
