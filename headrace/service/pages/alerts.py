"""The page behind an alert's link: the recipient acknowledges with one click, without a token.

Opening the page changes nothing: mail scanners open links, but do not press buttons.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse

from headrace.alerts.links import PATH, AcknowledgeLink, WrongLink, read, secret
from headrace.alerts.outbox import acknowledge
from headrace.alerts.queries import history
from headrace.alerts.records import AlertState
from headrace.alerts.wording import sentence
from headrace.database.ids import organisation_named
from headrace.database.principal import Principal, act_as
from headrace.errors import UnknownAlert
from headrace.service.api.subjects import Database
from headrace.settings import settings

router = APIRouter(include_in_schema=False)
_MAX_TOKEN_LENGTH = 4000
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Headrace alert</title></head><body><h1>{title}</h1>{rest}</body></html>
"""
_BUTTON = '<form method="post" action="{path}?token={token}"><button>Acknowledge</button></form>'


Token = Annotated[str, Query(max_length=_MAX_TOKEN_LENGTH)]


@router.get(PATH)
def show_acknowledge_page(engine: Database, token: Token = "") -> HTMLResponse:
    """Show the page with the button."""
    try:
        acknowledge_link = _read_link(token)
    except WrongLink as error:
        return _page(f"{error}".capitalize(), "", HTTPStatus.OK)
    try:
        with act_as(_principal(acknowledge_link)):
            alert = history(engine, acknowledge_link.alert_id).alert
    except UnknownAlert:
        return _page("Alert not found", "", HTTPStatus.NOT_FOUND)
    what = f"<p>{escape(sentence(alert, datetime.now(UTC)))}</p>"
    if alert.state is AlertState.CLOSED:
        return _page("Already resolved", what)
    if alert.acknowledged_by is not None:
        return _page(f"Already acknowledged by {alert.acknowledged_by}", what)
    return _page("Acknowledge this alert?", what + _BUTTON.format(path=PATH, token=quote(token)))


@router.post(PATH)
def acknowledge_by_link(engine: Database, token: Token = "") -> HTMLResponse:
    """Acknowledge the alert after the button was pressed."""
    try:
        acknowledge_link = _read_link(token)
    except WrongLink as error:
        return _page(f"{error}".capitalize(), "", HTTPStatus.FORBIDDEN)
    try:
        with act_as(_principal(acknowledge_link)):
            alert = acknowledge(engine, acknowledge_link.alert_id, acknowledge_link.who, datetime.now(UTC))
    except UnknownAlert:
        return _page("Alert not found", "", HTTPStatus.NOT_FOUND)
    what = f"<p>{escape(sentence(alert, datetime.now(UTC)))}</p>"
    if alert.acknowledged_by is None:
        return _page("Already resolved", what + "<p>No action is needed.</p>")
    thanks = f"<p>Acknowledged by {escape(alert.acknowledged_by)}; it will not escalate further.</p>"
    return _page("Thank you", what + thanks)


def _principal(acknowledge_link: AcknowledgeLink) -> Principal:
    return Principal(
        organisation_named(acknowledge_link.organisation),
        acknowledge_link.organisation,
        acknowledge_link.who,
        audit_only=True,
    )


def _read_link(token: str) -> AcknowledgeLink:
    key = secret(settings())
    if key is None:
        raise WrongLink("acknowledgement links are disabled: HEADRACE_ALERT_SECRET is not set")
    return read(token, key)


def _page(title: str, rest: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=escape(title), rest=rest), status, _HEADERS)
