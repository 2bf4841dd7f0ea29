"""Signing keys of an OpenID Connect issuer: fetched on first use, cached for minutes, refreshed for unknown keys."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt import PyJWK

from headrace.access.errors import AccessRefused, IssuerUnavailable

_CACHE_SECONDS = 300.0  # seconds
_MIN_REFRESH_SECONDS = 5.0  # between two refreshes for an unknown key
_RETRY_SECONDS = 1.0  # after the issuer did not answer
_TIMEOUT_SECONDS = 5  # to wait for it
_MAX_DOCUMENT_BYTES = 1024 * 1024  # bytes of its documents
_KINDS = ("RSA", "EC", "OKP")  # of public keys; a shared secret is none of them


class IssuerKeys:
    """The keys of the issuer `name`. jwks: where they are, without which its discovery document says so."""

    def __init__(self, name: str, jwks: str | None) -> None:
        require_safe(name)
        if jwks is not None:
            require_safe(jwks)
        self._name = name
        self._jwks = jwks
        self._lock = Lock()
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = float("-inf")
        self._failed_at = float("-inf")
        self._failure = ""

    def key(self, kid: str) -> PyJWK | None:
        """The key of this id; None where the issuer has none such. Raises IssuerUnavailable."""
        found = self._cached(_CACHE_SECONDS).get(kid)
        return self._cached(_MIN_REFRESH_SECONDS).get(kid) if found is None else found

    def other(self, kid: str, than: PyJWK) -> PyJWK | None:
        """The key that the issuer has of this id by now, where that is not `than`; None else."""
        found = self._cached(_MIN_REFRESH_SECONDS).get(kid)
        return None if found is than else found

    def _cached(self, seconds: float) -> dict[str, PyJWK]:
        """The keys, fetched so many seconds ago at most."""
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
        """Where the issuer's discovery document says that its keys are."""
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
    """Raises AccessRefused unless the address is https, or http on this very machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    ):
        return
    raise AccessRefused(
        f"the issuer's address {address} does not use https, so keys could be forged in transit. Correct "
        "HEADRACE_ACCESS__ISSUER and HEADRACE_ACCESS__JWKS"
    )


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Is led to no address that could not have been set."""

    def redirect_request(self, *given: Any) -> urllib.request.Request | None:  # noqa: ANN401 - urllib's
        require_safe(given[-1])
        return super().redirect_request(*given)


_OPENER = urllib.request.build_opener(_SafeRedirects)


def _document(address: str) -> dict[str, Any]:
    try:
        with _OPENER.open(address, timeout=_TIMEOUT_SECONDS) as answer:
            document = json.loads(answer.read(_MAX_DOCUMENT_BYTES))
    except (OSError, http.client.HTTPException, ValueError, RecursionError, AccessRefused) as error:
        raise IssuerUnavailable(f"the issuer's document at {address} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise IssuerUnavailable(f"the issuer's document at {address} is not an object")
    return document


def _usable(name: str, document: dict[str, Any]) -> dict[str, PyJWK]:
    """The public keys for signatures, by their ids; those of kinds that are not known here are left out."""
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
        raise IssuerUnavailable(f"the issuer {name} gives out no key that is of use here")
    return found
