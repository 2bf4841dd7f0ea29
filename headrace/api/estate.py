"""Routes for estates of legacy jobs: their scans, and how much of them the catalog knows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database
from headrace.estates.scan_history import Coverage, ScanDetail, ScanSummary, coverage, scan_detail, scans
from headrace.http.security import requires

router = APIRouter(prefix="/api/v1", tags=["processes"])
Reviewer = Annotated[Caller, Depends(requires(Permission.REVIEW))]


@router.get("/scan", summary="List scans of estates", response_model=Page[ScanSummary])
def list_scans(engine: Database, caller: Reviewer, cursor: Cursor = None, limit: Limit = 20) -> Response:
    """List the stored scans, newest first."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    rows = scans(engine, before=before, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.scanned_at, last.scan_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get("/scan/coverage", summary="Show what is known of estates", response_model=list[Coverage])
def show_coverage(engine: Database, caller: Reviewer) -> Response:
    """Count the processes of other systems by what is known of them: datasets, runs, owners."""
    return shown(engine, caller, coverage(engine))


@router.get("/scan/{scan_id}", summary="Show a scan of an estate", response_model=ScanDetail)
def show_scan(
    engine: Database, caller: Reviewer, scan_id: Annotated[UUID, Path(description="The scan's id.")]
) -> Response:
    """Show what a scan changed and found."""
    return shown(engine, caller, scan_detail(engine, scan_id))
