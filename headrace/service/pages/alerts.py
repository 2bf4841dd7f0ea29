"""The page behind an alert's link: the recipient sees the alert and acknowledges it with one click, without a token.

It shows the text of the notification and the present state of the alert. Opening the page changes nothing: mail
scanners open links, but do not press buttons.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from sqlalchemy import Engine
from starlette.responses import HTMLResponse

from headrace.alerts.links import PATH, WrongLink, read, secret
from headrace.alerts.markup import html
from headrace.alerts.outbox import acknowledge
from headrace.alerts.queries import LinkedNotification, history, linked_notification
from headrace.alerts.records import Alert, AlertState
from headrace.alerts.wording import sentence
from headrace.context import Principal, act_as, current_context
from headrace.errors import UnknownAlert
from headrace.service.api.subjects import Database

router = APIRouter(include_in_schema=False)
_MAX_TOKEN_LENGTH = 100
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Headrace alert</title></head><body><h1>{title}</h1>{rest}</body></html>
"""
_BUTTON = '<form method="post" action="{path}?t={token}"><button>Acknowledge</button></form>'


Token = Annotated[str, Query(alias="t", max_length=_MAX_TOKEN_LENGTH)]


@router.get(PATH)
def show_alert_page(engine: Database, token: Token = "") -> HTMLResponse:
    """Show the alert, with the button if no one has acknowledged it."""
    try:
        notification = _linked(engine, token)
        with act_as(_principal(notification)):
            alert = history(engine, notification.alert_id).alert
    except WrongLink as error:
        return _page(f"{error}".capitalize(), "", HTTPStatus.OK)
    except UnknownAlert:
        return _page("Alert not found", "", HTTPStatus.NOT_FOUND)
    title, rest = "Acknowledge this alert?", _BUTTON.format(path=PATH, token=quote(token))
    if alert.state is AlertState.CLOSED:
        title, rest = "Already resolved", ""
    elif alert.acknowledged_by is not None:
        title, rest = f"Already acknowledged by {alert.acknowledged_by}", ""
    return _page(title, _now(alert) + rest + _sent(notification))


@router.post(PATH)
def acknowledge_by_link(engine: Database, token: Token = "") -> HTMLResponse:
    """Acknowledge the alert after the button was pressed."""
    try:
        notification = _linked(engine, token)
        with act_as(_principal(notification)):
            alert = acknowledge(engine, notification.alert_id, notification.who, datetime.now(UTC))
    except WrongLink as error:
        return _page(f"{error}".capitalize(), "", HTTPStatus.FORBIDDEN)
    except UnknownAlert:
        return _page("Alert not found", "", HTTPStatus.NOT_FOUND)
    if alert.acknowledged_by is None:
        return _page("Already resolved", _now(alert) + "<p>No action is needed.</p>")
    thanks = (
        f"<p>Acknowledged by {escape(alert.acknowledged_by)}; "
        "it does not escalate until the acknowledgement expires.</p>"
    )
    return _page("Thank you", _now(alert) + thanks)


def _linked(engine: Engine, token: str) -> LinkedNotification:
    """Return the notification of a link. Raises WrongLink or UnknownAlert."""
    key = secret(current_context().settings)
    if key is None:
        raise WrongLink("links to alerts are disabled: HEADRACE_ALERT_SECRET is not set")
    return linked_notification(engine, read(token, key))


def _principal(notification: LinkedNotification) -> Principal:
    return Principal(
        notification.organisation_id, notification.organisation, notification.who, audit_only=True
    )


def _now(alert: Alert) -> str:
    return f"<p>{escape(sentence(alert, datetime.now(UTC)))}</p>"


def _sent(notification: LinkedNotification) -> str:
    if notification.title is None or notification.body is None:
        return ""
    return f"<h2>{escape(notification.title)}</h2>{html(notification.body)}"


def _page(title: str, rest: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=escape(title), rest=rest), status, _HEADERS)
