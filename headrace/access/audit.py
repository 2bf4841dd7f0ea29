"""The audit trail: changes, recorded by the database itself, and reads of sensitive data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.callers import Caller
from headrace.access.sensitivity import Public, PublicField
from headrace.access.sql import statement
from headrace.context import Principal, act_as, current_context, organisation_named
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb

_READ = """
INSERT INTO catalog.audit_entry (organisation_id, action, object_type, object, detail, request_id)
VALUES (%s, 'READ', %s, %s, %s, nullif(%s, ''))
"""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change (detail: each column, as `[before, after]`), or a read of sensitive data (detail: its kinds)."""

    audit_id: int
    at: datetime
    subject: Public[str]
    action: Public[str]
    object_type: Public[str]
    object: Public[str]
    detail: Annotated[dict[str, Any], PublicField.FOREIGN_JSON]
    request_id: Public[str | None]


def note_reading(engine: Engine, caller: Caller, subjects: Sequence[str], kinds: Sequence[str]) -> None:
    """Record that the caller was shown sensitive data of these kinds, about these datasets and processes."""
    if not subjects:
        return
    current = current_context().principal
    request_id = current.request_id if current else ""
    of_caller = Principal(caller.organisation_id, caller.organisation, caller.subject, request_id=request_id)
    named = ", ".join(subjects[:3]) + (f" and {len(subjects) - 3} more" if len(subjects) > 3 else "")
    detail = {"kinds": sorted(kinds), "of": sorted(subjects)}
    with act_as(of_caller), transaction(engine) as cursor:
        cursor.execute(_READ, [caller.organisation_id, "METADATA", named, jsonb(detail), request_id])


def sign(cursor: Cursor[Any], by: str) -> None:
    """Attribute the changes of this transaction to `by`, unless a caller is set."""
    if current_context().principal is None:
        cursor.execute("SELECT set_config('headrace.subject', %s, true)", [by])


def entries(
    engine: Engine,
    *,
    organisation: str | None = None,
    subject: str | None = None,
    object_name: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[AuditEntry]:
    """Return the newest entries first, optionally of one subject, of one object, or older than the entry `before`."""
    parameters = {
        "organisation": organisation_named(organisation)
        if organisation
        else current_context().organisation_id,
        "subject": subject,
        "object": object_name,
        "before": before,
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("audit_entries").execute(cursor, parameters).fetchall()
    return [AuditEntry(**row) for row in rows]
