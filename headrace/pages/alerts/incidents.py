"""Incidents: the list, and the page of one cause with everything it affects."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from headrace.api.alerts import show_alert
from headrace.api.paging import Cursor
from headrace.api.slas import list_incidents, show_incident
from headrace.api.subjects import Database
from headrace.errors import UnknownAlert
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50


@router.get("/incidents")
def show_incidents(
    request: Request,
    engine: Database,
    caller: Viewer,
    closed: bool = False,
    key: Annotated[str, Query(max_length=4000)] = "",
    cursor: Cursor = None,
) -> Response:
    """Show the incidents, the newest first; those that have closed as well if asked for."""
    found = list_incidents(
        engine, caller, closed=closed, key=key.strip() or None, cursor=cursor, limit=_PER_PAGE
    )
    return page(request, "incidents.html", found=answered(found), closed=closed, key=key)


@router.get("/incidents/{incident_id}")
def show_incident_page(
    request: Request, engine: Database, caller: Viewer, incident_id: Annotated[UUID, Path()]
) -> Response:
    """Show an incident: its cause, its members, what is downstream, its alert, and those merged into it."""
    found = answered(show_incident(engine, caller, incident_id))
    return page(
        request,
        "incident.html",
        incident=found["incident"],
        parts=found["parts"],
        alert=_alert(engine, caller, incident_id),
    )


def _alert(engine: Database, caller: Viewer, incident_id: UUID) -> object:
    """Return the alert about the incident; None if there is none that the caller may see."""
    try:
        return answered(show_alert(engine, caller, incident_id))["alert"]
    except UnknownAlert:
        return None
