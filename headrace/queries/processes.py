"""List external processes, and find those that the caller may see under row-level security."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement

_PROCESSES = "SELECT process_key FROM catalog.process WHERE organisation_id = %s AND process_key = ANY (%s)"


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process of another system, with the status and times of its last run, if any.

    schedule, condition: its schedule in words, and its condition. place: file:line; None if no scan contains it.
    """

    key: str
    technology: str
    instance: str
    name: str
    lifecycle: str
    owners: tuple[str, ...]
    description: str | None
    box: str | None
    type: str | None
    machine: str | None
    schedule: str | None
    condition: str | None
    place: str | None
    run_state: str | None
    run_at: datetime | None
    run_ended: datetime | None


def processes(
    engine: Engine, like: str | None = None, lifecycle: str | None = None, limit: int | None = None
) -> list[ProcessRow]:
    """Return the processes ordered by key.

    like: only those with a matching name, in which % and * match any characters.
    """
    pattern = like and like.replace("\\", "\\\\").replace("_", "\\_").replace("*", "%")
    with transaction(engine) as cursor:
        rows = statement("runs/processes").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "like": pattern,
                "lifecycle": lifecycle,
                "limit": limit,
            },
        )
        return [ProcessRow(**{**row, "owners": tuple(row["owners"])}) for row in rows]


def visible_processes(engine: Engine, keys: Collection[str]) -> set[str]:
    """Return those of these process keys that the caller may see."""
    with transaction(engine) as cursor:
        return {
            row["process_key"]
            for row in cursor.execute(_PROCESSES, [current_context().organisation_id, list(keys)])
        }
