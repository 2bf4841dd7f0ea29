"""The services that were let in a moment ago: a service that reports often is not asked for at PostgreSQL each time.

A token that another process revokes so ends within seconds; one that this process revokes, at once.
"""

from __future__ import annotations

import time

from catalog.access.callers import Caller

_SECONDS = 1.0
_ASKING = 0.1
_MOST = 1000  # services
_ADMITTED: dict[bytes, tuple[float, Caller]] = {}  # by the digest of the token's secret


def admit(digest: bytes, caller: Caller) -> None:
    """Let the service in for a moment."""
    if len(_ADMITTED) >= _MOST:
        _ADMITTED.clear()
    _ADMITTED[digest] = (time.monotonic() + _SECONDS, caller)


def admitted(digest: bytes) -> Caller | None:
    """The service, if it was let in a moment ago."""
    until, caller = _ADMITTED.get(digest, (0.0, None))
    now = time.monotonic()
    if caller is None or now < until:
        return caller
    if now < until + _SECONDS:  # who asks while this one asks for it need not do so too
        _ADMITTED[digest] = (now + _ASKING, caller)
    else:
        _ADMITTED.pop(digest, None)
    return None


def forget() -> None:
    """Ask for every service again."""
    _ADMITTED.clear()
