"""Sign-in, sessions and sign-out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from fastapi import FastAPI
from oidc_provider_mock import app as provider_app
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Role
from headrace.access.grants import grant, revoke
from headrace.access.sessions import open_session
from headrace.database.connection import transaction
from headrace.pages.sessions import COOKIE
from headrace.service import create_app
from headrace.settings import settings
from tests.platform.service.conftest import OTHER
from tests.platform.service.pages.conftest import HTML, Browse
from tests.platform.service.serving import application

FORM = {"user": "ann", "role": "DATA_STEWARD", "next": "/datasets?q=delays"}


def test_a_page_without_a_session_leads_to_the_sign_in_and_back(visitor: TestClient) -> None:
    away = visitor.get("/datasets?q=delays&owner=team:data")
    assert away.status_code == 303
    assert away.headers["location"] == "/sign-in?next=/datasets%3Fq%3Ddelays%26owner%3Dteam%3Adata"

    shown = visitor.get(away.headers["location"])
    assert 'value="/datasets?q=delays&amp;owner=team:data"' in shown.text


def test_a_part_of_a_page_without_a_session_leads_back_to_the_page(visitor: TestClient) -> None:
    asked = {"HX-Request": "true", "HX-Current-URL": "http://testserver/night?hours=4"}

    assert (
        visitor.get("/night?plan=1", headers=asked).headers["hx-redirect"]
        == "/sign-in?next=/night%3Fhours%3D4"
    )


@pytest.mark.parametrize(
    ("sender", "back"),
    [
        ("http://127.0.0.1/alerts?state=OPEN", "/alerts%3Fstate%3DOPEN"),
        ("http://evil.example/alerts", "/"),
        ("", "/"),
    ],
)
def test_a_form_without_a_session_is_not_done_and_says_so(
    visitor: TestClient, sender: str, back: str
) -> None:
    headers = {"Referer": sender, "Host": "127.0.0.1"}

    away = visitor.post("/slas/outages", data={"reason": "x"}, headers=headers)

    assert (away.status_code, away.headers["location"]) == (303, f"/sign-in?next={back}&undone=true")
    assert "nothing was changed" in visitor.get(away.headers["location"]).text


def test_the_development_sign_in_opens_a_session_with_the_chosen_role(visitor: TestClient) -> None:
    answer = visitor.post("/sign-in", data=FORM)

    assert (answer.status_code, answer.headers["location"]) == (303, "/datasets?q=delays")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    page = visitor.get("/datasets?q=delays")
    assert page.status_code == 200
    assert "Data steward" in page.text


def test_the_development_sign_in_without_a_role_needs_a_grant(visitor: TestClient, catalog: Engine) -> None:
    refused = visitor.post("/sign-in", data={**FORM, "role": ""})
    assert refused.status_code == 403
    assert "headrace access grant ann DATA_CONSUMER" in refused.text

    grant(catalog, "ann", Role.DATA_CONSUMER, by="test")
    assert visitor.post("/sign-in", data={**FORM, "role": ""}).status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example.com"},
        {"X-Forwarded-For": "10.0.0.1"},
        {"Origin": "https://evil.example.com"},
    ],
)
def test_the_development_sign_in_refuses_other_machines_and_sites(
    visitor: TestClient, headers: dict[str, str]
) -> None:
    assert visitor.post("/sign-in", data=FORM, headers=headers).status_code == 403


def test_no_development_sign_in_or_session_in_production(
    visitor: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert visitor.post("/sign-in", data=FORM).status_code == 303
    monkeypatch.setenv("HEADRACE_PRODUCTION", "true")
    settings.cache_clear()

    assert visitor.get("/").status_code == 303
    assert visitor.post("/sign-in", data=FORM).status_code == 403
    assert "HEADRACE_ACCESS__ISSUER" in visitor.get("/sign-in").text


@pytest.mark.parametrize("address", ["https://evil.example.com", "//evil.example.com", "/\\evil.example.com"])
def test_a_sign_in_leads_to_no_other_site(visitor: TestClient, address: str) -> None:
    assert visitor.post("/sign-in", data={**FORM, "next": address}).headers["location"] == "/"


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(
    visitor: TestClient, catalog: Engine
) -> None:
    grant(catalog, "ann", Role.DATA_CONSUMER, by="test")
    token = open_session(catalog, "ann")
    visitor.cookies.set(COOKIE, token)
    assert visitor.get("/").status_code == 200

    assert visitor.post("/sign-out").headers["location"] == "/sign-in"

    visitor.cookies.set(COOKIE, token)
    assert visitor.get("/").status_code == 303


def test_a_browser_signs_in_to_a_catalog_without_anything(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_PRODUCTION", "false")
    settings.cache_clear()
    with TestClient(
        application(engine), headers=HTML, client=("127.0.0.1", 50000), base_url="http://127.0.0.1"
    ) as browser:
        assert (
            "There are no datasets yet." in browser.post("/sign-in", data={**FORM, "next": "/datasets"}).text
        )


def test_a_user_of_two_organisations_switches_between_them(browse: Browse, catalog: Engine) -> None:
    grant(catalog, "ann", Role.DATA_STEWARD, organisation=OTHER, by="test")
    browser = browse(Role.DATA_CONSUMER)
    assert "/datasets/mart/delays" in browser.open("/datasets")

    switched = browser.submit("/", "/sign-in/organisation", organisation=OTHER)

    assert f"in {OTHER}" in switched.text
    assert "Data steward" in switched.text
    assert "/datasets/mart/delays" not in browser.open("/datasets")


def test_a_user_does_not_switch_to_an_organisation_without_a_role(browse: Browse) -> None:
    browser = browse(Role.PLATFORM_ADMIN)

    refused = browser.submit("/access", "/sign-in/organisation", organisation=OTHER)

    assert refused.status_code == 403
    assert "Switch to" not in browser.open("/")


def test_signing_in_again_ends_the_session_before(visitor: TestClient, catalog: Engine) -> None:
    visitor.post("/sign-in", data=FORM)
    former = visitor.cookies[COOKIE]

    visitor.post("/sign-in", data={**FORM, "user": "bob"})

    visitor.cookies.clear()
    visitor.cookies.set(COOKIE, former)
    assert visitor.get("/").status_code == 303


def test_a_session_ends_with_the_last_grant_of_its_user(browse: Browse, catalog: Engine) -> None:
    browser = browse(Role.DATA_CONSUMER)
    browser.open("/")

    revoke(catalog, "ann", Role.DATA_CONSUMER, by="test")

    assert "ann has no role in any organisation" in browser.open("/", 403)


def test_a_session_expires(browse: Browse, catalog: Engine) -> None:
    browser = browse()
    with transaction(catalog) as cursor:
        cursor.execute(
            "UPDATE catalog.page_session SET expires_at = %s", [datetime.now(UTC) - timedelta(seconds=1)]
        )

    assert "<h1>Sign in</h1>" in browser.open("/")


def test_the_api_takes_no_session(browse: Browse) -> None:
    assert browse().client.get("/api/v1/dataset").status_code == 401


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An OpenID Connect provider in a thread, configured as the issuer."""
    server = make_server("127.0.0.1", 0, provider_app(), handler_class=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HEADRACE_ACCESS__ISSUER", address)
    monkeypatch.setenv("HEADRACE_ACCESS__CLIENT_SECRET", "of-the-pages")
    monkeypatch.setenv("HEADRACE_SERVICE_URL", "http://127.0.0.1")
    settings.cache_clear()
    yield address
    server.shutdown()
    server.server_close()


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def away(issuer: str, catalog: Engine) -> Iterator[TestClient]:
    """A browser of a deployment with the issuer."""
    with TestClient(
        create_app(catalog), headers=HTML, base_url="http://127.0.0.1", follow_redirects=False
    ) as client:
        yield client


def _authorize(browser: TestClient, user: str) -> str:
    """Sign in at the issuer, which returns the address to which it sends the browser back."""
    start = browser.get("/sign-in/start?next=/datasets")
    asked = parse_qs(urlsplit(start.headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["response_type"] == ["code"]
    return httpx.post(start.headers["location"], data={"sub": user}).headers["location"]


def test_the_issuer_signs_a_user_in(away: TestClient, catalog: Engine) -> None:
    grant(catalog, "ann@example.com", Role.DATA_OWNER, by="test")

    back = away.get(_authorize(away, "ann@example.com"))

    assert (back.status_code, back.headers["location"]) == (303, "/datasets")
    assert "Data owner" in away.get("/datasets").text
    assert "evelopment" not in away.get("/sign-in").text


def test_a_user_of_the_issuer_without_a_role_is_refused(away: TestClient) -> None:
    refused = away.get(_authorize(away, "bob@example.com"))

    assert refused.status_code == 403
    assert "headrace access grant bob@example.com DATA_CONSUMER" in refused.text


def test_a_code_for_another_browser_is_refused(away: TestClient, app: FastAPI, catalog: Engine) -> None:
    grant(catalog, "ann@example.com", Role.DATA_OWNER, by="test")
    address = _authorize(away, "ann@example.com")
    away.cookies.clear()

    assert away.get(address).status_code == 403


def test_an_issuer_that_is_away_is_said_so(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_ACCESS__ISSUER", "http://127.0.0.1:9")
    monkeypatch.setenv("HEADRACE_SERVICE_URL", "http://127.0.0.1")
    settings.cache_clear()

    answer = visitor.get("/sign-in/start")

    assert answer.status_code == 503
    assert "try again shortly" in answer.text
