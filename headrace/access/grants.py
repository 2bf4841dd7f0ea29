"""Organisations, and the roles of people in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.audit import sign
from headrace.access.callers import EVERY_DOMAIN, Role
from headrace.access.errors import AccessRefused
from headrace.context import current_context, organisation_named
from headrace.database.connection import transaction

USER = "user:"

_GRANT = """
INSERT INTO catalog.access_grant (organisation_id, subject, role, domain, granted_by) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (subject, organisation_id, role, domain) WHERE revoked_at IS NULL DO NOTHING
"""
_REVOKE = """
UPDATE catalog.access_grant SET revoked_at = now(), revoked_by = %s
WHERE organisation_id = %s AND subject = %s AND role = %s AND domain = %s AND revoked_at IS NULL
"""
_GRANTS = """
SELECT organisation.name AS organisation, subject, role, domain, granted_by, granted_at
FROM catalog.access_grant
JOIN catalog.organisation USING (organisation_id)
WHERE revoked_at IS NULL AND (%(subject)s::text IS NULL OR subject = %(subject)s)
ORDER BY organisation.name, subject, role, domain
"""


def no_role(user: str) -> str:
    """Return the message for a user without a role."""
    return (
        f"{user} has no role in any organisation: an administrator grants one with "
        f"`headrace access grant {user} DATA_CONSUMER`"
    )


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A grant in force."""

    organisation: str
    subject: str
    role: Role
    domain: str
    granted_by: str
    granted_at: datetime


def grant(
    engine: Engine,
    user: str,
    role: Role,
    *,
    domain: str = EVERY_DOMAIN,
    organisation: str | None = None,
    by: str,
) -> None:
    """Give a user (the `sub` of the issuer's tokens) a role; no change if they already have it.

    organisation: by name, by default the configured one. Raises AccessRefused for an unknown organisation, or an
    administrator of a single domain.
    """
    if role is Role.PLATFORM_ADMIN and domain != EVERY_DOMAIN:
        raise AccessRefused(f"{role} applies to the whole organisation: omit the domain {domain}")
    if not user.strip() or "\x00" in user:
        raise AccessRefused("the user is empty: pass the `sub` of the issuer's tokens")
    with transaction(engine) as cursor:
        sign(cursor, by)
        known = require_organisation(cursor, organisation)
        cursor.execute(_GRANT, [organisation_named(known), USER + user, role, domain, by])


def revoke(
    engine: Engine,
    user: str,
    role: Role,
    *,
    domain: str = EVERY_DOMAIN,
    organisation: str | None = None,
    by: str,
) -> None:
    """Take a role from a user. Raises AccessRefused if they do not have it in this domain."""
    with transaction(engine) as cursor:
        sign(cursor, by)
        known = require_organisation(cursor, organisation)
        cursor.execute(_REVOKE, [by, organisation_named(known), USER + user, role, domain])
        if cursor.rowcount == 0:
            raise AccessRefused(
                f"{user} does not have {role} for {domain} in organisation {known}; `headrace access grants` lists "
                "what is granted"
            )


def grants(engine: Engine, user: str | None = None) -> list[GrantRow]:
    """Return the grants in force in every organisation, of one user or of all."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_GRANTS, {"subject": None if user is None else USER + user}).fetchall()
    return [GrantRow(**{**row, "role": Role(row["role"])}) for row in rows]


def add_organisation(engine: Engine, name: str, *, by: str) -> bool:
    """Create an organisation; returns False if it exists. Raises AccessRefused for an invalid name."""
    if not name.strip() or "\x00" in name:
        raise AccessRefused("the name of the organisation is empty")
    with transaction(engine) as cursor:
        sign(cursor, by)
        return _add(cursor, name)


def organisations(engine: Engine) -> list[str]:
    """Return the names of all organisations."""
    with transaction(engine) as cursor:
        return _names(cursor)


def require_organisation(cursor: Cursor[Any], name: str | None) -> str:
    """Return the name; by default that of the configured organisation, created if needed. Raises AccessRefused."""
    if name is None or name == current_context().settings.organisation:
        _add(cursor, current_context().settings.organisation)
        return current_context().settings.organisation
    known = _names(cursor)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise AccessRefused(
            f"there is no organisation {name!r}.{hint} `headrace access organisation {name}` creates it."
        )
    return name


def _add(cursor: Cursor[Any], name: str) -> bool:
    cursor.execute(
        "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        [organisation_named(name), name],
    )
    return cursor.rowcount == 1


def _names(cursor: Cursor[Any]) -> list[str]:
    rows: Sequence[Any] = cursor.execute("SELECT name FROM catalog.organisation ORDER BY name").fetchall()
    return [str(row["name"]) for row in rows]
