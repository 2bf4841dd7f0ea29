"""The page behind an alert's link: the recipient sees the alert and acknowledges it with one click, without a token.

It shows the text of the notification and the present state of the alert. Opening the page changes nothing: mail
scanners open links, but do not press buttons.
"""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.alerts.links import PATH, WrongLink, read, secret
from headrace.alerts.markup import html
from headrace.alerts.outbox import acknowledge
from headrace.alerts.queries import LinkedNotification, history, linked_notification
from headrace.alerts.records import Alert, AlertState
from headrace.alerts.wording import sentence
from headrace.api.subjects import Database
from headrace.context import Principal, act_as, current_context
from headrace.errors import UnknownAlert
from headrace.pages.rendering import page

router = APIRouter(include_in_schema=False)
_MAX_TOKEN_LENGTH = 100

Token = Annotated[str, Query(alias="t", max_length=_MAX_TOKEN_LENGTH)]


@router.get(PATH)
def show_linked_alert(request: Request, engine: Database, token: Token = "") -> Response:
    """Show the alert, with the button if no one has acknowledged it."""
    try:
        notification = _linked(engine, token)
        with act_as(_principal(notification)):
            alert = history(engine, notification.alert_id).alert
    except WrongLink as error:
        return _page(request, _title(error), status=HTTPStatus.FORBIDDEN)
    except UnknownAlert:
        return _page(request, "Alert not found", status=HTTPStatus.NOT_FOUND)
    if alert.state is AlertState.CLOSED:
        return _page(request, "Already resolved", alert, notification)
    if alert.acknowledged_by is not None:
        return _page(request, f"Already acknowledged by {alert.acknowledged_by}", alert, notification)
    return _page(request, "Acknowledge this alert?", alert, notification, token=token)


@router.post(PATH)
def acknowledge_by_link(request: Request, engine: Database, token: Token = "") -> Response:
    """Acknowledge the alert after the button was pressed."""
    try:
        notification = _linked(engine, token)
        with act_as(_principal(notification)):
            alert = acknowledge(engine, notification.alert_id, notification.who, datetime.now(UTC))
    except WrongLink as error:
        return _page(request, _title(error), status=HTTPStatus.FORBIDDEN)
    except UnknownAlert:
        return _page(request, "Alert not found", status=HTTPStatus.NOT_FOUND)
    return _page(request, "Already resolved" if alert.acknowledged_by is None else "Thank you", alert)


def _linked(engine: Engine, token: str) -> LinkedNotification:
    """Return the notification of a link. Raises WrongLink or UnknownAlert."""
    key = secret(current_context().settings)
    if key is None:
        raise WrongLink("links to alerts are disabled: HEADRACE_ALERT_SECRET is not set")
    return linked_notification(engine, read(token, key))


def _title(error: WrongLink) -> str:
    words = str(error)
    return words[:1].upper() + words[1:]


def _principal(notification: LinkedNotification) -> Principal:
    return Principal(
        notification.organisation_id, notification.organisation, notification.who, audit_only=True
    )


def _page(
    request: Request,
    title: str,
    alert: Alert | None = None,
    notification: LinkedNotification | None = None,
    *,
    token: str | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Return the page. token: of the link, for the button; None: without a button."""
    response = page(
        request,
        "linked_alert.html",
        status=status,
        title=title,
        alert=alert,
        sentence=alert and sentence(alert, datetime.now(UTC)),
        notification=notification,
        body=Markup(html(notification.body)) if notification and notification.body else None,  # noqa: S704 - escaped there
        token=token,
        path=PATH,
    )
    response.headers["Referrer-Policy"] = "no-referrer"  # the address of the page has the token
    return response
