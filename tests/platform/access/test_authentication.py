"""Tokens: their owners, and which are refused."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from sqlalchemy import Engine

from headrace.access import grants, tokens
from headrace.access.authentication import caller_of, known_caller
from headrace.access.callers import CallerKind, Permission, Role
from headrace.access.errors import AccessRefused, IssuerUnavailable, Unauthenticated
from headrace.access.issuers import DevelopmentIssuer, OpenIdIssuer, issuer
from headrace.database.connection import transaction
from headrace.errors import Forbidden
from headrace.publishing.runs import attempt
from headrace.settings import settings

HOUR = timedelta(hours=1)


# Services


def test_a_service_token_opens_what_it_was_issued_for(engine: Engine) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.REPORT], domain="mart", by="test")
    found = caller_of(engine, None, token)
    assert (found.subject, found.kind, found.organisation) == (
        "service:airflow",
        CallerKind.SERVICE,
        "default",
    )
    assert found.may(Permission.REPORT, "mart/x")
    assert not found.may(Permission.REPORT, "crm/x")
    assert not found.may(Permission.READ)


def test_only_the_digest_of_a_token_is_kept(engine: Engine) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.REPORT], by="test")
    secret = token.split("_", 2)[2]
    with transaction(engine) as cursor:
        everything = str(cursor.execute("SELECT * FROM catalog.service_token").fetchall())
        everything += str(cursor.execute("SELECT * FROM catalog.audit_entry").fetchall())
    assert "airflow" in everything
    assert secret not in everything


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "A", lambda t: t.replace("hrs_", "hrt_")])
def test_a_token_that_was_changed_is_refused(engine: Engine, change: Any) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.REPORT], by="test")
    with pytest.raises(Unauthenticated, match="this catalog did not issue the token"):
        caller_of(engine, None, change(token))


def test_a_revoked_token_is_refused_at_once_and_another_may_be_issued(engine: Engine) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    caller_of(engine, None, token)
    tokens.revoke_service_token(engine, "airflow", by="test")
    with pytest.raises(Unauthenticated, match="was revoked"):
        caller_of(engine, None, token)
    again = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    assert caller_of(engine, None, again).subject == "service:airflow"


def test_an_expired_token_is_refused(engine: Engine) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.service_token SET expires_at = now() - interval '1 s'")
    with pytest.raises(Unauthenticated, match="expired"):
        caller_of(engine, None, token)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seconds that pass when a test says so, for what remembers services that were let in."""
    passed = [1000.0]
    monkeypatch.setattr("headrace.access.token_cache.time.monotonic", lambda: passed[0])
    return passed


@pytest.mark.parametrize("change", ["revoked_at = now()", "expires_at = now() - interval '1 s'"])
def test_a_token_that_has_ended_elsewhere_ends_here_however_often_it_is_sent(
    engine: Engine, clock: Any, change: Any
) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    caller_of(engine, None, token)
    with transaction(engine) as cursor:
        cursor.execute(f"UPDATE catalog.service_token SET {change}")  # noqa: S608
    clock[0] += 1
    assert known_caller(token) is None  # so that this one asks
    with pytest.raises(Unauthenticated):
        caller_of(engine, None, token)
    for _ in range(5):
        assert known_caller(token) is None
        clock[0] += 0.05


def test_a_service_is_let_in_unasked_for_two_seconds_at_most(engine: Engine, clock: Any) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    caller_of(engine, None, token)
    let_in = []
    for _ in range(100):
        let_in.append(known_caller(token) is not None)
        clock[0] += 0.03
    asked = let_in.index(False)
    assert asked >= 33  # a second
    assert any(let_in[asked:])  # while that one asks
    assert not any(let_in[67:])


def test_a_service_is_not_let_in_beyond_the_end_of_its_token(engine: Engine, clock: Any) -> None:
    token = tokens.issue_service_token(
        engine, "airflow", [Permission.READ], lifetime=timedelta(seconds=0.5), by="test"
    )
    caller_of(engine, None, token)
    assert known_caller(token) is not None
    clock[0] += 0.5
    assert known_caller(token) is None


def test_a_service_has_one_token_and_a_reason_to_have_it(engine: Engine) -> None:
    tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    with pytest.raises(AccessRefused, match="has a token already"):
        tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    with pytest.raises(AccessRefused, match="give other at least one permission"):
        tokens.issue_service_token(engine, "other", [], by="test")
    with pytest.raises(AccessRefused, match="366 days at most"):
        tokens.issue_service_token(
            engine, "other", [Permission.READ], lifetime=timedelta(days=400), by="test"
        )
    with pytest.raises(AccessRefused, match="there is no organisation 'acmee'"):
        tokens.issue_service_token(engine, "other", [Permission.READ], organisation="acmee", by="test")


def test_the_use_of_a_token_is_noted(engine: Engine) -> None:
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    [before] = tokens.service_tokens(engine)
    caller_of(engine, None, token)
    [after] = tokens.service_tokens(engine)
    assert before.last_used_at is None
    assert after.last_used_at is not None


@pytest.mark.parametrize(
    "token", ["", "x", "hrs_", "hrs_zz_x", "hrs_" + "0" * 32 + "_x", "a.b.c", "hrs_" + "g" * 32 + "_x"]
)
def test_what_is_no_token_is_refused(engine: Engine, token: Any) -> None:
    with pytest.raises(Unauthenticated):
        caller_of(engine, None, token)


# Runs


def test_a_task_token_is_bound_to_its_run_and_datasets(catalog: Engine) -> None:
    run_id = uuid4()
    token = tokens.issue_task_token(catalog, run_id, ["mart/delays"], ["raw/flights"], by="test")
    found = caller_of(catalog, None, token)
    assert found.subject == f"task:{run_id}"
    assert found.may(Permission.READ, "mart/delays")
    assert found.may(Permission.READ, "raw/flights")
    assert not found.may(Permission.READ, "mart/report")
    for permission in set(Permission) - {Permission.READ, Permission.READ_SENSITIVE, Permission.REPORT}:
        assert not found.may(permission)


def test_a_task_token_ends_with_its_time_and_cannot_be_had_for_long(catalog: Engine) -> None:
    token = tokens.issue_task_token(catalog, uuid4(), [], lifetime=timedelta(milliseconds=300), by="test")
    caller_of(catalog, None, token)
    time.sleep(0.35)
    with pytest.raises(Unauthenticated, match="ended at"):
        caller_of(catalog, None, token)
    with pytest.raises(AccessRefused, match="24 hours at most"):
        tokens.issue_task_token(catalog, uuid4(), [], lifetime=timedelta(hours=25), by="test")


def test_a_task_token_ends_with_its_run(catalog: Engine) -> None:
    run_id, other = uuid4(), uuid4()
    token = tokens.issue_task_token(catalog, run_id, ["mart/delays"], by="test")
    beside = tokens.issue_task_token(catalog, other, ["mart/delays"], by="test")
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        during = caller_of(catalog, None, token).capability
        assert during.expires_at - datetime.now(UTC) > timedelta(minutes=59)
    after = caller_of(catalog, None, token).capability
    assert after.expires_at - datetime.now(UTC) <= tokens.TASK_GRACE
    assert caller_of(catalog, None, beside).capability.expires_at - datetime.now(UTC) > timedelta(minutes=59)
    with transaction(catalog) as cursor:  # as if the grace were over
        cursor.execute("UPDATE catalog.task_token SET expires_at = now() WHERE run_id = %s", [run_id])
    with pytest.raises(Unauthenticated, match="with its time or with the run"):
        caller_of(catalog, None, token)


# Users


def test_a_user_has_the_roles_that_were_granted(engine: Engine, development: Any) -> None:
    grants.grant(engine, "alice", Role.DATA_OWNER, domain="mart", by="test")
    grants.grant(engine, "alice", Role.DATA_CONSUMER, by="test")
    found = caller_of(engine, issuer(settings()), development("alice"))
    assert found.subject == "user:alice"
    assert found.roles == (Role.DATA_OWNER, Role.DATA_CONSUMER)
    assert found.may(Permission.READ, "crm/people")
    assert not found.may(Permission.REGISTER, "crm/people")


def test_a_role_that_was_revoked_no_longer_holds(engine: Engine, development: Any) -> None:
    grants.grant(engine, "alice", Role.DATA_CONSUMER, by="test")
    grants.grant(engine, "alice", Role.DATA_CONSUMER, by="test")  # again, which changes nothing
    grants.revoke(engine, "alice", Role.DATA_CONSUMER, by="test")
    with pytest.raises(Forbidden, match="has no role in any organisation"):
        caller_of(engine, issuer(settings()), development("alice"))
    with pytest.raises(AccessRefused, match="does not have DATA_CONSUMER"):
        grants.revoke(engine, "alice", Role.DATA_CONSUMER, by="test")


def test_which_organisation_is_meant(engine: Engine, development: Any) -> None:
    for name in ("acme", "zeta"):
        grants.add_organisation(engine, name, by="test")
        grants.grant(engine, "alice", Role.DATA_CONSUMER, organisation=name, by="test")
    here, token = issuer(settings()), development("alice")
    with pytest.raises(
        Forbidden, match="belongs to acme, zeta: choose one with the header Headrace-Organisation"
    ):
        caller_of(engine, here, token)
    assert caller_of(engine, here, token, "zeta").organisation == "zeta"
    with pytest.raises(Forbidden, match="has no role in organisation default"):
        caller_of(engine, here, token, "default")
    grants.grant(engine, "alice", Role.DATA_CONSUMER, by="test")
    assert caller_of(engine, here, token).organisation == "default"


def test_a_headrace_token_does_not_open_another_organisation(engine: Engine) -> None:
    grants.add_organisation(engine, "acme", by="test")
    token = tokens.issue_service_token(engine, "airflow", [Permission.READ], by="test")
    with pytest.raises(Forbidden, match="belongs to another organisation, not to acme"):
        caller_of(engine, None, token, "acme")


def test_an_administrator_is_one_of_the_whole_organisation(engine: Engine) -> None:
    with pytest.raises(AccessRefused, match="omit the domain mart"):
        grants.grant(engine, "alice", Role.PLATFORM_ADMIN, domain="mart", by="test")


def test_the_development_issuer_does_not_run_in_production(engine: Engine) -> None:
    assert settings().is_production  # a database_url is set
    assert issuer(settings()) is None
    with pytest.raises(AccessRefused, match="is not available in production"):
        DevelopmentIssuer(settings())
    with pytest.raises(Unauthenticated, match="no issuer is configured"):
        caller_of(engine, None, "a.b.c")


def test_the_development_issuer_is_not_used_with_another(
    engine: Engine, development: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_ACCESS__ISSUER", "https://login.example.com")
    settings.cache_clear()
    assert isinstance(issuer(settings()), OpenIdIssuer)
    with pytest.raises(AccessRefused, match="or together with another issuer"):
        DevelopmentIssuer(settings())


def test_the_key_of_the_development_issuer_is_the_users_own(development: Any) -> None:
    token = development("alice")
    path = settings().home.resolve() / "development-issuer.pem"
    assert path.stat().st_mode & 0o077 == 0
    assert DevelopmentIssuer(settings()).subject(token) == "alice"  # the same key again
    path.unlink()
    with pytest.raises(Unauthenticated):
        DevelopmentIssuer(settings()).subject(token)


# An OpenID Connect issuer


class _Provider:
    """An issuer on this machine: its discovery document and its keys, and how often these were fetched."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fetched = 0
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())

    def keys(self) -> Any:
        return {
            "keys": [
                {
                    **json.loads(RSAAlgorithm.to_jwk(self.rsa.public_key())),
                    "kid": "r",
                    "use": "sig",
                    "alg": "RS256",
                },
                {
                    **json.loads(ECAlgorithm.to_jwk(self.ec.public_key())),
                    "kid": "e",
                    "use": "sig",
                    "alg": "ES256",
                },
            ]
        }

    def token(self, *, key: Any = None, algorithm: Any = "RS256", kid: Any = "r", **changed: Any) -> Any:
        claims = {
            "iss": self.url,
            "aud": "headrace",
            "sub": "alice",
            "exp": datetime.now(UTC) + HOUR,
            **changed,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, key or self.rsa, algorithm, headers={"kid": kid} if kid else None)


@contextmanager
def _serving() -> Iterator[Any]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/.well-known/openid-configuration":
                body = {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"}  # type: ignore[attr-defined]
            else:
                provider.fetched += 1  # type: ignore[attr-defined]
                body = provider.keys()  # type: ignore[attr-defined]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = _Provider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def provider() -> Iterator[Any]:
    with _serving() as serving:
        yield serving


def test_a_users_token_is_checked_with_the_issuers_keys(provider: Any) -> None:
    here = OpenIdIssuer(provider.url, "headrace", None)
    assert here.subject(provider.token()) == "alice"
    assert here.subject(provider.token(key=provider.ec, algorithm="ES256", kid="e")) == "alice"
    assert here.subject(provider.token(aud=["other", "headrace"])) == "alice"
    assert provider.fetched == 1


def test_tokens_that_are_not_the_issuers_are_refused(provider: Any) -> None:
    here = OpenIdIssuer(provider.url, "headrace", None)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = provider.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    now = datetime.now(UTC)
    wrong = {
        "another key": provider.token(key=stranger),
        "expired": provider.token(exp=now - HOUR),
        "not yet": provider.token(nbf=now + HOUR),
        "for others": provider.token(aud="other"),
        "of others": provider.token(iss="https://other.example.com"),
        "without an end": provider.token(exp=None),
        "without an audience": provider.token(aud=None),
        "without a subject": provider.token(sub=None),
        "of nobody": provider.token(sub=" "),
        "of somebody unprintable": provider.token(sub="a\x00b"),
        "without a key": provider.token(kid=None),
        "of an unknown key": provider.token(kid="x"),
        "unsigned": jwt.encode({"sub": "alice"}, None, "none", headers={"kid": "r"}),  # type: ignore[arg-type]
        "signed with the public key": _signed_with(public, provider),
        "no token": "a.b.c",
        "nothing": "",
        "half": provider.token()[:-8],
    }
    for what, token in wrong.items():
        with pytest.raises(Unauthenticated):
            pytest.fail(f"{what} was taken as {here.subject(token)}")


def _signed_with(public: bytes, provider: _Provider) -> str:
    """A token whose signature uses the public key as if it were a shared secret."""
    import base64
    import hashlib
    import hmac

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"iss": provider.url, "aud": "headrace", "sub": "alice", "exp": time.time() + 3600}
    signed = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'r'})}.{part(claims)}"
    signature = hmac.new(public, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_tokens_of_unknown_keys_do_not_make_the_issuer_be_asked_each_time(provider: Any) -> None:
    here = OpenIdIssuer(provider.url, "headrace", f"{provider.url}/keys")
    for number in range(20):
        with pytest.raises(Unauthenticated):
            here.subject(provider.token(kid=f"x{number}"))
    assert provider.fetched <= 2


def test_an_issuer_that_does_not_answer_is_no_wrong_token() -> None:
    with _serving() as gone:
        token = gone.token()
    for jwks in (None, f"{gone.url}/keys"):
        with pytest.raises(IssuerUnavailable):
            OpenIdIssuer(gone.url, "headrace", jwks).subject(token)


@pytest.mark.parametrize(
    "address", ["http://login.example.com", "file:///etc/passwd", "login.example.com", ""]
)
def test_an_issuer_is_https(address: Any) -> None:
    with pytest.raises(AccessRefused, match="does not use https"):
        OpenIdIssuer(address, "headrace", None)
    with pytest.raises(AccessRefused, match="does not use https"):
        OpenIdIssuer("https://login.example.com", "headrace", address or "http://x")
