"""Who says who a user is: an OpenID Connect issuer, or on a machine that is not in production Headrace itself."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt import PyJWKClient

from catalog.access.errors import AccessRefused, IssuerUnavailable, Unauthenticated
from settings import Settings

# None that takes a shared secret: a public key must never serve as one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
DEVELOPMENT = "headrace-development"
_LEEWAY = timedelta(seconds=30)
_SECONDS = 5  # to wait for the issuer
_LARGEST = 1024 * 1024  # bytes of its documents


class Issuer(Protocol):
    """Who users' tokens are checked with."""

    def subject(self, token: str) -> str:
        """The user's `sub`. Raises Unauthenticated, or IssuerUnavailable when the issuer's keys cannot be had."""


def issuer(configured: Settings) -> Issuer | None:
    """The issuer that the settings name; the machine's own where none is and it is not in production; None else."""
    access = configured.access
    if access.issuer is not None:
        return OpenIdIssuer(access.issuer, access.audience, access.jwks)
    return None if configured.is_production else DevelopmentIssuer(configured)


class OpenIdIssuer:
    """An OpenID Connect issuer. Its keys are fetched when they are first needed, and kept for five minutes."""

    def __init__(self, name: str, audience: str, jwks: str | None) -> None:
        _require_safe(name)
        if jwks is not None:
            _require_safe(jwks)
        self.name = name
        self.audience = audience
        self._jwks = jwks
        self._client: PyJWKClient | None = None
        self._lock = Lock()

    def subject(self, token: str) -> str:
        """As `Issuer` says."""
        try:
            key = self._keys().get_signing_key_from_jwt(token)
        except (jwt.PyJWKClientConnectionError, OSError) as error:
            raise IssuerUnavailable(f"the keys of the issuer {self.name} cannot be had: {error}") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token is not one of {self.name}: {error}") from error
        return _subject(token, key.key, self.name, self.audience)

    def _keys(self) -> PyJWKClient:
        with self._lock:
            if self._client is None:
                self._client = PyJWKClient(self._jwks or self._discovered(), timeout=_SECONDS)
            return self._client

    def _discovered(self) -> str:
        """Where the issuer's discovery document says that its keys are."""
        address = f"{self.name.rstrip('/')}/.well-known/openid-configuration"
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 - checked when it was set
                document = json.loads(answer.read(_LARGEST))
            found = document["jwks_uri"] if document.get("issuer") == self.name else None
        except (urllib.error.URLError, OSError, ValueError, KeyError, AttributeError) as error:
            raise IssuerUnavailable(f"the issuer's document at {address} cannot be read: {error}") from error
        if not isinstance(found, str):
            raise IssuerUnavailable(
                f"the document at {address} is not that of an issuer {self.name}: HEADRACE_ACCESS__ISSUER has to be "
                "written as the document has it"
            )
        _require_safe(found)
        return found


class DevelopmentIssuer:
    """Issues tokens to whoever can read its key, which is to say the user of this machine. Not for production."""

    def __init__(self, configured: Settings) -> None:
        if configured.is_production or configured.access.issuer is not None:
            raise AccessRefused(
                "the development issuer does not run in production, nor beside another issuer. Set "
                "HEADRACE_ACCESS__ISSUER to yours and have it issue tokens, or on a machine of your own "
                "HEADRACE_PRODUCTION=false"
            )
        self._path = configured.home.expanduser().resolve() / "development-issuer.pem"
        self._audience = configured.access.audience
        self._key: Ed25519PrivateKey | None = None

    def issue(self, subject: str, lifetime: timedelta = timedelta(hours=8)) -> str:
        """A token for the user `subject`."""
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
        """As `Issuer` says."""
        return _subject(token, self._private().public_key(), DEVELOPMENT, self._audience)

    def _private(self) -> Ed25519PrivateKey:
        """The key, made when it is first needed; processes that make it at once end up with the same."""
        if self._key is None:
            if not self._path.exists():
                self._make()
            key = serialization.load_pem_private_key(self._path.read_bytes(), password=None)
            if not isinstance(key, Ed25519PrivateKey):
                raise AccessRefused(f"{self._path} holds no Ed25519 key: remove it, and a new one is made")
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


def _subject(token: str, key: Any, name: str, audience: str) -> str:  # noqa: ANN401 - whatever key the algorithm takes
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            audience=audience,
            issuer=name,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise Unauthenticated("the token has expired: have a new one issued") from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise Unauthenticated(f"the token is not one of {name} for {audience}: {error}") from error
    subject = claims["sub"]
    if not isinstance(subject, str) or not subject.strip() or not subject.isprintable() or len(subject) > 255:
        raise Unauthenticated("the token's `sub` names nobody")
    return subject


def _require_safe(address: str) -> None:
    """Raises AccessRefused unless the address is https, or http on this very machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    ):
        return
    raise AccessRefused(
        f"the issuer's address {address} is not https: whoever is between could give out keys. Correct "
        "HEADRACE_ACCESS__ISSUER and HEADRACE_ACCESS__JWKS"
    )
