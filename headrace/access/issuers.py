"""Issuers of user tokens: an OpenID Connect provider or, outside production, Headrace itself."""

import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt import PyJWK

from headrace.access.errors import AccessRefused, Unauthenticated
from headrace.access.issuer_keys import IssuerKeys
from headrace.settings import Settings

# No algorithm with a shared secret: a public key must never serve as one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
DEVELOPMENT = "headrace-development"
_LEEWAY = timedelta(seconds=30)


class Issuer(Protocol):
    """The issuer that verifies user tokens."""

    def subject(self, token: str) -> str:
        """Return the user's `sub`. Raises Unauthenticated, or IssuerUnavailable if the issuer's keys are
        unavailable."""


def issuer(configured: Settings) -> Issuer | None:
    """Return the configured issuer; without one, the local development issuer outside production; otherwise None."""
    access = configured.access
    if access.issuer is not None:
        return OpenIdIssuer(access.issuer, access.audience, access.jwks)
    return None if configured.is_production else DevelopmentIssuer(configured)


class OpenIdIssuer:
    """An OpenID Connect issuer."""

    def __init__(self, name: str, audience: str, jwks: str | None) -> None:
        self.name = name
        self.audience = audience
        self._keys = IssuerKeys(name, jwks)

    def subject(self, token: str) -> str:
        """Return the user's `sub`; see `Issuer`."""
        kid = self._key_id(token)
        key = self._keys.key(kid)
        if key is None:
            raise Unauthenticated(f"invalid token: {self.name} has no key {kid}")
        try:
            return self._subject(token, key)
        except _WrongSignature:
            # An issuer may have changed a key and kept its id.
            fresh = self._keys.other(kid, key)
            if fresh is None:
                raise
            return self._subject(token, fresh)

    def _key_id(self, token: str) -> str:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
        except (jwt.PyJWTError, ValueError) as error:
            raise Unauthenticated(f"invalid token: {error}") from error
        if not isinstance(kid, str):
            raise Unauthenticated("invalid token: its header has no key id (`kid`)")
        return kid

    def _subject(self, token: str, key: PyJWK) -> str:
        stated = key._jwk_data.get("alg")
        return _subject(token, key.key, self.name, self.audience, ALGORITHMS if stated is None else (stated,))


class DevelopmentIssuer:
    """Issues tokens to anyone who can read its key: the user of this machine. Not for production."""

    def __init__(self, configured: Settings) -> None:
        if configured.is_production or configured.access.issuer is not None:
            raise AccessRefused(
                "the development issuer is not available in production, or together with another issuer. Set "
                "HEADRACE_ACCESS__ISSUER to yours and have it issue tokens, or on a machine of your own "
                "HEADRACE_PRODUCTION=false"
            )
        self._path = configured.home.expanduser().resolve() / "development-issuer.pem"
        self._audience = configured.access.audience
        self._key: Ed25519PrivateKey | None = None

    def issue(self, subject: str, lifetime: timedelta = timedelta(hours=8)) -> str:
        """Issue a token for the user `subject`."""
        now = datetime.now(UTC)
        claims = {
            "iss": DEVELOPMENT,
            "aud": self._audience,
            "sub": subject,
            "iat": now,
            "exp": now + lifetime,
        }
        return jwt.encode(claims, self._private(), algorithm="EdDSA")

    def subject(self, token: str) -> str:
        """Return the user's `sub`; see `Issuer`."""
        return _subject(token, self._private().public_key(), DEVELOPMENT, self._audience)

    def _private(self) -> Ed25519PrivateKey:
        """Return the key, created on first use; concurrent processes end up with the same key."""
        if self._key is None:
            if not self._path.exists():
                self._make()
            key = serialization.load_pem_private_key(self._path.read_bytes(), password=None)
            if not isinstance(key, Ed25519PrivateKey):
                raise AccessRefused(f"{self._path} contains no Ed25519 key: remove it to create a new one")
            self._key = key
        return self._key

    def _make(self) -> None:
        pem = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        fresh.touch(mode=0o600)
        try:
            fresh.write_bytes(pem)
            os.link(fresh, self._path)
        except FileExistsError:
            return
        finally:
            fresh.unlink()


class _WrongSignature(Unauthenticated):
    """The token is signed by another key."""


def _subject(
    token: str,
    key: Any,  # noqa: ANN401 - whatever key the algorithm takes
    name: str,
    audience: str,
    algorithms: Collection[str] = ALGORITHMS,
) -> str:
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[each for each in algorithms if each in ALGORITHMS],
            audience=audience,
            issuer=name,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise Unauthenticated("the token has expired: request a new one") from error
    except jwt.InvalidSignatureError as error:
        raise _WrongSignature(f"invalid token, not signed by {name}: {error}") from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise Unauthenticated(
            f"invalid token, expected issuer {name} and audience {audience}: {error}"
        ) from error
    return subject_in(claims)


def subject_in(claims: Mapping[str, Any]) -> str:
    """Return the user's `sub` in the claims of a verified token. Raises Unauthenticated."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip() or not subject.isprintable() or len(subject) > 255:
        raise Unauthenticated("invalid token: its `sub` is empty, too long or unprintable")
    return subject
