"""The services that were let in a moment ago: a service that reports often is not asked for at PostgreSQL each time.

A token that another process revokes ends within two seconds, however often it is sent; one that this process revokes,
or finds revoked, at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.access.callers import Caller

_SECONDS = 1.0  # after which the service is asked for again
_LONGEST = 2.0  # until which it is let in while somebody asks
_ASKING = 0.1
_MOST = 1000  # services


@dataclass(slots=True)
class _Admitted:
    """A service; again: when it is to be asked for. until: when it is let in no longer, whoever is asking."""

    caller: Caller
    again: float
    until: float


_ADMITTED: dict[bytes, _Admitted] = {}  # by the digest of the token's secret


def admit(digest: bytes, caller: Caller, expires_at: datetime) -> None:
    """Let the service in for a moment, and not beyond the end of its token."""
    if len(_ADMITTED) >= _MOST:
        _ADMITTED.clear()
    now, left = time.monotonic(), (expires_at - datetime.now(UTC)).total_seconds()
    _ADMITTED[digest] = _Admitted(caller, now + min(_SECONDS, left), now + min(_LONGEST, left))


def admitted(digest: bytes) -> Caller | None:
    """The service, if it was let in a moment ago; None for one to ask for."""
    known, now = _ADMITTED.get(digest), time.monotonic()
    if known is None or now >= known.until:
        return None
    if now < known.again:
        return known.caller
    known.again = now + _ASKING  # who asks while this one asks for it need not do so too
    return None


def refuse(digest: bytes) -> None:
    """Let the service in no longer."""
    _ADMITTED.pop(digest, None)


def forget() -> None:
    """Ask for every service again."""
    _ADMITTED.clear()
