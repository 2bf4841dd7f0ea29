"""Impact: direct and indirect readers of a dataset, or all that is downstream of a process, with their owners."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.database.connection import transaction
from headrace.queries.sql import statement

MAX_DEPTH = 1000  # steps
MAX_VISITED = 20_000  # datasets, or nodes: the traversal stops there and sets `truncated`


@dataclass(frozen=True, slots=True)
class Reader:
    """A derived dataset, or a process that reads the dataset or a derived one; or what is downstream of a process.

    depth: number of steps. is_end: it has no known readers.
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
    """A page of readers, nearest first, and their total number. truncated: there are more than were counted."""

    readers: tuple[Reader, ...]
    datasets: int
    processes: int
    truncated: bool


def impact(
    engine: Engine,
    start: UUID,
    depth: int,
    *,
    of_process: bool = False,
    after: tuple[int, str, str] = (0, "", ""),
    limit: int = 100,
    as_of: datetime | None = None,
) -> Impact:
    """Return the readers within `depth` steps after (depth, kind, key), by current edges, or those at `as_of`.

    of_process: the start is a process, and each edge is a step.
    """
    parameters = {
        "start": start,
        "of_process": of_process,
        "depth": depth,
        "nodes": MAX_VISITED,
        "at": as_of or datetime.now(UTC),
        "after_depth": after[0],
        "after_kind": after[1],
        "after_key": after[2],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("lineage/impact").execute(cursor, parameters).fetchall()
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
