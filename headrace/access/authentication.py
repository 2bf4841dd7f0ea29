"""Turn a bearer token into a caller: users through their issuer, services and runs through Headrace's own tokens."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from headrace.access.callers import (
    EVERY_DOMAIN,
    ROLES,
    Caller,
    CallerKind,
    Capability,
    Grant,
    Permission,
    Role,
)
from headrace.access.errors import Unauthenticated
from headrace.access.grants import USER, no_role
from headrace.access.issuers import Issuer
from headrace.access.token_cache import admit, admitted, refuse
from headrace.access.tokens import SERVICE, ParsedToken, parse_token
from headrace.context import act_as, current_context
from headrace.database.connection import transaction
from headrace.errors import Forbidden

_USE_NOTED = timedelta(hours=1)
# Permissions of a run beyond its own inputs and outputs; `headrace.openlineage.permissions` restricts them to the run.
_OF_A_TASK = Grant(EVERY_DOMAIN, frozenset({Permission.REPORT}))

_SERVICE = """
SELECT token.*, organisation.name AS organisation
FROM catalog.service_token token
JOIN catalog.organisation USING (organisation_id)
WHERE token_id = %s
"""
_TASK = """
SELECT token.*, organisation.name AS organisation
FROM catalog.task_token token
JOIN catalog.organisation USING (organisation_id)
WHERE token_id = %s
"""
_USER = """
SELECT organisation_id, organisation.name AS organisation, role, domain
FROM catalog.access_grant
JOIN catalog.organisation USING (organisation_id)
WHERE subject = %s AND revoked_at IS NULL
"""


def caller_of(engine: Engine, issuer: Issuer | None, token: str, organisation: str | None = None) -> Caller:
    """Return the caller that the token belongs to. organisation: the requested one, if the user belongs to several.

    Raises Unauthenticated for an invalid, expired or revoked token, Forbidden for a user without a role, and for a
    service or run of another organisation.
    """
    with act_as(None):
        ours = parse_token(token)
        if ours is None:
            return _user(engine, issuer, token, organisation)
        caller = _service(engine, ours) if ours.prefix == SERVICE else _task(engine, ours)
    _require_same(caller, organisation)
    return caller


def local_caller(permission: Permission) -> Caller | None:
    """Return the caller of a local request without a token; None in production, where a token is required."""
    here = current_context().settings
    if here.is_production:
        return None
    grant = Grant(EVERY_DOMAIN, frozenset({permission}))
    return Caller("local", CallerKind.LOCAL, current_context().organisation_id, here.organisation, (grant,))


def known_caller(token: str, organisation: str | None = None) -> Caller | None:
    """Return the service that sent the token, if it was admitted recently, without a database query.

    Raises Forbidden for a service of another organisation than the requested one.
    """
    ours = parse_token(token)
    caller = None if ours is None else admitted(ours.digest)
    if caller is not None:
        _require_same(caller, organisation)
    return caller


def _require_same(caller: Caller, organisation: str | None) -> None:
    if organisation not in (None, caller.organisation):
        raise Forbidden(f"{caller.subject} belongs to another organisation, not to {organisation}")


def _user(engine: Engine, issuer: Issuer | None, token: str, organisation: str | None) -> Caller:
    if issuer is None:
        raise Unauthenticated(
            "user tokens are not accepted, because no issuer is configured (HEADRACE_ACCESS__ISSUER); tokens of "
            "services and runs begin with hrs_ and hrt_"
        )
    subject = USER + issuer.subject(token)
    with transaction(engine) as cursor:
        rows = cursor.execute(_USER, [subject]).fetchall()
    chosen = _organisation(subject, {row["organisation"] for row in rows}, organisation)
    mine = [row for row in rows if row["organisation"] == chosen]
    grants = tuple(Grant(row["domain"], ROLES[role], role) for row in mine for role in [Role(row["role"])])
    return Caller(subject, CallerKind.USER, mine[0]["organisation_id"], chosen, grants)


def _organisation(subject: str, has: Iterable[str], wanted: str | None) -> str:
    """Return the user's organisation: the requested one, otherwise the configured one, otherwise the only one."""
    names = sorted(has)
    if wanted is not None:
        if wanted not in names:
            raise Forbidden(f"{subject} has no role in organisation {wanted}")
        return wanted
    if current_context().settings.organisation in names:
        return current_context().settings.organisation
    if not names:
        raise Forbidden(no_role(subject.removeprefix(USER)))
    if len(names) > 1:
        raise Forbidden(
            f"{subject} belongs to {', '.join(names)}: choose one with the header Headrace-Organisation"
        )
    return names[0]


def _service(engine: Engine, token: ParsedToken) -> Caller:
    row = _row(engine, _SERVICE, token)
    now = datetime.now(UTC)
    if row["revoked_at"] is not None:
        refuse(token.digest)
        raise Unauthenticated(f"the token of the service {row['name']} was revoked")
    if row["expires_at"] <= now:
        refuse(token.digest)
        raise Unauthenticated(
            f"the token of the service {row['name']} expired at {row['expires_at']:%Y-%m-%d %H:%MZ}"
        )
    if row["last_used_at"] is None or now - row["last_used_at"] > _USE_NOTED:
        _note_use(engine, token)
    grant = Grant(row["domain"], frozenset(map(Permission, row["permissions"])))
    caller = Caller(
        f"service:{row['name']}", CallerKind.SERVICE, row["organisation_id"], row["organisation"], (grant,)
    )
    admit(token.digest, caller, row["expires_at"])
    return caller


def _task(engine: Engine, token: ParsedToken) -> Caller:
    row = _row(engine, _TASK, token)
    if row["expires_at"] <= datetime.now(UTC):
        raise Unauthenticated(
            f"the token of the run {row['run_id']} ended at {row['expires_at']:%Y-%m-%d %H:%M:%SZ}, with its time or "
            "with the run"
        )
    capability = Capability(
        token.token_id,
        row["run_id"],
        frozenset(row["outputs"]),
        frozenset(row["inputs"]),
        row["expires_at"],
    )
    return Caller(
        f"task:{row['run_id']}",
        CallerKind.TASK,
        row["organisation_id"],
        row["organisation"],
        (_OF_A_TASK,),
        capability,
    )


def _row(engine: Engine, query: str, token: ParsedToken) -> dict[str, Any]:
    with transaction(engine) as cursor:
        row = cursor.execute(query, [token.token_id]).fetchone()
    if row is None or not token.is_that_of(bytes(row["secret_digest"])):
        raise Unauthenticated("this catalog did not issue the token")
    return row


def _note_use(engine: Engine, token: ParsedToken) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.service_token SET last_used_at = now() WHERE token_id = %s", [token.token_id]
        )
