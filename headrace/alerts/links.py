"""Signed links with which the recipient of a notification opens and acknowledges its alert without a token.

A link is short, since text messages and chats show it as it is: it has the notification's id, from which the catalog
knows alert and recipient, the time when it expires, and a signature.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headrace.errors import CatalogError
from headrace.settings import Settings, state_file

PATH = "/alert"
LIFETIME = timedelta(days=7)
_PURPOSE = b"headrace-alert"
_ID_BYTES, _TIME_BYTES, _SIGNATURE_BYTES = 16, 5, 15  # together without padding in base64


class WrongLink(CatalogError):
    """A link that was not issued here, or that has expired."""


def secret(configured: Settings) -> str | None:
    """Return the signing key: from the settings or, outside production, a local key."""
    if configured.alert_secret is not None:
        return configured.alert_secret.get_secret_value()
    if configured.is_production:
        return None
    return state_file(configured.home.expanduser().resolve() / "alert-links.key", secrets.token_urlsafe)


def link(base: str, key: str, notification_id: UUID, now: datetime) -> str:
    """Return the URL at which the recipient of the notification opens its alert."""
    expires = int((now + LIFETIME).timestamp())
    claims = notification_id.bytes + expires.to_bytes(_TIME_BYTES)
    token = urlsafe_b64encode(claims + _signature(claims, key)).decode()
    return f"{base.rstrip('/')}{PATH}?t={token}"


def read(token: str, key: str, now: datetime | None = None) -> UUID:
    """Verify a link's token, and return the id of its notification. Raises WrongLink."""
    invalid = WrongLink("this link is invalid or incomplete: copy the whole link")
    try:
        signed = urlsafe_b64decode(token.encode("ascii"))
    except ValueError as error:
        raise invalid from error
    claims, signature = signed[:-_SIGNATURE_BYTES], signed[-_SIGNATURE_BYTES:]
    if len(claims) != _ID_BYTES + _TIME_BYTES or not hmac.compare_digest(signature, _signature(claims, key)):
        raise invalid
    expires = int.from_bytes(claims[_ID_BYTES:])
    if expires < (now or datetime.now(UTC)).timestamp():
        raise WrongLink("this link has expired: open the alert in the catalog, or use `headrace alerts ack`")
    return UUID(bytes=claims[:_ID_BYTES])


def _signature(claims: bytes, key: str) -> bytes:
    return hmac.digest(key.encode(), _PURPOSE + claims, "sha256")[:_SIGNATURE_BYTES]
