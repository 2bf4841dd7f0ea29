"""Estates of legacy jobs: how much of them is known, their scans, and what a scan changed and found."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.estate import list_scans, show_coverage, show_scan
from headrace.api.paging import Cursor
from headrace.api.subjects import Database
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import signed_in

router = APIRouter(include_in_schema=False)
Viewer = Annotated[Caller, Depends(signed_in(Permission.REVIEW))]
_PER_PAGE = 20


@router.get("/estate")
def show_estate(request: Request, engine: Database, caller: Viewer, cursor: Cursor = None) -> Response:
    """Show how much of the estates is known, and the scans, newest first."""
    return page(
        request,
        "estate.html",
        coverage=answered(show_coverage(engine, caller)),
        scans=answered(list_scans(engine, caller, cursor, _PER_PAGE)),
    )


@router.get("/estate/{scan_id}")
def show_scan_page(request: Request, engine: Database, caller: Viewer, scan_id: UUID) -> Response:
    """Show what a scan changed and found."""
    return page(request, "scan.html", scan=answered(show_scan(engine, caller, scan_id)))
