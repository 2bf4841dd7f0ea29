"""A short-lived cache of service tokens, so that frequent reporters do not cost a query per request.

A token revoked by another process stops working within two seconds, however often it is sent; one that this process
revokes, or finds revoked, immediately.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.access.callers import Caller

_CACHE_SECONDS = 1.0  # age after which an entry is refreshed
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
    """Admit the service for a short time, not beyond the expiry of its token."""
    if len(_CACHE) >= _MAX_SERVICES:
        _CACHE.clear()
    now, left = time.monotonic(), (expires_at - datetime.now(UTC)).total_seconds()
    _CACHE[digest] = _CachedService(
        caller, now + min(_CACHE_SECONDS, left), now + min(_MAX_STALE_SECONDS, left)
    )


def admitted(digest: bytes) -> Caller | None:
    """Return the service if it was admitted recently; None if it must be looked up."""
    known, now = _CACHE.get(digest), time.monotonic()
    if known is None or now >= known.until:
        return None
    if now < known.again:
        return known.caller
    known.again = now + _REFRESH_SECONDS  # concurrent requests use the stale entry during this refresh
    return None


def refuse(digest: bytes) -> None:
    """Stop admitting the service."""
    _CACHE.pop(digest, None)


def forget() -> None:
    """Clear the cache."""
    _CACHE.clear()
