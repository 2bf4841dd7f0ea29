"""Successful completions of external processes: stored for every source, and read in order of arrival."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.events.run_fold import RunCompletion
from headrace.events.sql import statement


@dataclass(frozen=True, slots=True)
class Completion:
    """A genuine success of a run of an external process.

    sequence: its position in the order of arrival. name: the process's name in its system. by_name: False if the name
    alone means a process of another technology. run: the external run
    number, or the event's key if it has none. partition: the business date or other key that the run reports. moment:
    when the run started, or ended if the start is unknown.
    """

    sequence: int
    process_key: str
    technology: str
    instance: str
    name: str
    by_name: bool
    run: str
    partition: str | None
    moment: datetime
    historical: bool

    @property
    def identity(self) -> str:
        """Equal for two completions if and only if they belong to the same run, whichever source reports it."""
        return "/".join((self.technology, self.instance, self.name, self.run))


def store_completions(
    cursor: Cursor[Any],
    organisation: UUID,
    completions: Collection[RunCompletion],
    retracted: Collection[str] = (),
) -> set[str]:
    """Store these completions; returns the keys of those that are new, or live for the first time.

    retracted: keys of completions whose runs turned out otherwise.
    """
    rows = [*completions, *({"event_key": key} for key in sorted(retracted))]
    if not rows:
        return set()
    parameters = {"organisation": organisation, "completions": jsonb(rows)}
    return {row["event_key"] for row in statement("store_completions").execute(cursor, parameters)}


def newest_sequence(engine: Engine) -> int:
    """Return the sequence of the event that arrived last; 0 if there is none."""
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT max(sequence) AS newest FROM catalog.completion WHERE organisation_id = %s",
            [current_context().organisation_id],
        ).fetchone()
    return (row and row["newest"]) or 0


def completions(
    engine: Engine,
    names: Collection[str],
    *,
    after: int,
    to: int,
    limit: int,
    historical: bool = False,
    newest_first: bool = False,
) -> list[Completion]:
    """Return the completions of the processes with these names or process keys, in order of arrival.

    A run reported by several sources counts once per partition; a report without a partition uses that of another event
    of the same run. Forced and bypassed successes are excluded. A bare name means the technology for which scans know
    it, Autosys first; any if only reports know it.

    Args:
        engine: the catalog.
        names: external names of the processes, or their keys in the catalog.
        after: the sequence after which they arrived.
        to: the sequence up to which they arrived.
        limit: maximum number.
        historical: include those loaded as history.
        newest_first: in reverse order.
    """
    with transaction(engine) as cursor:
        rows = statement("completions").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "names": list(names),
                "after": after,
                "to": to,
                "most": limit,
                "historical": historical,
                "direction": -1 if newest_first else 1,
            },
        )
        return [Completion(**row) for row in rows]


def known_names(engine: Engine, names: Collection[str]) -> set[str]:
    """Return those of the names that an external process has as its name or key."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT process_key, coalesce(external_name, job_name) AS name FROM catalog.process"
            " WHERE organisation_id = %(organisation)s AND (external_name IS NOT NULL OR job_name IS NOT NULL)"
            " AND (external_name = ANY (%(names)s) OR job_name = ANY (%(names)s) OR process_key = ANY (%(names)s))",
            {"organisation": current_context().organisation_id, "names": list(names)},
        ).fetchall()
    return {name for row in rows for name in (row["process_key"], row["name"])} & set(names)
