"""Routes for the roles of people, and the tokens of services, in the caller's organisation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access import grants, tokens
from headrace.access.callers import EVERY_DOMAIN, ROLES, Caller, Permission, Role, domain_of
from headrace.access.sensitivity import Public
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Reader
from headrace.context import act_as
from headrace.errors import Forbidden
from headrace.http.security import requires
from headrace.registration.registrations import StorableText as Text

router = APIRouter(prefix="/api/v1/access", tags=["access"])
GRANT = requires(Permission.GRANT)
Granter = Annotated[Caller, Depends(GRANT)]
Name = Annotated[Text, Field(min_length=1, max_length=255)]
Domain = Annotated[
    Text, Field(min_length=1, max_length=1000, description="A domain, or `*` for all of them.")
]


class RoleOfUser(BaseModel):
    """A role of a user (the `sub` of the issuer's tokens) in a domain, or in all of them (`*`)."""

    model_config = ConfigDict(extra="forbid")

    user: Name
    role: Role
    domain: Domain = EVERY_DOMAIN


class TokenRequest(BaseModel):
    """A token of a service: its permissions, in a domain or in all of them (`*`), and its lifetime in days."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    permissions: Annotated[list[Permission], Field(min_length=1)]
    domain: Domain = EVERY_DOMAIN
    days: Annotated[int, Field(ge=1, le=tokens.MAX_SERVICE_TOKEN_LIFETIME.days)] = 90


class ServiceName(BaseModel):
    """A service."""

    model_config = ConfigDict(extra="forbid")

    name: Name


@dataclass(frozen=True, slots=True)
class GrantInForce:
    """A role of a subject (`user:alice`) in a domain."""

    subject: Public[str]
    role: Role
    domain: Public[str]
    granted_by: Public[str]
    granted_at: datetime


@dataclass(frozen=True, slots=True)
class AccessRule:
    """A rule that lets a subject see a dataset: a role of a user, or a token of a service, in its domain or in all
    (`*`). by, at: who gave it, and when; null in a session for trying out a role. until: of a token."""

    subject: Public[str]
    role: Role | None
    domain: Public[str]
    permissions: Public[tuple[str, ...]]
    by: Public[str | None] = None
    at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class DatasetAccess:
    """Who may see a dataset. yours: the rules for the caller. sees_values: also the values of its sensitive columns.
    all: the rules for everyone; null for callers who may not grant in all domains."""

    organisation: Public[str]
    domain: Public[str]
    yours: list[AccessRule]
    sees_values: bool
    all: list[AccessRule] | None


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token of a service, without its secret."""

    name: Public[str]
    domain: Public[str]
    permissions: Public[tuple[str, ...]]
    issued_by: Public[str]
    issued_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token, which is shown only here."""

    name: Public[str]
    token: Public[str]


@router.get("/grant", summary="List who has which role", response_model=list[GrantInForce])
def list_grants(engine: Database, caller: Granter) -> Response:
    """List the roles of people, by subject."""
    _require_everywhere(caller)
    with act_as(None):
        rows = [row for row in grants.grants(engine) if row.organisation == caller.organisation]
    answer = [GrantInForce(row.subject, row.role, row.domain, row.granted_by, row.granted_at) for row in rows]
    return shown(engine, caller, answer)


@router.get(
    "/dataset/{dataset:path}", summary="Show who may see a dataset, and why", response_model=DatasetAccess
)
def show_dataset_access(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """Show by which rules the caller sees a dataset; with the permission `grant` for all domains, also all others who
    do. Runs see the datasets that they read and write, too."""
    yours = [
        AccessRule(caller.subject, each.role, each.domain, tuple(sorted(each.permissions)))
        for each in caller.admitting(Permission.READ, dataset.key)
    ]
    answer = DatasetAccess(
        organisation=caller.organisation,
        domain=domain_of(dataset.key),
        yours=yours,
        sees_values=caller.may(Permission.READ_SENSITIVE, dataset.key),
        all=_admitted(engine, caller, dataset.key) if caller.may_everywhere(Permission.GRANT) else None,
    )
    return shown(engine, caller, answer, dataset.key)


@router.post("/grant", summary="Give a role", response_model=list[GrantInForce])
def give_role(engine: Database, caller: Granter, asked: RoleOfUser) -> Response:
    """Give a user a role; no change if they have it. Returns all grants."""
    _require_everywhere(caller)
    with act_as(None):
        grants.grant(
            engine,
            asked.user,
            asked.role,
            domain=asked.domain,
            organisation=caller.organisation,
            by=caller.subject,
        )
    return list_grants(engine, caller)


@router.post("/revoke", summary="Take a role", response_model=list[GrantInForce])
def take_role(engine: Database, caller: Granter, asked: RoleOfUser) -> Response:
    """Take a role from a user, from the next request on. Returns all grants."""
    _require_everywhere(caller)
    with act_as(None):
        grants.revoke(
            engine,
            asked.user,
            asked.role,
            domain=asked.domain,
            organisation=caller.organisation,
            by=caller.subject,
        )
    return list_grants(engine, caller)


@router.get("/token", summary="List the tokens of services", response_model=list[ServiceToken])
def list_tokens(engine: Database, caller: Granter) -> Response:
    """List the tokens that are not revoked, without their secrets."""
    _require_everywhere(caller)
    with act_as(None):
        rows = [row for row in tokens.service_tokens(engine) if row.organisation == caller.organisation]
    answer = [
        ServiceToken(
            row.name,
            row.domain,
            row.permissions,
            row.issued_by,
            row.issued_at,
            row.expires_at,
            row.last_used_at,
        )
        for row in rows
    ]
    return shown(engine, caller, answer)


@router.post("/token", summary="Issue a token of a service", response_model=IssuedToken)
def issue_token(engine: Database, caller: Granter, asked: TokenRequest) -> IssuedToken:
    """Issue a token; it is shown only here."""
    _require_everywhere(caller)
    with act_as(None):
        token = tokens.issue_service_token(
            engine,
            asked.name,
            asked.permissions,
            domain=asked.domain,
            organisation=caller.organisation,
            lifetime=timedelta(days=asked.days),
            by=caller.subject,
        )
    return IssuedToken(asked.name, token)


@router.post("/token/revoke", summary="Revoke a token of a service", response_model=list[ServiceToken])
def revoke_token(engine: Database, caller: Granter, asked: ServiceName) -> Response:
    """Revoke the token of a service; it stops working within two seconds. Returns the tokens that are left."""
    _require_everywhere(caller)
    with act_as(None):
        tokens.revoke_service_token(engine, asked.name, organisation=caller.organisation, by=caller.subject)
    return list_tokens(engine, caller)


def _admitted(engine: Engine, caller: Caller, key: str) -> list[AccessRule]:
    """Return the rules by which users and services of the caller's organisation see a dataset."""
    domains = (EVERY_DOMAIN, domain_of(key))
    with act_as(None):
        roles = [each for each in grants.grants(engine) if each.organisation == caller.organisation]
        services = [
            each for each in tokens.service_tokens(engine) if each.organisation == caller.organisation
        ]
    return [
        *(
            AccessRule(
                each.subject,
                each.role,
                each.domain,
                tuple(sorted(ROLES[each.role])),
                each.granted_by,
                each.granted_at,
            )
            for each in roles
            if each.domain in domains
        ),
        *(
            AccessRule(
                f"service:{each.name}",
                None,
                each.domain,
                tuple(sorted(each.permissions)),
                each.issued_by,
                each.issued_at,
                each.expires_at,
            )
            for each in services
            if each.domain in domains and Permission.READ in each.permissions
        ),
    ]


def _require_everywhere(caller: Caller) -> None:
    """Raise Forbidden for a service that may grant in some domains only: it could give itself the others."""
    scope = caller.scope(Permission.GRANT)
    if scope is None or scope.domains is not None:
        raise Forbidden(f"{caller.subject} may grant only in some domains, but roles concern all of them")
