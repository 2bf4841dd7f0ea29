"""Planned outages: periods in which SLAs of some datasets and processes are paused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.slas.sql import statement


@dataclass(frozen=True, slots=True)
class PlannedOutage:
    """A period in which the SLAs of the keys that match a pattern are paused."""

    outage_id: UUID
    subjects: Public[str]
    begins_at: datetime
    ends_at: datetime
    reason: Public[str]
    planned_by: Public[str]


def planned_outages(engine: Engine, now: datetime, key: str | None = None) -> list[PlannedOutage]:
    """Return the outages that have not ended, the next first; key: only those of this dataset or process."""
    parameters = {"organisation": current_context().organisation_id, "now": now}
    with transaction(engine) as cursor:
        rows = statement("queries/outages").execute(cursor, parameters).fetchall()
    found = [PlannedOutage(**row) for row in rows]
    return [each for each in found if key is None or fnmatchcase(key, each.subjects)]


def plan_outage(
    engine: Engine, subjects: str, begins_at: datetime, ends_at: datetime, reason: str, by: str
) -> UUID:
    """Pause the SLAs of keys that match a pattern (`*` matches any text) for a period; returns the outage's id.

    Raises ValueError if it ends before it starts.
    """
    if ends_at <= begins_at:
        raise ValueError(f"the outage ends at {ends_at:%Y-%m-%d %H:%M}, before it begins")
    parameters = {
        "organisation": current_context().organisation_id,
        "subjects": subjects,
        "begins_at": begins_at,
        "ends_at": ends_at,
        "reason": reason,
        "by": by,
    }
    with transaction(engine) as cursor:
        row = statement("plan_outage").execute(cursor, parameters).fetchone()
        assert row is not None  # noqa: S101 - it has just been inserted
        outage: UUID = row["outage_id"]
        return outage
