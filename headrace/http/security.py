"""The authorization dependency that every route must have, and the table of required permissions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.access.authentication import caller_of, known_caller, local_caller
from headrace.access.callers import Caller, Permission
from headrace.access.errors import IssuerUnavailable, Unauthenticated
from headrace.access.issuers import Issuer, issuer
from headrace.context import Principal, current_context, set_principal
from headrace.database import connection as database
from headrace.database.row_security import NARROW_ROLE, ROLE
from headrace.errors import CatalogUnavailable, Forbidden
from headrace.http import problems

# Public: health, and the description of the API.
OPEN = frozenset(
    {
        "/health/live",
        "/health/ready",
        "/health/alerts",
        "/api/v1/openapi.json",
        "/api/v1/docs",
        "/api/v1/docs/oauth2-redirect",
    }
)
# Of the pages: their files, and the way in and out.
OPEN_PAGES = frozenset({"/static/{name}", "/sign-in", "/sign-in/start", "/sign-in/callback", "/sign-out"})
# No caller, but a signed link (`headrace.alerts.links`) or body (the webhook of OpenMetadata).
SIGNED = frozenset({"/alert", "/api/v1/openmetadata/events"})
ORGANISATION = "Headrace-Organisation"
_UNAUTHENTICATED = "send a token, as `Authorization: Bearer TOKEN`"
_UNAUTHENTICATED_BYTES = 64 * 1024  # of a body that is read before its token is verified
_SIGNED_BYTES = 1024 * 1024  # of a body that is read before its signature is verified
_BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="bearer",
    description="A user's token of the OpenID Connect issuer, a service's (hrs_...), or a run's (hrt_...).",
)


@dataclass(frozen=True, slots=True)
class RouteRule:
    """The permission of a route; None for a public one. by_session: a page, for the session of a browser."""

    method: str
    path: str
    permission: Permission | None
    by_session: bool = False


@dataclass(frozen=True, slots=True)
class _Guard:
    engine: Engine
    issuer: Issuer | None


class UnguardedRoute(Exception):
    """A route that has no `requires` and is not in the list of public routes."""


class Authorization:
    """Base of the dependencies that every route has one of: the permission that its caller must have."""

    by_session = False  # the session of a browser instead of a token

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    def admit(self, request: Request, caller: Caller) -> Caller:
        """Return the caller; for the rest of the request, PostgreSQL shows only that caller's rows.

        Raises Forbidden.
        """
        request.state.caller = caller
        caller.require(self.permission)
        set_principal(_principal(caller, self.permission, str(getattr(request.state, "request_id", ""))))
        return caller


class requires(Authorization):
    """Dependency of a route: returns its caller, who sent a token and has the permission.

    An unknown caller gets 401, one without the permission 403.
    """

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
        organisation: Annotated[
            str | None,
            Header(alias=ORGANISATION, description="The organisation, for users who belong to several."),
        ] = None,
    ) -> Caller:
        """Return the caller. Raises Unauthenticated, Forbidden, CatalogUnavailable."""
        if credentials is None:
            raise Unauthenticated(_UNAUTHENTICATED)
        return self.admit(request, await _verified(request, credentials.credentials, organisation))


class AuthenticatedBodies:
    """ASGI middleware: reads a large body only for a valid token, since many without one would fill the memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or answer 401, 403 or 503 without having read its body."""
        if scope["type"] == "http" and _has_large_body(scope):
            request = Request(scope)
            try:
                await _authenticate(request)
            except Unauthenticated as error:
                await _unauthenticated(request, error)(scope, receive, send)
                return
            except Forbidden as error:
                await _forbidden(request, error)(scope, receive, send)
                return
            except IssuerUnavailable as error:
                await _issuer_unavailable(request, error)(scope, receive, send)
                return
            except CatalogUnavailable:
                await problems.unavailable(scope)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _has_large_body(scope: Scope) -> bool:
    length = Headers(scope=scope).get("content-length", "")
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return False
    is_signed = scope["path"] in SIGNED
    if length.isdecimal():
        return int(length) > (_SIGNED_BYTES if is_signed else _UNAUTHENTICATED_BYTES)
    return not is_signed and "transfer-encoding" in Headers(scope=scope)


async def _authenticate(request: Request) -> None:
    credentials = await _BEARER(request)
    if credentials is None:
        if not (_is_local(request) and local_caller(Permission.REPORT)):
            raise Unauthenticated(_UNAUTHENTICATED)
        return
    await _verified(request, credentials.credentials, request.headers.get(ORGANISATION))


async def _verified(request: Request, token: str, organisation: str | None) -> Caller:
    """Return the caller of a token. Raises Unauthenticated, Forbidden, IssuerUnavailable, CatalogUnavailable."""
    caller = known_caller(token, organisation)
    if caller is None:
        guard: _Guard = request.app.state.guard
        caller = await run_in_threadpool(caller_of, guard.engine, guard.issuer, token, organisation)
    return caller


class requires_or_local(requires):
    """Dependency like `requires`, but a local request needs no token unless the deployment is in production."""

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
        organisation: Annotated[
            str | None,
            Header(alias=ORGANISATION, description="The organisation, for users who belong to several."),
        ] = None,
    ) -> Caller:
        """Return the caller. Raises Unauthenticated, Forbidden, CatalogUnavailable."""
        if credentials is None and _is_local(request):
            caller = local_caller(self.permission)
            if caller is not None:
                return self.admit(request, caller)
        return await super().__call__(request, credentials, organisation)


def _is_local(request: Request) -> bool:
    """Return True for a local program: no proxy for another host, and no browser on behalf of a web page."""
    host = request.client.host if request.client else ""
    passed_on = {"origin", "sec-fetch-site", "forwarded", "x-forwarded-for", "authorization"}
    return host in {"127.0.0.1", "::1"} and passed_on.isdisjoint(request.headers.keys())


def install(app: FastAPI) -> None:
    """Install authentication. Call it after all routes are added. Raises UnguardedRoute for routes without a
    permission."""
    unguarded = [
        f"{rule.method} {rule.path}"
        for rule in rules(app)
        if rule.permission is None and rule.path not in OPEN | OPEN_PAGES | SIGNED
    ]
    if unguarded:
        raise UnguardedRoute(f"routes that require no permission: {', '.join(unguarded)}")
    app.add_exception_handler(Unauthenticated, _unauthenticated)
    app.add_exception_handler(Forbidden, _forbidden)
    app.add_exception_handler(IssuerUnavailable, _issuer_unavailable)


def connect(app: FastAPI, engine: Engine) -> None:
    """Authenticate callers by the catalog of the engine and the configured issuer."""
    app.state.guard = _Guard(engine, issuer(current_context().settings))


def rules(app: FastAPI) -> list[RouteRule]:
    """Return the permission of each route of the application, by path and method."""
    found = [
        RouteRule(
            method,
            str(route.path),
            guard.permission if guard else None,
            guard is not None and guard.by_session,
        )
        for route in iter_route_contexts(app.routes)
        for guard in [next(_authorizations(getattr(route, "dependant", None)), None)]
        for method in sorted(route.methods or {"ANY"})
    ]
    return sorted(found, key=lambda rule: (rule.path, rule.method))


def _authorizations(dependant: Dependant | None) -> Iterator[Authorization]:
    if dependant is None:
        return
    if isinstance(dependant.call, Authorization):
        yield dependant.call
    for each in dependant.dependencies:
        yield from _authorizations(each)


def _principal(caller: Caller, permission: Permission, request_id: str) -> Principal:
    """Return the principal: PostgreSQL shows it what the caller has the permission for.

    Reports see the whole organisation, since a run may touch datasets that its reporter does not see;
    `headrace.openlineage.permissions` checks what it may report.
    """
    scope = caller.scope(permission)
    assert scope is not None  # noqa: S101 - `require` was asked before
    everywhere = permission is Permission.REPORT
    return Principal(
        caller.organisation_id,
        caller.organisation,
        caller.subject,
        None if everywhere else scope.domains,
        frozenset() if everywhere else scope.datasets,
        request_id,
    )


def require_roles(engine: Engine) -> None:
    """Create the roles and policies of row-level security, including those for new tables. Raises
    CatalogUnavailable."""
    database.migrate(engine)
    with database.transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT array_agg(rolname) AS usable FROM pg_roles "
            "WHERE rolname = ANY (%s) AND pg_has_role(current_user, oid, 'MEMBER')",
            [[ROLE, NARROW_ROLE]],
        ).fetchone()
        user = cursor.connection.info.user
    usable = (row or {}).get("usable") or []
    if len(usable) < 2:
        raise CatalogUnavailable(
            f"PostgreSQL lacks the roles for row-level security, and {user} may not create them. Have an "
            f"administrator run: CREATE ROLE {ROLE} NOLOGIN; CREATE ROLE {NARROW_ROLE} NOLOGIN; "
            f"GRANT {ROLE}, {NARROW_ROLE} TO {user};"
        )


def _unauthenticated(request: Request, error: Exception) -> JSONResponse:
    return problems.answer(request.scope, 401, str(error), headers={"WWW-Authenticate": "Bearer"})


def _forbidden(request: Request, error: Exception) -> JSONResponse:
    return problems.answer(request.scope, 403, str(error))


def _issuer_unavailable(request: Request, error: Exception) -> JSONResponse:
    return problems.answer(
        request.scope, 503, str(error), headers={"Retry-After": str(problems.RETRY_SECONDS)}
    )
