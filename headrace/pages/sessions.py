"""The signed-in user of a page: the session of the request's cookie, and the proof that a form is ours."""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Form, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.access.errors import Unauthenticated
from headrace.access.sessions import SESSION_LIFETIME, Session, session_of
from headrace.context import current_context
from headrace.errors import Forbidden
from headrace.http.security import Authorization
from headrace.pages.forms import address_in

COOKIE = "headrace_session"
SIGN_IN = "/sign-in"


class SignInRequired(Exception):
    """A page was requested without a session, or with one that has ended."""


class signed_in(Authorization):
    """Dependency of a page: returns the signed-in caller, who has the permission.

    The API takes tokens only and no cookie, so that another site cannot call it from a user's browser.
    """

    by_session = True

    async def __call__(self, request: Request) -> Caller:
        """Return the caller. Raises SignInRequired, Forbidden, CatalogUnavailable."""
        return self.admit(request, (await _session(request)).caller)


class acts(Authorization):
    """Dependency of an action of a page: returns the caller, who sent a form of ours and has the permission."""

    by_session = True

    async def __call__(
        self, request: Request, form_token: Annotated[str, Form(max_length=100)] = ""
    ) -> Caller:
        """Return the caller. Raises SignInRequired, Forbidden, CatalogUnavailable."""
        session = await _session(request)
        refuse_other_sites(request)
        if not hmac.compare_digest(form_token.encode(), session.form_token.encode()):
            raise Forbidden("this form is outdated: open its page again, and repeat what you did")
        return self.admit(request, session.caller)


Viewer = Annotated[Caller, Depends(signed_in(Permission.READ))]


async def _session(request: Request) -> Session:
    token = request.cookies.get(COOKIE)
    if token is None:
        raise SignInRequired
    try:
        session = await run_in_threadpool(session_of, request.app.state.engine, token)
    except Unauthenticated as error:
        raise SignInRequired from error
    request.state.session = session
    return session


def refuse_other_sites(request: Request) -> None:
    """Refuse a form of another site, as its browser names it. Raises Forbidden."""
    origin = request.headers.get("origin")
    if origin is not None and address_in(origin).netloc != request.headers.get("host"):
        raise Forbidden("this form was sent by another site; nothing was changed")


def set_session(response: Response, token: str) -> None:
    """Give the browser its session; over https the cookie is sent over https only."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        httponly=True,
        secure=current_context().settings.service_url.startswith("https://"),
        samesite="lax",
    )


def ask_to_sign_in(request: Request, _: Exception) -> Response:
    """Send the browser to the sign-in page, from which it comes back; an action is not repeated, and it says so."""
    was_form = request.method != "GET"
    sender = request.headers.get("referer", "")
    here = address_in(sender if was_form else request.headers.get("hx-current-url", str(request.url)))
    back = here.path + (f"?{here.query}" if here.query else "")
    if was_form and here.netloc != request.headers.get("host"):
        back = "/"
    address = f"{SIGN_IN}?next={quote(back, safe='/')}" + ("&undone=true" if was_form else "")
    if request.headers.get("hx-request") == "true":
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={"HX-Redirect": address})
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
