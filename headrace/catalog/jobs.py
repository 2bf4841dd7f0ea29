"""Resolve job names to processes: internal keys, scheduler names, and names other producers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.naming import Name, job, job_id, key_of
from headrace.catalog.processes import ProcessName as Place
from headrace.catalog.processes import find_processes
from headrace.catalog.records import Technology
from headrace.catalog.sql import statement
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb

_SCHEDULED = {str(each) for each in Technology} - {Technology.SPARK, Technology.EXTERNAL}


def resolve(cursor: Cursor[Any], organisation: UUID, own: str, jobs: Iterable[Name]) -> dict[Name, UUID]:
    """Return the process of each job; unknown ones are created.

    In the namespace `AUTOSYS`, or `AUTOSYS/PRD` with several schedulers, it is the job of the scanned estate, whatever
    box its name begins with: `BOX/LOAD` is LOAD.
    """
    plain = {name: job(name) for name in jobs}
    wanted = sorted(set(plain.values()))
    scheduled = {name: place for name in wanted if (place := _scheduled(name)) is not None}
    found = find_processes(cursor, organisation, scheduled.values(), make=True)
    known = {name: found[place]["process_id"] for name, place in scheduled.items()}
    rows = [
        {
            "ordinal": ordinal,
            "process_id": job_id(organisation, name),
            "process_key": key_of(name, own),
            "job_namespace": None if name.namespace == own else name.namespace,
            "job_name": None if name.namespace == own else name.name,
        }
        for ordinal, name in enumerate(wanted)
        if name not in known
    ]
    if rows:
        answer = statement("openlineage_jobs").execute(
            cursor, {"organisation": organisation, "jobs": jsonb(rows)}
        )
        known |= {wanted[row["ordinal"]]: row["process_id"] for row in answer}
    return {name: known[each] for name, each in plain.items()}


def keys_of_jobs(engine: Engine, organisation: UUID, own: str, jobs: Iterable[Name]) -> dict[Name, str]:
    """Return the process key of each job, by any of its names; for an unknown job, the key derived from its name."""
    plain = {name: job(name) for name in jobs}
    scheduled = {name: place for name in plain.values() if (place := _scheduled(name)) is not None}
    found = {}
    if scheduled:
        with transaction(engine) as cursor:
            found = find_processes(cursor, organisation, scheduled.values(), make=False)
    known = {name: found[place]["process_key"] for name, place in scheduled.items() if place in found}
    return {name: known.get(each) or key_of(each, own) for name, each in plain.items()}


def may_be_scheduled(name: Name, own: str) -> bool:
    """Return True if the job may belong to a scheduler: by its name there, or by its key here."""
    return name.namespace == own or _scheduled(job(name)) is not None


def _scheduled(name: Name) -> Place | None:
    """Return technology, instance and name of a scheduler's process; None for another job."""
    technology, _, instance = name.namespace.partition("/")
    if technology not in _SCHEDULED or "/" in instance:
        return None
    process = name.name.rpartition("/")[2] if technology == Technology.AUTOSYS else name.name
    return (technology, instance, process) if process else None
