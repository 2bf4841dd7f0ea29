"""Which versions stay, and which expire: the rule `keep` of a dataset's declaration.

An expired version stays in the catalog with its lineage and statistics; its rows can no longer be read. The stores
delete them afterwards, as they do what dead runs left (`orchestration.garbage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Outcome
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.publishing.sql import statement

GRACE = timedelta(days=1)  # for runs that chose a version and have not recorded yet that they read it
# Publications and rollbacks wait for these locks, and see what has expired.
_LOCK_POINTERS = """
SELECT FROM catalog.published_pointer
JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND full_name = ANY (%s)
ORDER BY full_name, partition_key
FOR NO KEY UPDATE OF published_pointer
"""
# Runs that record their inputs wait for this one.
_BEGIN = "SELECT pg_advisory_xact_lock(hashtextextended('headrace/expiry/' || %s, 0))"
_EXPIRE = """
INSERT INTO catalog.expired_version (dataset_version_id, organisation_id, expired_at)
SELECT unnest(%s::uuid[]), %s, %s
"""
_ROWS_LEFT = """
SELECT EXISTS (
    SELECT FROM catalog.expired_version WHERE organisation_id = %s AND rows_deleted_at IS NULL
) AS are_left
"""


@dataclass(frozen=True, slots=True)
class RetainedVersion:
    """A version of a dataset with a retention rule. kept: why it stays; None if it expires. byte_size: None if it is
    unknown; own_byte_size: without the rows that it shares with a version that stays, or was appended to."""

    version_id: UUID
    dataset: str
    partition: str | None
    tag: str
    produced_at: datetime
    outcome: Outcome
    byte_size: int | None
    own_byte_size: int | None
    kept: str | None


def retained_versions(
    engine: Engine, dataset: str | None = None, now: datetime | None = None
) -> list[RetainedVersion]:
    """Return the versions of one dataset, or of all, that have a retention rule, with why each stays; the oldest first.

    Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        if dataset is not None:
            dataset_ids(cursor, {dataset})
        return _retained(cursor, dataset, now or datetime.now(UTC))


def expiring_versions(engine: Engine, now: datetime | None = None) -> list[RetainedVersion]:
    """Return the versions that no rule keeps."""
    return [each for each in retained_versions(engine, now=now) if each.kept is None]


def expire_versions(engine: Engine, now: datetime | None = None) -> list[RetainedVersion]:
    """Let the versions expire that no rule keeps, dataset by dataset, and return them."""
    moment = now or datetime.now(UTC)
    expired: list[RetainedVersion] = []
    for dataset in sorted({each.dataset for each in expiring_versions(engine, moment)}):
        with transaction(engine) as cursor:
            begin_expiry(cursor, [dataset])
            found = [each for each in _retained(cursor, dataset, moment) if each.kept is None]
            ids = [each.version_id for each in found]
            cursor.execute(_EXPIRE, [ids, current_context().organisation_id, moment])
        expired += found
    return expired


def begin_expiry(cursor: Cursor[Any], datasets: Sequence[str]) -> None:
    """Until the transaction ends, let runs that record their inputs wait, and publications of these datasets."""
    cursor.execute(_BEGIN, [str(current_context().organisation_id)])
    cursor.execute(_LOCK_POINTERS, [current_context().organisation_id, list(datasets)])


def rows_are_left(engine: Engine) -> bool:
    """Return True if a store may still hold rows of an expired version."""
    with transaction(engine) as cursor:
        row = cursor.execute(_ROWS_LEFT, [current_context().organisation_id]).fetchone()
    return bool(row and row["are_left"])


def _retained(cursor: Cursor[Any], dataset: str | None, now: datetime) -> list[RetainedVersion]:
    parameters = {
        "organisation": current_context().organisation_id,
        "dataset": dataset,
        "now": now,
        "grace": GRACE,
    }
    rows = statement("version_retention").execute(cursor, parameters).fetchall()
    return [
        RetainedVersion(
            version_id=row["dataset_version_id"],
            dataset=row["dataset"],
            partition=row["partition"],
            tag=row["tag"],
            produced_at=row["produced_at"],
            outcome=Outcome(row["outcome"]),
            byte_size=row["byte_size"],
            own_byte_size=row["own_byte_size"],
            kept=row["kept"],
        )
        for row in rows
    ]
