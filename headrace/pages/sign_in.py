"""Sign-in with the OpenID Connect issuer, or in development as any user of this machine; sign-out.

The issuer's tokens are verified and forgotten: the browser gets a session of the catalog.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from fastapi import APIRouter, Depends, Form, Query, Request
from joserfc.errors import JoseError
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission, Role
from headrace.access.issuers import subject_in
from headrace.access.sessions import end_session, move_session, open_session
from headrace.api.subjects import Database
from headrace.context import current_context
from headrace.errors import Forbidden
from headrace.http.problems import RequestRefused
from headrace.pages.forms import own_address
from headrace.pages.rendering import page
from headrace.pages.sessions import COOKIE, SIGN_IN, acts, refuse_other_sites, set_session
from headrace.settings import Settings, state_file

router = APIRouter(include_in_schema=False)
CALLBACK = f"{SIGN_IN}/callback"
START = f"{SIGN_IN}/start"
STATE_SECONDS = 600  # for a user to sign in at the issuer
_ANSWER_SECONDS = 10.0  # for the issuer to answer
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LOG = logging.getLogger("headrace.pages")

Next = Annotated[str, Query(alias="next", max_length=4000)]


@router.get(SIGN_IN)
def show_sign_in(request: Request, next_: Next = "/", undone: bool = False) -> Response:
    """Show how to sign in here. undone: a form came without a session."""
    settings = current_context().settings
    return page(
        request,
        "sign_in.html",
        next=own_address(next_),
        undone=undone,
        issuer=settings.access.issuer,
        development=_is_development(request, settings),
        user=getpass.getuser(),
        roles=list(Role),
    )


@router.post(SIGN_IN)
def sign_in_for_development(
    request: Request,
    engine: Database,
    user: Annotated[str, Form(max_length=255)],
    role: Annotated[Role | None, Form()] = None,
    next_: Annotated[str, Form(alias="next", max_length=4000)] = "/",
) -> Response:
    """Sign in as any user of a deployment in development, from this machine."""
    refuse_other_sites(request)
    if not _is_development(request, current_context().settings):
        raise Forbidden("the development sign-in is for a browser on this machine, and not in production")
    token = open_session(engine, subject_in({"sub": user.strip()}), role)
    return _signed_in(request, engine, token, next_)


@router.get(START)
async def start_sign_in(request: Request, next_: Next = "/") -> Response:
    """Send the browser to the issuer."""
    settings = current_context().settings
    canonical = urlsplit(settings.service_url).netloc
    if request.headers.get("host") != canonical:  # the issuer sends it back there, where its cookies must be
        return RedirectResponse(f"{settings.service_url.rstrip('/')}{START}?{request.url.query}")
    request.session["next"] = own_address(next_)
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await _client(settings).authorize_redirect(  # type: ignore[no-any-return]
                request, f"{settings.service_url.rstrip('/')}{CALLBACK}"
            )
    except (httpx2.HTTPError, OAuthError, TimeoutError) as error:
        raise _unavailable(error) from error


@router.get(CALLBACK)
async def finish_sign_in(request: Request, engine: Database) -> Response:
    """Open a session for the user that the issuer has sent back."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            token = await _client(current_context().settings).authorize_access_token(request)  # type: ignore[no-untyped-call]
    except (httpx2.HTTPError, TimeoutError) as error:
        raise _unavailable(error) from error
    except (OAuthError, JoseError) as error:
        _LOG.warning("a sign-in failed: %s", error)
        raise Forbidden(f"the sign-in failed ({error.error}): begin again at {SIGN_IN}") from error
    user = subject_in(token.get("userinfo") or {})
    session = await run_in_threadpool(open_session, engine, user)
    address = request.session.pop("next", "/")
    return await run_in_threadpool(_signed_in, request, engine, session, address)


@router.post(f"{SIGN_IN}/organisation")
def change_organisation(
    request: Request,
    engine: Database,
    _: Annotated[Caller, Depends(acts(Permission.READ))],
    organisation: Annotated[str, Form(max_length=1000)],
) -> Response:
    """Continue in another organisation of the user."""
    move_session(engine, request.cookies[COOKIE], organisation)
    return RedirectResponse("/", HTTPStatus.SEE_OTHER)


@router.post("/sign-out")
def sign_out(request: Request, engine: Database) -> Response:
    """End the session."""
    refuse_other_sites(request)
    token = request.cookies.get(COOKIE)
    if token is not None:
        end_session(engine, token)
    response = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER)
    response.delete_cookie(COOKIE)
    return response


def state_key(settings: Settings) -> str:
    """Return the key that signs the cookie of a sign-in on its way to the issuer and back."""
    if settings.alert_secret is not None:
        return f"sign-in/{settings.alert_secret.get_secret_value()}"
    return state_file(settings.home.expanduser().resolve() / "sign-in.key", secrets.token_urlsafe)


def _client(settings: Settings) -> StarletteOAuth2App:
    """Return the client of the issuer: authorization code with PKCE. Raises RequestRefused without an issuer."""
    access = settings.access
    if access.issuer is None:
        raise RequestRefused(
            HTTPStatus.NOT_FOUND,
            "no issuer is configured (HEADRACE_ACCESS__ISSUER), which would sign users in",
        )
    secret = access.client_secret
    client: StarletteOAuth2App = OAuth().register(
        "issuer",
        client_id=access.client_id,
        client_secret=secret and secret.get_secret_value(),
        server_metadata_url=f"{access.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid",
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
        },
        jwks_uri=access.jwks,
    )
    return client


def _signed_in(request: Request, engine: Engine, token: str, address: str) -> Response:
    """Give the browser its new session, and end the one that it had."""
    former = request.cookies.get(COOKIE)
    if former is not None:
        end_session(engine, former)
    response = RedirectResponse(own_address(address), HTTPStatus.SEE_OTHER)
    set_session(response, token)
    return response


def _is_development(request: Request, settings: Settings) -> bool:
    """Return True for a browser on this machine, of a deployment that is not in production and has no issuer.

    A page of another site cannot reach it by a name of its own for this machine.
    """
    client = request.client.host if request.client else ""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    passed_on = {"forwarded", "x-forwarded-for"} & set(request.headers.keys())
    return (
        not settings.is_production
        and settings.access.issuer is None
        and client in _LOOPBACK
        and host in _LOOPBACK
        and not passed_on
    )


def _unavailable(error: Exception) -> RequestRefused:
    _LOG.warning("the issuer is unavailable: %s", error)
    return RequestRefused(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the issuer, which signs users in, is unavailable: try again shortly",
        headers={"Retry-After": "5"},
    )
