"""The processes that jobs are: ours by their keys, others by namespace and name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import Cursor

from catalog.openlineage.places import job_id, key_of
from catalog.openlineage.values import Name
from catalog.payload import jsonb
from catalog.sql import statement


def resolve(cursor: Cursor[Any], organisation: UUID, own: str, jobs: Iterable[Name]) -> dict[Name, UUID]:
    """The process of each job; those that nobody knew are made."""
    wanted = sorted(set(jobs))
    rows = [
        {
            "ordinal": ordinal,
            "process_id": job_id(organisation, name),
            "process_key": key_of(name, own),
            "job_namespace": None if name.namespace == own else name.namespace,
            "job_name": None if name.namespace == own else name.name,
        }
        for ordinal, name in enumerate(wanted)
    ]
    if not rows:
        return {}
    found = statement("openlineage_jobs").execute(cursor, {"organisation": organisation, "jobs": jsonb(rows)})
    return {wanted[row["ordinal"]]: row["process_id"] for row in found}
