"""The home page: what is late, at risk, failed or running, the open alerts, what arrived, and what is the reader's."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from headrace.access.grants import USER
from headrace.access.saved_links import saved_links
from headrace.alerts.records import AlertState
from headrace.api.alerts import list_alerts
from headrace.api.datasets.datasets import list_datasets
from headrace.api.recent import show_recent
from headrace.api.slas import SlaOrder, list_sla_statuses
from headrace.api.subjects import Database
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer
from headrace.queries.filters import DatasetFilter
from headrace.slas.status import OUT_OF_ORDER

router = APIRouter(include_in_schema=False)
_MAX_ROWS = 20  # of each list, with the way to the rest


@router.get("/")
def show_tonight(request: Request, engine: Database, caller: Viewer) -> Response:
    """Show what needs attention now. The browser asks for its part `#live` again and again."""
    objectives = answered(
        list_sla_statuses(engine, caller, state=list(OUT_OF_ORDER), order=SlaOrder.WORST, limit=500)
    )["items"]
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


@router.get("/yours")
def show_yours(request: Request, engine: Database, caller: Viewer) -> Response:
    """Show the datasets that name the reader as an owner, and their saved links; a part of the home page."""
    me = caller.subject.removeprefix(USER)
    mine = answered(list_datasets(engine, caller, DatasetFilter(owner=me), limit=_MAX_ROWS + 1))["items"]
    ours = (
        answered(list_sla_statuses(engine, caller, key=[each["key"] for each in mine], order=SlaOrder.WORST))[
            "items"
        ]
        if mine
        else []
    )
    return page(
        request,
        "yours.html",
        me=me,
        mine=mine,
        states={each["key"]: each["state"] for each in reversed(ours)},
        links=saved_links(engine, caller),
        limit=_MAX_ROWS,
    )
