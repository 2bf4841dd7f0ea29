"""Versions that their run published and did not completely report: to Dagster, or to the systems to notify."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog import versions
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.publishing.runs import reap
from headrace.publishing.sql import statement

_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class UnreportedVersion:
    """A published version of a run that ended, or died, before everything was reported.

    delivered: descriptions of delivered notifications. failure: why others failed at the last try; None if nothing was
    tried since the run. inputs: tags of its unpartitioned inputs by dataset.
    """

    version: Version
    generation: int
    delivered: tuple[str, ...]
    failure: str | None
    inputs: Mapping[str, str]

    def facts(self) -> dict[str, object]:
        """Return the version and what is missing, as JSON values."""
        return {
            "dataset": self.version.dataset,
            "partition": self.version.partition,
            "version": self.version.tag,
            "run": str(self.version.run_id),
            "delivered": list(self.delivered),
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class UnreportedPage:
    """The first unreported versions, and how many there are in all."""

    versions: tuple[UnreportedVersion, ...] = ()
    total: int = 0


def unreported_versions(
    engine: Engine, datasets: Collection[str] | None = None, *, due: bool = False
) -> UnreportedPage:
    """Return unreported versions (of some datasets), those never tried first, then the oldest.

    Runs that died are marked LOST first. due: only those whose next try is due.
    """
    reap(engine)
    with transaction(engine) as cursor:
        cursor.execute("SELECT FROM catalog.unreported_version LIMIT 1")
        if cursor.fetchone() is None:
            return UnreportedPage()
        rows = (
            statement("unreported_versions")
            .execute(
                cursor,
                {
                    "organisation": current_context().organisation_id,
                    "datasets": None if datasets is None else list(datasets),
                    "due": due,
                    "limit": _BATCH_SIZE,
                },
            )
            .fetchall()
        )
        found = versions.by_ids(cursor, [row["dataset_version_id"] for row in rows])
    page = tuple(
        UnreportedVersion(
            version=found[row["dataset_version_id"]],
            generation=row["generation"],
            delivered=tuple(row["delivered"]),
            failure=row["failure"],
            inputs=row["inputs"],
        )
        for row in rows
    )
    return UnreportedPage(page, rows[0]["total"] if rows else 0)


def record_failure(engine: Engine, version_id: UUID, delivered: Sequence[str], failure: str) -> None:
    """Record that notifications failed; the next try is after a pause that doubles, up to an hour."""
    with transaction(engine) as cursor:
        statement("unreported_failure").execute(
            cursor, {"version": version_id, "delivered": list(delivered), "failure": failure}
        )


def record_delivered(engine: Engine, version_id: UUID, delivered: Sequence[str]) -> None:
    """Record delivered notifications, so that they are not sent again."""
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.unreported_version SET delivered = delivered || %s::text[] WHERE dataset_version_id = %s",
            [list(delivered), version_id],
        )


def delete_reported(engine: Engine, version_ids: Collection[UUID]) -> None:
    """Delete versions that have been reported completely."""
    with transaction(engine) as cursor:
        cursor.execute(
            "DELETE FROM catalog.unreported_version WHERE dataset_version_id = ANY (%s)", [list(version_ids)]
        )


def delete_replaced(engine: Engine) -> None:
    """Delete versions that are no longer published: their successors have reports of their own."""
    with transaction(engine) as cursor:
        statement("unreported_replaced").execute(cursor, {"organisation": current_context().organisation_id})
