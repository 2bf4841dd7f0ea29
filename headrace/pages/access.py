"""Who may do what: roles, tokens of services, and the audit trail."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import ROLES, Caller, Permission, Role
from headrace.access.grants import USER
from headrace.api.access import (
    RoleOfUser,
    ServiceName,
    TokenRequest,
    give_role,
    issue_token,
    list_grants,
    list_tokens,
    revoke_token,
    take_role,
)
from headrace.api.audit import list_audit
from headrace.api.paging import Cursor
from headrace.api.subjects import Database
from headrace.http.problems import RequestRefused
from headrace.pages.forms import body
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import acts, signed_in

router = APIRouter(include_in_schema=False)
Viewer = Annotated[Caller, Depends(signed_in(Permission.GRANT))]
Granter = Annotated[Caller, Depends(acts(Permission.GRANT))]
Auditor = Annotated[Caller, Depends(signed_in(Permission.AUDIT))]
Text = Annotated[str, Form(max_length=1000)]


@router.get("/access")
def show_access(request: Request, engine: Database, caller: Viewer) -> Response:
    """Show who has which role, and the tokens of services."""
    return _access(request, engine, caller)


@router.post("/access/grant")
def grant_role(
    engine: Database, caller: Granter, user: Text, role: Annotated[Role, Form()], domain: Text = ""
) -> Response:
    """Give a role."""
    if user.strip().startswith(USER):
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"write the user as {user.strip().removeprefix(USER)}: the pages add {USER}",
            field="body.user",
        )
    give_role(engine, caller, body(RoleOfUser, user=user.strip(), role=role, domain=domain.strip() or "*"))
    return RedirectResponse("/access", HTTPStatus.SEE_OTHER)


@router.post("/access/revoke")
def revoke_role(
    engine: Database, caller: Granter, user: Text, role: Annotated[Role, Form()], domain: Text
) -> Response:
    """Take a role."""
    take_role(engine, caller, body(RoleOfUser, user=user, role=role, domain=domain))
    return RedirectResponse("/access", HTTPStatus.SEE_OTHER)


@router.post("/access/token")
def issue_service_token(
    request: Request,
    engine: Database,
    caller: Granter,
    name: Text,
    permissions: Annotated[list[Permission], Form()],
    days: Annotated[int, Form()],
    domain: Text = "",
) -> Response:
    """Issue a token, and show it this once."""
    asked = body(
        TokenRequest, name=name.strip(), permissions=permissions, domain=domain.strip() or "*", days=days
    )
    return _access(request, engine, caller, issued=issue_token(engine, caller, asked))


@router.post("/access/token/revoke")
def revoke_service_token(engine: Database, caller: Granter, name: Text) -> Response:
    """Revoke the token of a service."""
    revoke_token(engine, caller, body(ServiceName, name=name))
    return RedirectResponse("/access", HTTPStatus.SEE_OTHER)


@router.get("/audit")
def show_audit(
    request: Request,
    engine: Database,
    caller: Auditor,
    subject: Annotated[str, Query(max_length=300)] = "",
    of: Annotated[str, Query(max_length=4000)] = "",
    cursor: Cursor = None,
) -> Response:
    """Show who changed what, and who read sensitive values."""
    entries = answered(list_audit(engine, caller, subject or None, of or None, cursor))
    return page(request, "audit.html", entries=entries, subject=subject, of=of)


def _access(request: Request, engine: Database, caller: Caller, issued: object = None) -> Response:
    return page(
        request,
        "access.html",
        grants=answered(list_grants(engine, caller)),
        tokens=answered(list_tokens(engine, caller)),
        roles=ROLES,
        permissions=list(Permission),
        issued=issued,
    )
