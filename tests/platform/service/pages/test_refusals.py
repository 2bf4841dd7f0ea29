"""The pages of errors, and what every answer carries."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from headrace.errors import CatalogUnavailable
from headrace.http.security import rules
from headrace.pages import tonight
from tests.platform.service.pages.conftest import Browse


def test_an_unknown_page_is_a_page(browse: Browse) -> None:
    page = browse().open("/no/such/page", 404)

    assert "<h1>Not found</h1>" in page
    assert "request " in page


def test_programs_get_problem_documents_of_pages(browse: Browse) -> None:
    answer = browse().client.get("/no/such/page", headers={"Accept": "application/json"})

    assert answer.json()["status"] == 404


def test_a_catalog_that_is_away_is_a_page_with_what_to_do(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise CatalogUnavailable("the database at 10.0.0.7 refused the connection")

    browser = browse()
    monkeypatch.setattr(tonight, "list_alerts", away)

    page = browser.open("/", 503)
    assert "Try again in 5 s" in page
    assert "10.0.0.7" not in page


def test_a_fault_is_a_page_without_its_details(browse: Browse, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    browser = browse()
    monkeypatch.setattr(tonight, "list_alerts", fault)

    page = browser.open("/", 500)
    assert "Something went wrong" in page
    assert "secret" not in page


def test_every_page_forbids_scripts_and_frames_of_others(browse: Browse) -> None:
    policy = browse().client.get("/").headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_files_are_kept_by_browsers_and_only_files_of_the_pages_are_served(visitor: TestClient) -> None:
    assert "immutable" in visitor.get("/static/headrace.css").headers["cache-control"]
    assert visitor.get("/static/..%2frendering.py").status_code == 404
    assert visitor.get("/static/rendering.py").status_code == 404


def test_every_page_needs_a_session_or_a_signed_link(app: FastAPI, visitor: TestClient) -> None:
    pages = {rule.path for rule in rules(app) if rule.method == "GET" and rule.by_session}

    assert "/" in pages
    for path in pages:
        answer = visitor.get(path.replace("{", "").replace("}", ""))
        assert answer.headers["location"].startswith("/sign-in?next="), path


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [("/access/grant", 405, "This is not a page"), ("/night?since=yesterday", 422, "A value is wrong")],
)
def test_a_refusal_has_a_title_in_words(browse: Browse, path: str, status: int, title: str) -> None:
    assert f"<h1>{title}</h1>" in browse().open(path, status)


@pytest.mark.parametrize(
    ("referer", "link"),
    [
        ("http://127.0.0.1/datasets/mart/delays/manage?run=1", 'href="/datasets/mart/delays/manage?run=1"'),
        ("http://evil.example.com/datasets", None),
        ("http://127.0.0.1.example.com/", None),
        ("http://127.0.0.1//evil.example.com/", None),
    ],
)
def test_a_refused_form_leads_back_to_its_page(browse: Browse, referer: str, link: str | None) -> None:
    answer = browse().client.post("/datasets/mart/delays/retire", headers={"Referer": referer})

    assert answer.status_code == 403
    assert ("Back to the form" in answer.text) == (link is not None)
    assert (link or "<main") in answer.text
    assert "example.com" not in answer.text


@pytest.mark.parametrize("path", ["/links", "/no/such/page"])
def test_a_malformed_address_of_the_page_before_is_none(browse: Browse, path: str) -> None:
    assert browse().client.get(path, headers={"Referer": "http://["}).status_code in {200, 404}
