"""The audit route: changes, and reads of sensitive data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from headrace.access.audit import AuditEntry, entries
from headrace.access.callers import Caller, Permission
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database
from headrace.errors import Forbidden
from headrace.http.security import requires

router = APIRouter(prefix="/api/v1", tags=["audit"])
AUDIT = requires(Permission.AUDIT)


@router.get("/audit", summary="List who changed and read what", response_model=Page[AuditEntry])
def list_audit(
    engine: Database,
    caller: Annotated[Caller, Depends(AUDIT)],
    subject: Annotated[
        str | None,
        Query(max_length=300, description="Only entries of this subject: `user:alice`, `service:airflow`."),
    ] = None,
    of: Annotated[str | None, Query(max_length=4000, description="Only entries about this object.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List the audit trail, newest first. Requires the permission for all domains, since an entry may concern any."""
    if not caller.may_everywhere(Permission.AUDIT):
        raise Forbidden(
            f"{caller.subject} may audit only some domains, but the audit trail covers the whole organisation"
        )
    before = place_of(cursor, tuple[int])[0] if cursor else None
    rows = entries(engine, subject=subject, object_name=of, before=before, limit=limit + 1)
    following = cursor_of(rows[limit - 1].audit_id) if len(rows) > limit else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))
