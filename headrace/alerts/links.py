"""Signed links with which the recipient of a notification acknowledges its alert."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import jwt

from headrace.alerts.rules import Recipient
from headrace.errors import CatalogError
from headrace.settings import Settings, state_file

PATH = "/alerts/acknowledge"
LIFETIME = timedelta(days=7)
_AUDIENCE = "headrace-alert"


class WrongLink(CatalogError):
    """A link that was not issued here, or that has expired."""


@dataclass(frozen=True, slots=True)
class AcknowledgeLink:
    """The claims of a link: the alert, its organisation, and the recipient."""

    alert_id: UUID
    organisation: str
    who: str


def secret(configured: Settings) -> str | None:
    """Return the signing key: from the settings or, outside production, a local key."""
    if configured.alert_secret is not None:
        return configured.alert_secret.get_secret_value()
    if configured.is_production:
        return None
    return state_file(configured.home.expanduser().resolve() / "alert-links.key", secrets.token_urlsafe)


def link(base: str, key: str, alert_id: UUID, organisation: str, recipient: Recipient, now: datetime) -> str:
    """Return the URL at which this recipient acknowledges the alert."""
    who = "/".join(filter(None, ("link", recipient.destination, recipient.address)))
    claims = {
        "aud": _AUDIENCE,
        "sub": str(alert_id),
        "org": organisation,
        "who": who,
        "exp": now + LIFETIME,
    }
    return f"{base.rstrip('/')}{PATH}?token={jwt.encode(claims, key, algorithm='HS256')}"


def read(token: str, key: str) -> AcknowledgeLink:
    """Verify a link's token. Raises WrongLink."""
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["HS256"],
            audience=_AUDIENCE,
            options={"require": ["exp", "sub", "org", "who"]},
        )
        return AcknowledgeLink(UUID(claims["sub"]), str(claims["org"]), str(claims["who"]))
    except jwt.ExpiredSignatureError as error:
        raise WrongLink("this link has expired: use `headrace alerts ack`") from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise WrongLink("this link is invalid or incomplete: copy it completely") from error
