"""Signing keys of an OpenID Connect issuer: fetched on first use, cached for minutes, refreshed for unknown keys.

PyJWT verifies the tokens. Its PyJWKClient is not used: it fetches once for every unknown key id, follows redirects and
reads documents of any size, so that callers without a valid token could make the service send requests without limit.
"""

from __future__ import annotations

import time
from threading import Lock, Semaphore
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt import PyJWK

from headrace.access.errors import AccessRefused, IssuerUnavailable
from headrace.outgoing import NoAnswer, fetch

_CACHE_SECONDS = 300.0  # seconds
_MIN_REFRESH_SECONDS = 5.0  # seconds between two refreshes for an unknown key
_RETRY_SECONDS = 1.0  # seconds after a failed request to the issuer
_MAX_WAITING = 4  # callers at a time, of the service's threads
_TIMEOUT_SECONDS = 5  # seconds
_MAX_DOCUMENT_BYTES = 1024 * 1024  # maximum bytes of its documents
_KINDS = ("RSA", "EC", "OKP")  # of public keys; shared secrets are excluded


class IssuerKeys:
    """The keys of the issuer `name`. jwks: their URL; by default from its discovery document."""

    def __init__(self, name: str, jwks: str | None) -> None:
        require_safe(name)
        if jwks is not None:
            require_safe(jwks)
        self._name = name
        self._jwks = jwks
        self._lock = Lock()
        self._waiting = Semaphore(_MAX_WAITING)
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = float("-inf")
        self._failed_at = float("-inf")
        self._failure = ""

    def key(self, kid: str) -> PyJWK | None:
        """Return the key with this id, or None. Raises IssuerUnavailable."""
        found = self._cached(_CACHE_SECONDS).get(kid)
        return self._cached(_MIN_REFRESH_SECONDS).get(kid) if found is None else found

    def other(self, kid: str, than: PyJWK) -> PyJWK | None:
        """Refresh, and return the issuer's current key with this id if it differs from `than`; None otherwise."""
        found = self._cached(_MIN_REFRESH_SECONDS).get(kid)
        return None if found is than else found

    def _cached(self, seconds: float) -> dict[str, PyJWK]:
        """Return the keys, fetched at most this many seconds ago."""
        if time.monotonic() - self._fetched_at <= seconds:
            return self._keys
        # A slow issuer must not occupy the threads that serve all callers: only a few wait for its keys.
        if not self._waiting.acquire(blocking=False):
            raise IssuerUnavailable("the issuer's keys are being fetched; try again")
        try:
            return self._fetched(seconds)
        finally:
            self._waiting.release()

    def _fetched(self, seconds: float) -> dict[str, PyJWK]:
        with self._lock:
            now = time.monotonic()
            if now - self._fetched_at > seconds:
                if now - self._failed_at < _RETRY_SECONDS:
                    raise IssuerUnavailable(self._failure)
                try:
                    self._keys = _usable(self._name, _document(self._jwks or self._discovered()))
                except IssuerUnavailable as error:
                    self._failed_at, self._failure = time.monotonic(), str(error)
                    raise
                self._fetched_at = time.monotonic()
            return self._keys

    def _discovered(self) -> str:
        """Return the URL of the keys according to the issuer's discovery document."""
        address = f"{self._name.rstrip('/')}/.well-known/openid-configuration"
        document = _document(address)
        found = document.get("jwks_uri") if document.get("issuer") == self._name else None
        if not isinstance(found, str):
            raise IssuerUnavailable(
                f"the document at {address} is not that of an issuer {self._name}: HEADRACE_ACCESS__ISSUER has to be "
                "written as the document has it"
            )
        require_safe(found)
        return found


def require_safe(address: str) -> None:
    """Raise AccessRefused unless the URL is https, or http on this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    ):
        return
    raise AccessRefused(
        f"the issuer's address {address} does not use https, so keys could be forged in transit. Correct "
        "HEADRACE_ACCESS__ISSUER and HEADRACE_ACCESS__JWKS"
    )


def _document(address: str) -> dict[str, Any]:
    try:
        answer = fetch(
            "GET",
            address,
            seconds=_TIMEOUT_SECONDS,
            follow_redirects=True,
            before=require_safe,
            max_bytes=_MAX_DOCUMENT_BYTES,
        )
        answer.require_success()
        document = answer.json()
    except NoAnswer as error:
        raise IssuerUnavailable(f"the issuer's document at {address} cannot be read: it {error}") from error
    except (ValueError, RecursionError, AccessRefused) as error:
        raise IssuerUnavailable(f"the issuer's document at {address} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise IssuerUnavailable(f"the issuer's document at {address} is not an object")
    return document


def _usable(name: str, document: dict[str, Any]) -> dict[str, PyJWK]:
    """Return the public signature keys by id, without unknown key types."""
    listed = document.get("keys")
    found: dict[str, PyJWK] = {}
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, dict) or each.get("kty") not in _KINDS or each.get("use", "sig") != "sig":
            continue
        try:
            key = PyJWK(each)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        if isinstance(key.key_id, str):
            found[key.key_id] = key
    if not found:
        raise IssuerUnavailable(f"the issuer {name} has no supported key")
    return found
