"""Impact: direct and indirect readers of a dataset, with their owners."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.catalog.sql import statement
from headrace.database.connection import transaction

MAX_DEPTH = 1000  # steps
MAX_DATASETS = 20_000  # a walk stops there and says so


@dataclass(frozen=True, slots=True)
class Reader:
    """A dataset that is computed from another, or a process that reads it or one computed from it.

    depth: how many steps away. is_end: nothing is known to read it further.
    """

    kind: Public[str]
    id: UUID
    key: SubjectKey
    depth: int
    owners: Public[tuple[str, ...]]
    description: Public[str | None]
    is_end: bool


@dataclass(frozen=True, slots=True)
class Impact:
    """A page of readers, the nearest first, and how many there are. truncated: there are more than were counted."""

    readers: tuple[Reader, ...]
    datasets: int
    processes: int
    truncated: bool


def impact(
    engine: Engine,
    dataset_id: UUID,
    depth: int,
    *,
    after: tuple[int, str, str] = (0, "", ""),
    limit: int = 100,
    as_of: datetime | None = None,
) -> Impact:
    """The readers within `depth` steps that come after (depth, kind, key), by edges that hold now, or at `as_of`."""
    parameters = {
        "dataset_id": dataset_id,
        "depth": depth,
        "nodes": MAX_DATASETS,
        "at": as_of or datetime.now(UTC),
        "after_depth": after[0],
        "after_kind": after[1],
        "after_key": after[2],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("impact").execute(cursor, parameters).fetchall()
    return Impact(
        readers=tuple(
            Reader(
                kind=row["kind"],
                id=row["id"],
                key=row["key"],
                depth=row["depth"],
                owners=tuple(row["owners"]),
                description=row["description"],
                is_end=row["is_end"],
            )
            for row in rows
            if row["id"] is not None
        ),
        datasets=rows[0]["datasets"],
        processes=rows[0]["processes"],
        truncated=rows[0]["truncated"],
    )
