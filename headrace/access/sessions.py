"""Sessions of browsers on the pages: who signed in, in which organisation, and until when.

The browser has a random token in a cookie, the catalog only its digest. What the user may do is read with every
request, so that a session can do no more than the user's grants of that moment.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from headrace.access.callers import EVERY_DOMAIN, ROLES, Caller, CallerKind, Grant, Role
from headrace.access.errors import Unauthenticated
from headrace.access.grants import USER, no_role, require_organisation
from headrace.access.sql import statement
from headrace.access.tokens import digest_of
from headrace.context import act_as, current_context, organisation_named
from headrace.database.connection import transaction
from headrace.errors import Forbidden

SESSION_LIFETIME = timedelta(hours=12)
_ORGANISATIONS = """
SELECT DISTINCT organisation.name FROM catalog.access_grant
JOIN catalog.organisation USING (organisation_id)
WHERE subject = %s AND revoked_at IS NULL
ORDER BY name
"""
_OPEN = """
INSERT INTO catalog.page_session (digest, organisation_id, subject, role, expires_at) VALUES (%s, %s, %s, %s, %s)
"""
_MOVE = "UPDATE catalog.page_session SET organisation_id = %s, role = NULL WHERE digest = %s"
_END = "DELETE FROM catalog.page_session WHERE digest = %s OR expires_at < now()"


@dataclass(frozen=True, slots=True)
class Session:
    """An open session. form_token: what its forms must send along, which other sites cannot know.

    organisations: those in which the user has a role.
    """

    caller: Caller
    form_token: str
    expires_at: datetime
    organisations: tuple[str, ...]


def open_session(engine: Engine, user: str, role: Role | None = None) -> str:
    """Open a session of a user (the `sub` of the issuer) and return its token, which is not stored.

    role: in development, the role to try out; otherwise the user's grants apply, and the session begins in the
    configured organisation if they have a role there. Raises Forbidden for a user without a role.
    """
    token = secrets.token_urlsafe(32)
    with act_as(None):
        names = organisations_of(engine, user) if role is None else [current_context().settings.organisation]
        configured = current_context().settings.organisation
        if not names:
            raise Forbidden(no_role(user))
        chosen = organisation_named(configured if configured in names else names[0])
        expires_at = datetime.now(UTC) + SESSION_LIFETIME
        with transaction(engine) as cursor:
            require_organisation(cursor, None)
            cursor.execute(_OPEN, [digest_of(token), chosen, USER + user, role, expires_at])
    return token


def session_of(engine: Engine, token: str) -> Session:
    """Return the session of a cookie.

    Raises Unauthenticated for one that has ended, Forbidden if the user has lost all roles.
    """
    with act_as(None), transaction(engine) as cursor:
        rows = statement("session").execute(cursor, {"digest": digest_of(token)}).fetchall()
    if not rows or (rows[0]["session_role"] is not None and current_context().settings.is_production):
        raise Unauthenticated("the session has ended: sign in again")
    grants = _grants(rows)
    if not grants:
        raise Forbidden(no_role(rows[0]["subject"].removeprefix(USER)))
    first = rows[0]
    caller = Caller(
        first["subject"], CallerKind.USER, first["organisation_id"], first["organisation"], grants
    )
    return Session(caller, _form_token(token), first["expires_at"], tuple(first["organisations"]))


def move_session(engine: Engine, token: str, organisation: str) -> None:
    """Continue a session in another organisation of its user. Raises Forbidden if they have no role there."""
    session = session_of(engine, token)
    if organisation not in session.organisations:
        raise Forbidden(f"{session.caller.subject} has no role in organisation {organisation}")
    with act_as(None), transaction(engine) as cursor:
        cursor.execute(_MOVE, [organisation_named(organisation), digest_of(token)])


def end_session(engine: Engine, token: str) -> None:
    """End a session; those that have expired are forgotten."""
    with act_as(None), transaction(engine) as cursor:
        cursor.execute(_END, [digest_of(token)])


def organisations_of(engine: Engine, user: str) -> list[str]:
    """Return the organisations in which a user has a role, by name."""
    with act_as(None), transaction(engine) as cursor:
        return [row["name"] for row in cursor.execute(_ORGANISATIONS, [USER + user]).fetchall()]


def _grants(rows: Sequence[dict[str, Any]]) -> tuple[Grant, ...]:
    tried_out = rows[0]["session_role"]
    if tried_out is not None:
        role = Role(tried_out)
        return (Grant(EVERY_DOMAIN, ROLES[role], role),)
    return tuple(
        Grant(row["domain"], ROLES[role], role) for row in rows if row["role"] for role in [Role(row["role"])]
    )


def _form_token(token: str) -> str:
    return hmac.new(token.encode("utf-8", "surrogatepass"), b"forms", hashlib.sha256).hexdigest()
