"""An OpenID Connect issuer that rotates its keys, is unavailable, or is imitated; at a real server."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from sqlalchemy import Engine

from headrace.access import issuer_keys
from headrace.access.callers import Role
from headrace.access.errors import IssuerUnavailable
from headrace.access.grants import grant
from headrace.service.app import create_app
from headrace.settings import settings
from tests.paths import WAIT_SECONDS
from tests.platform.service.serving import served

RSA, OTHER_RSA = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC = ec.generate_private_key(ec.SECP256R1())
ED = Ed25519PrivateKey.generate()


class Provider:
    """An issuer on this machine. answers: what it says to each path, as status and body; fetched: how often."""

    def __init__(self) -> None:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = provider.answer(self.path)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", body.decode())
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, format: str, *given: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.keys: list[dict[str, Any]] = [
            _jwk(RSAAlgorithm, RSA, "r", "RS256"),
            _jwk(ECAlgorithm, EC, "e", "ES256"),
            _jwk(OKPAlgorithm, ED, "o", "EdDSA"),
        ]
        self.answers: dict[str, tuple[int, Any]] = {}
        self.fetched = 0
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, path: str) -> tuple[int, Any]:
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.fetched += 1
        return 200, {"keys": self.keys}

    def token(self, key: Any = RSA, algorithm: str = "RS256", kid: str = "r", **changed: Any) -> str:
        now = datetime.now(UTC)
        claims = {
            "iss": self.url,
            "aud": "headrace",
            "sub": "alice",
            "iat": now,
            "exp": now + timedelta(hours=1),
        }
        claims = {name: value for name, value in {**claims, **changed}.items() if value is not None}
        return jwt.encode(claims, key, algorithm, headers={"kid": kid})

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def _jwk(kind: Any, key: Any, kid: str, algorithm: str) -> dict[str, Any]:
    public = kind.to_jwk(key.public_key())
    found: dict[str, Any] = {**json.loads(public), "kid": kid, "use": "sig", "alg": algorithm}
    return found


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Iterator[Provider]:
    found = Provider()
    monkeypatch.setenv("HEADRACE_ACCESS__ISSUER", found.url)
    monkeypatch.setattr(issuer_keys, "_MIN_REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(issuer_keys, "_RETRY_SECONDS", 0.0)
    settings.cache_clear()
    grant(engine, "alice", Role.DATA_CONSUMER, by="test")
    try:
        yield found
    finally:
        if found.thread.is_alive():
            found.stop()


Ask = Callable[[str], httpx.Response]


@pytest.fixture
def ask(engine: Engine, provider: Provider) -> Iterator[Ask]:
    with served(create_app(engine)) as url:
        yield lambda token: httpx.get(
            f"{url}/api/v1/dataset", headers={"Authorization": f"Bearer {token}"}, timeout=WAIT_SECONDS
        )


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def imitated(provider: Provider, algorithm: str, secret: bytes, **header: Any) -> str:
    """A token signed with a public secret, or not at all."""
    claims = {"iss": provider.url, "aud": "headrace", "sub": "alice", "exp": time.time() + 3600}
    signed = f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'r', **header})}.{part(claims)}"
    signature = hmac.new(secret, signed.encode(), hashlib.sha256).digest() if secret else b""
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_users_come_in_by_each_kind_of_key(provider: Provider, ask: Ask) -> None:
    for key, algorithm, kid in ((RSA, "RS256", "r"), (EC, "ES256", "e"), (ED, "EdDSA", "o")):
        assert ask(provider.token(key, algorithm, kid)).status_code == 200
    assert provider.fetched == 1


def test_unknown_keys_do_not_flood_the_issuer(
    provider: Provider, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "_MIN_REFRESH_SECONDS", 60.0)
    monkeypatch.setattr(issuer_keys, "_RETRY_SECONDS", 60.0)
    for number in range(5):
        assert ask(provider.token(kid=f"x{number}")).status_code == 401
        assert ask(provider.token(OTHER_RSA)).status_code == 401
    assert provider.fetched == 1


def test_an_issuer_that_does_not_answer_is_left_alone_for_a_moment(
    provider: Provider, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "_RETRY_SECONDS", 60.0)
    provider.answers["/keys"] = (500, {})
    assert [ask(provider.token()).status_code for _ in range(3)] == [503] * 3
    del provider.answers["/keys"]
    assert ask(provider.token()).status_code == 503
    assert provider.fetched == 0


def test_redirects_to_unsafe_addresses_are_refused(provider: Provider) -> None:
    provider.answers["/keys"] = (302, b"http://login.example.com/keys")
    with pytest.raises(IssuerUnavailable, match=r"address http://login.example.com/keys does not use https"):
        issuer_keys.IssuerKeys(provider.url, None).key("r")


def test_a_new_key_is_found_when_it_is_first_used_and_an_old_one_ends(provider: Provider, ask: Ask) -> None:
    old = provider.token()
    assert ask(old).status_code == 200
    provider.keys = [_jwk(RSAAlgorithm, OTHER_RSA, "r2", "RS256")]
    assert ask(provider.token(OTHER_RSA, kid="r2")).status_code == 200
    assert ask(old).status_code == 401
    # Signed with the old key in the name of the new one.
    assert ask(provider.token(RSA, kid="r2")).status_code == 401


def test_a_key_that_changes_under_its_name_is_found(
    provider: Provider, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(provider.token()).status_code == 200
    provider.keys = [_jwk(RSAAlgorithm, OTHER_RSA, "r", "RS256")]
    assert ask(provider.token(OTHER_RSA)).status_code == 200
    assert ask(provider.token()).status_code == 401


def test_what_is_imitated_is_refused(provider: Provider, ask: Ask) -> None:
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    own = {"jwk": _jwk(RSAAlgorithm, OTHER_RSA, "r", "RS256")}
    for token in (
        imitated(provider, "none", b""),
        imitated(provider, "None", b""),
        imitated(provider, "nOnE", b""),
        imitated(provider, "HS256", pem),
        imitated(provider, "HS256", pem.strip()),
        imitated(provider, "HS256", der),
        imitated(provider, "HS256", json.dumps(provider.keys[0]).encode()),
        imitated(provider, "RS256", pem),
        imitated(provider, "", b""),
        provider.token(OTHER_RSA),
        jwt.encode({"sub": "alice"}, OTHER_RSA, "RS256", headers={"kid": "r", **own}),
        provider.token(EC, "ES256", "r"),  # an algorithm that is not the key's
        provider.token(RSA, "PS256", "e"),
        provider.token(RSA, "RS256", "../../keys"),
    ):
        answer = ask(token)
        assert answer.status_code == 401, answer.text
        assert answer.headers["www-authenticate"] == "Bearer"


def test_what_is_not_for_here_or_not_for_now_is_refused(provider: Provider, ask: Ask) -> None:
    now = datetime.now(UTC)
    for changed in (
        {"aud": "other"},
        {"aud": ["other", "headrace2"]},
        {"aud": None},
        {"aud": "HEADRACE"},
        {"iss": "https://other.example.com"},
        {"iss": f"{provider.url}/"},
        {"iss": None},
        {"exp": now - timedelta(minutes=1)},
        {"exp": None},
        {"nbf": now + timedelta(minutes=1)},
        {"iat": now + timedelta(minutes=5)},
        {"sub": None},
        {"sub": ""},
        {"sub": "a" * 256},
    ):
        assert ask(provider.token(**changed)).status_code == 401, changed
    for wrong in ({"exp": "tomorrow"}, {"sub": 7}, {"nbf": "x"}, {"aud": {"x": 1}}):
        claims = {"iss": provider.url, "aud": "headrace", "sub": "alice", "exp": time.time() + 60, **wrong}
        signed = jwt.PyJWS().encode(json.dumps(claims).encode(), RSA, "RS256", headers={"kid": "r"})
        assert ask(signed).status_code == 401, wrong


def test_clocks_may_be_half_a_minute_apart(provider: Provider, ask: Ask) -> None:
    now = datetime.now(UTC)
    assert ask(provider.token(exp=now - timedelta(seconds=20))).status_code == 200
    assert ask(provider.token(nbf=now + timedelta(seconds=20))).status_code == 200
    assert ask(provider.token(iat=now + timedelta(seconds=20))).status_code == 200
    assert ask(provider.token(exp=now - timedelta(seconds=40))).status_code == 401
    assert ask(provider.token(nbf=now + timedelta(seconds=40))).status_code == 401


DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        (DISCOVERY, 404, {}),
        (DISCOVERY, 500, b"oops"),
        (DISCOVERY, 200, b"<html>"),
        (DISCOVERY, 200, []),
        (DISCOVERY, 200, {"issuer": "https://other.example.com", "jwks_uri": "https://other.example.com/k"}),
        (DISCOVERY, 200, b"\xff\xfe"),
        (KEYS, 404, {}),
        (KEYS, 503, {}),
        (KEYS, 200, b"<html>"),
        (KEYS, 200, b""),
        (KEYS, 200, []),
        (KEYS, 200, {}),
        (KEYS, 200, {"keys": []}),
        (KEYS, 200, {"keys": "x"}),
        (KEYS, 200, {"keys": [{"kty": "XXX", "kid": "r"}]}),
        (KEYS, 200, {"keys": [None]}),
    ],
)
def test_an_unavailable_issuer_is_not_an_invalid_token(
    provider: Provider, ask: Ask, path: str, status: int, body: Any
) -> None:
    provider.answers[path] = (status, body)
    answer = ask(provider.token())
    assert answer.status_code == 503, answer.text
    assert answer.headers["retry-after"]
    assert answer.headers["content-type"] == "application/problem+json"
    del provider.answers[path]
    assert ask(provider.token()).status_code == 200


def test_an_issuer_that_is_away_is_waited_for_and_programs_come_in_meanwhile(
    provider: Provider, ask: Ask, engine: Engine
) -> None:
    from headrace.access.callers import Permission
    from headrace.access.tokens import issue_service_token

    token, program = provider.token(), issue_service_token(engine, "x", [Permission.READ], by="test")
    provider.stop()
    assert ask(token).status_code == 503
    assert ask(program).status_code == 200


def test_few_callers_wait_for_a_slow_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers hold threads of the service while they wait, and services and runs need those, too."""
    release = threading.Event()

    def slow(address: str) -> dict[str, Any]:
        release.wait(WAIT_SECONDS)
        return {"keys": [_jwk(RSAAlgorithm, RSA, "r", "RS256")]}

    monkeypatch.setattr(issuer_keys, "_document", slow)
    keys = issuer_keys.IssuerKeys("https://issuer.example.com", "https://issuer.example.com/keys")
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(keys.key, str(number)) for number in range(20)]
        refused, _ = wait(waiting, timeout=WAIT_SECONDS, return_when=FIRST_EXCEPTION)
        assert refused
        release.set()
        outcomes = Counter(type(each.exception()) for each in waiting)
    assert outcomes[IssuerUnavailable] >= 10
    assert keys.key("x") is None


def test_keys_outlive_an_issuer_that_goes_away(provider: Provider, ask: Ask) -> None:
    token = provider.token()
    assert ask(token).status_code == 200
    provider.stop()
    assert ask(token).status_code == 200


def test_keys_of_other_kinds_among_the_issuers_do_no_harm(provider: Provider, ask: Ask) -> None:
    provider.keys = [
        {"kty": "XXX", "kid": "x"},
        {**provider.keys[0], "kid": "enc", "use": "enc"},
        {"kty": "oct", "kid": "s", "k": part("secret")},
        *provider.keys,
    ]
    assert ask(provider.token()).status_code == 200
    assert ask(provider.token(kid="enc")).status_code == 401
    assert ask(provider.token(b"secret" * 8, "HS256", "s")).status_code == 401
