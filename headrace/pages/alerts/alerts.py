"""Alerts: the list, and the page of one, on which its recipients acknowledge it, hand it over or resolve it."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.alerts.records import AlertState
from headrace.api.alerts import (
    Acknowledgement,
    AlertId,
    HandOver,
    Resolution,
    acknowledge_alert,
    hand_alert_over,
    list_alerts,
    resolve_alert,
    show_alert,
)
from headrace.api.paging import Cursor
from headrace.api.slas import list_sla_statuses
from headrace.api.subjects import Database
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer, acts
from headrace.registration.registrations import StorableText as Text
from headrace.severity import Severity

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_STATES = (  # its address, and its name
    (None, "Open"),
    (AlertState.OPEN, "Not acknowledged"),
    (AlertState.ACKNOWLEDGED, "Acknowledged"),
    (AlertState.CLOSED, "Resolved"),
)
_LASTS = (
    (timedelta(hours=1), "1 hour"),
    (timedelta(hours=4), "4 hours"),
    (timedelta(days=1), "1 day"),
    (timedelta(days=3), "3 days"),
    (timedelta(days=7), "7 days"),
)

Acknowledging = Annotated[Caller, Depends(acts(Permission.ACKNOWLEDGE))]
Comment = Annotated[Text | None, Form(max_length=2000)]
Lasts = Annotated[timedelta | None, Form(ge=timedelta(minutes=1), le=timedelta(days=30))]


@router.get("/alerts")
def show_alerts(
    request: Request,
    engine: Database,
    caller: Viewer,
    state: AlertState | None = None,
    severity: Severity | None = None,
    subject: Annotated[str, Query(max_length=1000)] = "",
    cursor: Cursor = None,
) -> Response:
    """Show the alerts that match the filters, the newest first; without a state, those that are not resolved."""
    found = list_alerts(
        engine,
        caller,
        state=[state] if state else [AlertState.OPEN, AlertState.ACKNOWLEDGED],
        severity=[severity] if severity else None,
        subject=subject.strip() or None,
        cursor=cursor,
        limit=_PER_PAGE,
    )
    return page(
        request,
        "alerts.html",
        found=answered(found),
        subject=subject,
        states=_STATES,
        severities=list(reversed(Severity)),
    )


@router.get("/alerts/{alert_id}")
def show_alert_page(request: Request, engine: Database, caller: Viewer, alert_id: AlertId) -> Response:
    """Show an alert: what to do, what happened, what it affects, and who was notified."""
    found = answered(show_alert(engine, caller, alert_id))
    key = found["alert"]["key"]
    return page(
        request,
        "alert.html",
        found=found,
        alert=found["alert"],
        objectives=answered(list_sla_statuses(engine, caller, key=[key]))["items"],
        thread=_thread(found),
        next_step=min(
            (each for each in found["notifications"] if each["state"] == "PENDING"),
            key=lambda each: each["due_at"],
            default=None,
        ),
        may_act=caller.may(
            Permission.ACKNOWLEDGE, key if found["alert"]["subject_type"] == "DATASET" else None
        ),
        lasts=[(f"PT{int(span.total_seconds())}S", name) for span, name in _LASTS],
    )


@router.post("/alerts/{alert_id}/acknowledge")
def acknowledge_on_page(
    engine: Database,
    caller: Acknowledging,
    alert_id: AlertId,
    comment: Comment = None,
    lasts: Lasts = None,
) -> Response:
    """Acknowledge an alert, or renew the acknowledgement."""
    acknowledge_alert(engine, caller, alert_id, Acknowledgement(comment=comment, lasts=lasts))
    return RedirectResponse(f"/alerts/{alert_id}", HTTPStatus.SEE_OTHER)


@router.post("/alerts/{alert_id}/hand-over")
def hand_over_on_page(
    engine: Database,
    caller: Acknowledging,
    alert_id: AlertId,
    to: Annotated[Text, Form(min_length=1, max_length=500)],
    comment: Comment = None,
    lasts: Lasts = None,
) -> Response:
    """Hand an acknowledged alert over to a person or an owner."""
    hand_alert_over(engine, caller, alert_id, HandOver(to=to, comment=comment, lasts=lasts))
    return RedirectResponse(f"/alerts/{alert_id}", HTTPStatus.SEE_OTHER)


@router.post("/alerts/{alert_id}/resolve")
def resolve_on_page(
    engine: Database, caller: Acknowledging, alert_id: AlertId, comment: Comment = None
) -> Response:
    """Close an alert whose cause is not gone."""
    resolve_alert(engine, caller, alert_id, Resolution(comment=comment))
    return RedirectResponse(f"/alerts/{alert_id}", HTTPStatus.SEE_OTHER)


def _thread(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events, notifications and acknowledgements of an alert in order, each with its type."""
    notifications = [
        {**each, "type": "notification", "at": each["sent_at"] or each["due_at"]}
        for each in found["notifications"]
    ]
    events = [{**each, "type": "event"} for each in found["alert_events"]]
    acknowledgements = [{**each, "type": "acknowledgement"} for each in found["alert"]["acknowledgements"]]
    return sorted((*events, *notifications, *acknowledgements), key=lambda each: each["at"])
