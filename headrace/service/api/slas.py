"""Routes for SLAs: status, history, incidents, and a calendar feed of deadlines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import Response

from headrace.service.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.service.api.responses import shown
from headrace.service.api.subjects import Database, Reader
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.queries import (
    Incident,
    SlaHistory,
    SlaObjectiveStatus,
    incidents,
    sla_history,
    sla_statuses,
)
from headrace.slas.status import SlaStatus

router = APIRouter(prefix="/api/v1")
_QUARTER = timedelta(days=91)

Domain = Annotated[str | None, Query(max_length=1000, description="Only of this domain.")]
Owner = Annotated[str | None, Query(max_length=1000, description="Only of this owner.")]
Key = Annotated[str, Query(max_length=4000, description="The key of a dataset or process.")]


@router.get(
    "/sla/status", summary="List SLA statuses", tags=["slas"], response_model=Page[SlaObjectiveStatus]
)
def list_sla_statuses(
    engine: Database,
    caller: Reader,
    state: Annotated[list[SlaStatus] | None, Query(description="Only items with this status.")] = None,
    kind: Annotated[list[ObjectiveKind] | None, Query(description="Only objectives of these kinds.")] = None,
    key: Annotated[list[str] | None, Query(description="Only of these datasets and processes.")] = None,
    domain: Domain = None,
    owner: Owner = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List SLA objectives with their status at the last evaluation and their forecast, by key."""
    after = place_of(cursor, tuple[str, str, int]) if cursor else ("", "", -1)
    rows = sla_statuses(
        engine,
        state or (),
        kind or (),
        keys=key or (),
        domain=domain,
        owner=owner,
        after=after,
        limit=limit + 1,
    )
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.key, last.kind, last.ordinal) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get("/sla/history", summary="Show SLA history", tags=["slas"], response_model=SlaHistory)
def show_sla_history(
    engine: Database,
    caller: Reader,
    key: Key,
    since: Annotated[AwareDatetime | None, Query(description="From this time. Default: 91 days ago.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="To this time. Default: now.")] = None,
    limit: Limit = 50,
) -> Response:
    """Show how often the objectives of a dataset or process were met and by what margin; newest outcomes and
    changes."""
    end = until or datetime.now(UTC)
    return shown(engine, caller, sla_history(engine, key, since or end - _QUARTER, end, limit), key)


@router.get("/sla/incidents", summary="List incidents", tags=["slas"], response_model=list[Incident])
def list_incidents(
    engine: Database,
    caller: Reader,
    closed: Annotated[bool, Query(description="Include closed ones.")] = False,
    key: Annotated[
        str | None,
        Query(max_length=4000, description="Only incidents that involve this dataset or process."),
    ] = None,
    limit: Limit = 50,
) -> Response:
    """List incidents, newest first: the cause, the affected members, and datasets downstream."""
    return shown(engine, caller, incidents(engine, open_only=not closed, key=key, limit=limit))


@router.get(
    "/sla/deadlines.ics",
    summary="Subscribe to deadlines",
    tags=["slas"],
    response_class=Response,
    responses={200: {"content": {"text/calendar": {"schema": {"type": "string"}}}}},
)
def subscribe_to_deadlines(
    engine: Database,
    _: Reader,
    domain: Domain = None,
    owner: Owner = None,
    days: Annotated[int, Query(ge=1, le=92, description="Number of days ahead.")] = 14,
) -> Response:
    """Return the deadlines of the next days as an iCalendar file, 2,000 at most."""
    from headrace.slas.calendar_feed import deadline_feed

    feed = deadline_feed(engine, datetime.now(UTC), timedelta(days=days), domain=domain, owner=owner)
    return Response(feed, media_type="text/calendar")
