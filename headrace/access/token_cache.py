"""A short-lived cache of service tokens, so that frequent reporters do not cost a query per request.

A token that another process revokes ends within two seconds, however often it is sent; one that this process revokes,
or finds revoked, at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.access.callers import Caller

_CACHE_SECONDS = 1.0  # after which the service is asked for again
_MAX_STALE_SECONDS = 2.0  # how long a stale entry is accepted during a refresh
_REFRESH_SECONDS = 0.1
_MAX_SERVICES = 1000  # services


@dataclass(slots=True)
class _CachedService:
    """A cached service. again: when to refresh. until: when the entry expires even during a refresh."""

    caller: Caller
    again: float
    until: float


_CACHE: dict[bytes, _CachedService] = {}  # by the digest of the token's secret


def admit(digest: bytes, caller: Caller, expires_at: datetime) -> None:
    """Let the service in for a moment, and not beyond the end of its token."""
    if len(_CACHE) >= _MAX_SERVICES:
        _CACHE.clear()
    now, left = time.monotonic(), (expires_at - datetime.now(UTC)).total_seconds()
    _CACHE[digest] = _CachedService(
        caller, now + min(_CACHE_SECONDS, left), now + min(_MAX_STALE_SECONDS, left)
    )


def admitted(digest: bytes) -> Caller | None:
    """The service, if it was let in a moment ago; None for one to ask for."""
    known, now = _CACHE.get(digest), time.monotonic()
    if known is None or now >= known.until:
        return None
    if now < known.again:
        return known.caller
    known.again = now + _REFRESH_SECONDS  # who asks while this one asks for it need not do so too
    return None


def refuse(digest: bytes) -> None:
    """Let the service in no longer."""
    _CACHE.pop(digest, None)


def forget() -> None:
    """Ask for every service again."""
    _CACHE.clear()
