"""The home page: what is late, at risk, failed or running, the open alerts, and what arrived."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from headrace.alerts.records import AlertState
from headrace.service.api.alerts import list_alerts
from headrace.service.api.recent import show_recent
from headrace.service.api.slas import list_sla_statuses
from headrace.service.api.subjects import Database
from headrace.service.pages.rendering import answered, page
from headrace.service.pages.sessions import Viewer
from headrace.slas.status import OUT_OF_ORDER, SlaStatus

router = APIRouter(include_in_schema=False)
_MAX_ROWS = 20  # of each list, with the way to the rest
_WORST_FIRST = (SlaStatus.LATE, SlaStatus.MISSED, SlaStatus.AT_RISK)


@router.get("/")
def show_tonight(request: Request, engine: Database, caller: Viewer) -> Response:
    """Show what needs attention now. The browser asks for its part `#live` again and again."""
    objectives = answered(list_sla_statuses(engine, caller, state=list(OUT_OF_ORDER), limit=500))["items"]
    objectives.sort(key=lambda each: (_WORST_FIRST.index(each["state"]), each["deadline"] or ""))
    alerts = answered(
        list_alerts(engine, caller, state=[AlertState.OPEN, AlertState.ACKNOWLEDGED], limit=_MAX_ROWS + 1)
    )
    return page(
        request,
        "tonight.html",
        objectives=objectives,
        alerts=alerts["items"],
        recent=answered(show_recent(engine, caller, limit=_MAX_ROWS + 1)),
        limit=_MAX_ROWS,
    )
