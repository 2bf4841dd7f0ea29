"""Tokens that the catalog issues: for services and for single runs. Only digests are stored.

A token is `<prefix>_<id>_<secret>`, with the prefix `hrs` or `hrt`, so that secret scanners can recognise it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
from sqlalchemy import Engine

from headrace.access import token_cache as admitted
from headrace.access.audit import sign
from headrace.access.callers import EVERY_DOMAIN, Permission
from headrace.access.errors import AccessRefused
from headrace.access.grants import require_organisation
from headrace.context import current_context, organisation_named
from headrace.database.connection import transaction

SERVICE, TASK = "hrs", "hrt"
MAX_SERVICE_TOKEN_LIFETIME = timedelta(days=366)
MAX_TASK_TOKEN_LIFETIME = timedelta(hours=24)
TASK_LEASE = timedelta(minutes=10)  # of a run of Headrace, which renews it while it is alive
TASK_GRACE = timedelta(seconds=30)  # after the end of the run; the same as in catalog.end_task_tokens

_ISSUE_SERVICE = """
INSERT INTO catalog.service_token (
    token_id, organisation_id, name, domain, permissions, secret_digest, issued_by, expires_at
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
_ISSUE_TASK = """
INSERT INTO catalog.task_token (
    token_id, organisation_id, run_id, outputs, inputs, secret_digest, issued_by, expires_at
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
_HAS_SUCCEEDED = """
SELECT FROM catalog.process_run WHERE run_id = %s AND organisation_id = %s AND status = 'SUCCESS'
"""
_FORGET_TASKS = """
DELETE FROM catalog.task_token WHERE token_id IN (
    SELECT token_id FROM catalog.task_token WHERE expires_at < now() - interval '1 day' LIMIT 100 FOR UPDATE SKIP LOCKED
)
"""
# Not for a run that has ended, nor beyond MAX_TASK_TOKEN_LIFETIME.
_RENEW_TASK = """
UPDATE catalog.task_token SET expires_at = least(greatest(expires_at, now() + %s), issued_at + %s)
WHERE token_id = %s AND secret_digest = %s AND expires_at > now()
"""
_REVOKE_SERVICE = """
UPDATE catalog.service_token SET revoked_at = now(), revoked_by = %s
WHERE organisation_id = %s AND name = %s AND revoked_at IS NULL
"""
_SERVICES = """
SELECT organisation.name AS organisation, token.name, domain, permissions, issued_by, issued_at, expires_at,
       last_used_at
FROM catalog.service_token token
JOIN catalog.organisation USING (organisation_id)
WHERE revoked_at IS NULL
ORDER BY organisation.name, token.name
"""


@dataclass(frozen=True, slots=True)
class ServiceTokenRow:
    """A service token that is not revoked; last_used_at is exact to an hour."""

    organisation: str
    name: str
    domain: str
    permissions: tuple[Permission, ...]
    issued_by: str
    issued_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class ParsedToken:
    """A Headrace token, parsed."""

    prefix: str
    token_id: UUID
    digest: bytes

    def is_that_of(self, digest: bytes) -> bool:
        """Return True if its secret matches this digest; compared in constant time."""
        return hmac.compare_digest(self.digest, digest)


def issue_service_token(
    engine: Engine,
    name: str,
    permissions: Iterable[Permission],
    *,
    domain: str = EVERY_DOMAIN,
    organisation: str | None = None,
    lifetime: timedelta = timedelta(days=90),
    by: str,
) -> str:
    """Issue a token for the service `name`. The token is returned only here.

    Raises AccessRefused if the service has a token, no permission is given, or the lifetime exceeds
    MAX_SERVICE_TOKEN_LIFETIME.
    """
    allowed = sorted(set(permissions))
    if not allowed:
        raise AccessRefused(f"give {name} at least one permission: {', '.join(Permission)}")
    if not timedelta() < lifetime <= MAX_SERVICE_TOKEN_LIFETIME:
        raise AccessRefused(f"a service token lasts {MAX_SERVICE_TOKEN_LIFETIME.days} days at most")
    if not name.strip() or "\x00" in name:
        raise AccessRefused("the name of the service is empty")
    token, parse_token = _new(SERVICE)
    expires_at = datetime.now(UTC) + lifetime
    try:
        with transaction(engine) as cursor:
            sign(cursor, by)
            known = require_organisation(cursor, organisation)
            cursor.execute(
                _ISSUE_SERVICE,
                [
                    parse_token.token_id,
                    organisation_named(known),
                    name,
                    domain,
                    [permission.value for permission in allowed],
                    parse_token.digest,
                    by,
                    expires_at,
                ],
            )
    except psycopg.errors.UniqueViolation as error:
        raise AccessRefused(
            f"the service {name} has a token already; `headrace access revoke-token {name}` revokes it"
        ) from error
    return token


def revoke_service_token(engine: Engine, name: str, *, organisation: str | None = None, by: str) -> None:
    """Revoke the token of the service `name`. Raises AccessRefused if it has none."""
    with transaction(engine) as cursor:
        sign(cursor, by)
        known = require_organisation(cursor, organisation)
        cursor.execute(_REVOKE_SERVICE, [by, organisation_named(known), name])
        if cursor.rowcount == 0:
            raise AccessRefused(
                f"the service {name} has no token in organisation {known}; `headrace access tokens` lists tokens"
            )
    admitted.forget()


def service_tokens(engine: Engine) -> list[ServiceTokenRow]:
    """Return the tokens that are not revoked, of every organisation."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_SERVICES).fetchall()
    return [
        ServiceTokenRow(**{**row, "permissions": tuple(map(Permission, row["permissions"]))}) for row in rows
    ]


def issue_task_token(
    engine: Engine,
    run_id: UUID,
    outputs: Collection[str],
    inputs: Collection[str] = (),
    *,
    lifetime: timedelta = timedelta(hours=1),
    by: str,
) -> str:
    """Issue a token for reporting the run and its child runs with these outputs, and for reading only its datasets.

    It ends with its lifetime, or TASK_GRACE after the end of the run, whichever comes first. Raises AccessRefused for a
    lifetime longer than MAX_TASK_TOKEN_LIFETIME, and for a run that has succeeded; a failed one may be retried.
    """
    if not timedelta() < lifetime <= MAX_TASK_TOKEN_LIFETIME:
        raise AccessRefused(
            f"a task token lasts {MAX_TASK_TOKEN_LIFETIME.total_seconds() / 3600:.0f} hours at most"
        )
    token, parse_token = _new(TASK)
    with transaction(engine) as cursor:
        require_organisation(cursor, None)
        if cursor.execute(_HAS_SUCCEEDED, [run_id, current_context().organisation_id]).fetchone() is not None:
            raise AccessRefused(f"run {run_id} has succeeded, and has nothing more to report")
        cursor.execute(_FORGET_TASKS)
        cursor.execute(
            _ISSUE_TASK,
            [
                parse_token.token_id,
                current_context().organisation_id,
                run_id,
                sorted(outputs),
                sorted(inputs),
                parse_token.digest,
                by,
                datetime.now(UTC) + lifetime,
            ],
        )
    return token


def renew_task_token(engine: Engine, token: str) -> bool:
    """Extend a token to TASK_LEASE from now, MAX_TASK_TOKEN_LIFETIME in total; returns False if it has ended."""
    ours = parse_token(token)
    if ours is None or ours.prefix != TASK:
        raise AccessRefused("not a run token")
    with transaction(engine) as cursor:
        cursor.execute(_RENEW_TASK, [TASK_LEASE, MAX_TASK_TOKEN_LIFETIME, ours.token_id, ours.digest])
        return cursor.rowcount == 1


def parse_token(token: str) -> ParsedToken | None:
    """Parse a Headrace token; returns None for any other token."""
    prefix, _, rest = token.partition("_")
    identifier, _, secret = rest.partition("_")
    if prefix not in (SERVICE, TASK) or len(identifier) != 32 or not secret:
        return None
    try:
        return ParsedToken(prefix, UUID(hex=identifier), digest_of(secret))
    except ValueError:
        return None


def _new(prefix: str) -> tuple[str, ParsedToken]:
    token_id, secret = uuid4(), secrets.token_urlsafe(32)
    return f"{prefix}_{token_id.hex}_{secret}", ParsedToken(prefix, token_id, digest_of(secret))


def digest_of(secret: str) -> bytes:
    """Digest a secret. With 256 random bits it cannot be guessed, so a slow hash is unnecessary."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
