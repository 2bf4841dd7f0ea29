"""Page through the versions of a dataset: all, newest first, or the published ones by partition; their statistics."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import PublicField, Sensitive
from headrace.catalog.versions import by_ids
from headrace.database.connection import transaction
from headrace.queries.rows import PublishedRow, VersionRef, VersionRow
from headrace.queries.sql import statement
from headrace.queries.versions import published_row, version_row


@dataclass(frozen=True, slots=True)
class VersionStatistics:
    """The number of rows of a version, and the measures of its columns: see `Profile`."""

    version: Annotated[VersionRef, PublicField.NESTED]
    produced_at: datetime
    row_count: int | None
    statistics: Annotated[dict[str, dict[str, Any]], Sensitive.STATISTICS]


def version_page(
    engine: Engine,
    dataset_id: UUID,
    partition: str | None = None,
    *,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[VersionRow]:
    """Return the newest versions (of all partitions, or one) after (time, version id), including blocked ones."""
    parameters = {
        "dataset_id": dataset_id,
        "partition": partition,
        "before_at": before and before[0],
        "after_id": before and before[1],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("datasets/version_page").execute(cursor, parameters).fetchall()
        found = by_ids(cursor, [row["dataset_version_id"] for row in rows])
    return [version_row(row, found) for row in rows]


def published_page(
    engine: Engine, dataset_id: UUID, *, after: str | None = None, limit: int = 100
) -> list[PublishedRow]:
    """Return the published version of each partition, ordered by partition key, after the key `after`."""
    parameters = {"dataset_id": dataset_id, "after": after, "limit": limit}
    with transaction(engine) as cursor:
        rows = statement("datasets/published_page").execute(cursor, parameters).fetchall()
        found = by_ids(cursor, [row["dataset_version_id"] for row in rows])
    return [published_row(row, found) for row in rows]


def statistics_page(
    engine: Engine, key: str, dataset_id: UUID, partition: str | None, column: str | None, limit: int
) -> list[VersionStatistics]:
    """Return the statistics of the newest versions, or of the published versions of the last partitions."""
    parameters = {"dataset_id": dataset_id, "partition": partition, "column": column, "limit": limit}
    with transaction(engine) as cursor:
        rows = statement("datasets/statistics").execute(cursor, parameters).fetchall()
    return [
        VersionStatistics(
            VersionRef(row["version_id"], key, row["partition_key"] or None, row["tag"]),
            row["produced_at"],
            row["row_count"],
            row["statistics"],
        )
        for row in rows
    ]
