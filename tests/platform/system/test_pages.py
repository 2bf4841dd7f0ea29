"""The catalog's pages in a real browser: every page at two widths, and what their scripts do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.access.grants import grant
from headrace.access.sessions import open_session
from headrace.alerts import links
from headrace.alerts.queries import history
from headrace.catalog.sensitivity_suggestions import store_suggestions
from headrace.estates.estates import scan
from headrace.estates.scan_history import scans
from headrace.http.security import rules
from headrace.pages.sessions import COOKIE
from headrace.pages.static_files import static_url
from headrace.personal_data.suggestions import Suggestion
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.service import create_app
from headrace.settings import settings
from headrace.slas.tick import evaluate
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.service.conftest import DATASETS, PROCESSES, put
from tests.platform.service.pages.conftest import raised
from tests.platform.service.serving import served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

AXE = REPOSITORY / "headrace/pages/ui/node_modules/axe-core/axe.min.js"
AUDIT = """
axe.run().then(({violations}) => violations.map(
    ({id, help, nodes}) => `${id}: ${help}: ${nodes.map(({html}) => html.slice(0, 200)).join(" | ")}`))
"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Confirm, and while the form is on its way press its button again.
TWICE = """
const dialog = document.querySelector("dialog#confirm");
const button = document.querySelector("form[action='/slas/outages'] button");
dialog.addEventListener("close", () => queueMicrotask(() => button.click()));
dialog.querySelector("[value=yes]").click();
"""
Scheme = Literal["light", "dark"]
LOOKS: tuple[tuple[int, Scheme], ...] = ((1280, "light"), (390, "dark"))
# An address of each page, by its route.
EXAMPLES = {
    "/": "/",
    "/access": "/access",
    "/alert": "{link}",
    "/alerts": "/alerts",
    "/alerts/{alert_id}": "/alerts/{alert}",
    "/approvals": "/approvals",
    "/approvals/candidates": "/approvals/candidates",
    "/approvals/sensitive": "/approvals/sensitive",
    "/audit": "/audit",
    "/datasets": "/datasets?q=delays",
    "/datasets/counts": "/datasets/counts",
    "/datasets/{dataset:path}": "/datasets/mart/delays",
    "/datasets/{dataset:key}/access": "/datasets/mart/delays/access",
    "/datasets/{dataset:key}/changes": "/datasets/mart/delays/changes",
    "/datasets/{dataset:key}/checks": "/datasets/mart/delays/checks",
    "/datasets/{dataset:key}/columns": "/datasets/mart/delays/columns",
    "/datasets/{dataset:key}/compare": "/datasets/mart/delays/compare?before=first&after=first",
    "/datasets/{dataset:key}/manage": "/datasets/mart/delays/manage",
    "/datasets/{dataset:key}/rows": "/datasets/mart/delays/rows",
    "/datasets/{dataset:key}/version/{tag:path}": "/datasets/mart/delays/version/first",
    "/datasets/{dataset:key}/versions": "/datasets/mart/delays/versions",
    "/design": "/design",
    "/estate": "/estate",
    "/estate/{scan_id}": "/estate/{scan}",
    "/incidents": "/incidents?closed=true",
    "/incidents/{incident_id}": "/incidents/{alert}",
    "/lineage/{key:path}": "/lineage/mart/delays",
    "/links": "/links",
    "/night": "/night",
    "/platform": "/platform",
    "/policies": "/policies",
    "/processes": "/processes",
    "/processes/{process:path}": "/processes/mart/delays",
    "/runs/{run}": "/runs/{run}",
    "/runs/{run}/log": "/runs/{run}/log",
    "/sign-in": "/sign-in",
    "/slas": "/slas",
    "/slas/explanation": "/slas/explanation?key=mart/delays",
    "/slas/{key:path}": "/slas/mart/delays",
    "/yours": "/yours",
}
NO_PAGES = {"/sign-in/callback", "/sign-in/start", "/slas.csv", "/static/{name}"}


@dataclass
class Site:
    """The service over a small catalog, with an alert."""

    app: FastAPI
    engine: Engine
    url: str
    names: dict[str, str]
    token: str


@pytest.fixture
def site(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    monkeypatch.setenv("HEADRACE_ALERT_SECRET", "s" * 40)
    settings.cache_clear()
    if not AXE.is_file() or static_url("pages.js") is None:
        pytest.skip("the scripts of the pages are not built: `make ui` builds them")
    register(engine, DATASETS, PROCESSES)
    put(engine, "raw/flights", "raw-1", partition="2026-01-01")
    run = uuid4()
    with attempt(engine, run_id=run, process_key="mart/delays"):
        put(engine, "mart/delays", "first", run_id=run)
    suggested = Suggestion("delay", "phone number", 0.65, "9 of 9 values are valid phone numbers")
    store_suggestions(engine, "mart/delays", [suggested], datetime.now(UTC))
    evaluate(engine, datetime.now(UTC) + timedelta(hours=2))
    alert = raised(engine, "mart/report", "mart/delays")
    notification = history(engine, alert).notifications[0]
    link = links.link("", "s" * 40, notification.notification_id, datetime.now(UTC))
    grant(engine, "ann", Role.PLATFORM_ADMIN, by="test")
    jil = tmp_path / "jobs.jil"
    jil.write_text("insert_job: LOAD   job_type: CMD\nmachine: m1\ncommand: load.sh\n")
    scan(engine, [jil])
    app = create_app(engine)
    with served(app) as url:
        yield Site(
            app,
            engine,
            url,
            {"alert": str(alert), "link": link, "run": str(run), "scan": str(scans(engine)[0].scan_id)},
            open_session(engine, "ann"),
        )


@dataclass
class Visit:
    """A page of the browser, and what went wrong on it."""

    page: Page
    problems: list[str]


Visiting = Callable[..., Visit]


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visiting]:
    """Open a page at an address, signed in."""
    opened: list[Page] = []

    def visiting(path: str, width: int = 1280, scheme: Scheme = "light") -> Visit:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        opened.append(page)
        page.set_default_timeout(WAIT_SECONDS * 1000)
        page.context.add_cookies([{"name": COOKIE, "value": site.token, "url": site.url}])
        problems: list[str] = []
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("requestfailed", lambda request: problems.append(f"failed: {request.url}"))
        page.on(
            "request",
            lambda request: (
                None
                if urlsplit(request.url).netloc == urlsplit(site.url).netloc
                else problems.append(f"another host: {request.url}")
            ),
        )
        page.on(
            "response",
            lambda answer: (
                problems.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None
            ),
        )
        page.goto(site.url + path, wait_until="networkidle")
        return Visit(page, problems)

    yield visiting
    for page in opened:
        page.context.close()


def test_every_page_is_accessible_fits_its_window_and_asks_no_other_host(site: Site, visit: Visiting) -> None:
    pages = {
        rule.path
        for rule in rules(site.app)
        if rule.method == "GET" and not rule.path.startswith(("/api/", "/health/", "/metrics"))
    }
    assert pages - NO_PAGES == set(EXAMPLES), "give each page an example address, or name it in NO_PAGES"
    found = []
    looks = [(f"{width} px, {scheme}", visit("/", width, scheme)) for width, scheme in LOOKS]
    audit = f"{AXE.read_text()}; {AUDIT}"
    for template in EXAMPLES.values():
        path = template.format(**site.names)
        for _, visited in looks:  # both wait for the silence of the network at the same time
            visited.problems.clear()
            visited.page.goto(site.url + path, wait_until="commit")
        for look, visited in looks:
            visited.page.wait_for_load_state("networkidle")
            problems = [*visited.problems, *visited.page.evaluate(audit)]
            if overflow := visited.page.evaluate(OVERFLOW):
                problems.append(f"wider than its window by {overflow} px")
            found += [f"{path} at {look}: {each}" for each in problems]
    assert not found, "\n".join(found)


def test_a_slash_goes_to_the_search_and_letters_from_row_to_row(visit: Visiting) -> None:
    page = visit("/datasets").page
    rows = page.locator("tbody tr")

    page.keyboard.press("j")
    expect(rows.nth(0).get_by_role("link").first).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1).get_by_role("link").first).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0).get_by_role("link").first).to_be_focused()

    page.keyboard.press("/")
    expect(page.get_by_placeholder("Find datasets")).to_be_focused()
    page.keyboard.type("j")
    expect(page.get_by_placeholder("Find datasets")).to_have_value("j")


def test_what_cannot_be_undone_is_confirmed(visit: Visiting) -> None:
    visited = visit("/slas/mart/delays")
    page, dialog = visited.page, visited.page.get_by_role("dialog")
    page.get_by_text("Plan an outage").click()
    page.get_by_label("To, in UTC").fill("2030-01-01T00:00")
    page.get_by_label("Reason").fill("the cluster moves")

    page.get_by_role("button", name="Plan the outage").click()
    expect(dialog).to_contain_text("Pause the SLAs")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("None is planned.")).to_be_visible()

    page.get_by_role("button", name="Plan the outage").click()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.evaluate(TWICE)
    expect(page.get_by_role("cell", name="the cluster moves")).to_be_visible()
    assert len(sent) == 1
    assert visited.problems == []


def test_an_alert_is_acknowledged_and_handed_over_on_a_phone(site: Site, visit: Visiting) -> None:
    page = visit(f"/alerts/{site.names['alert']}", 390).page
    button = page.get_by_role("button", name="Acknowledge")
    assert button.bounding_box()["height"] >= 44

    button.click()
    expect(page.get_by_text("by user:ann").first).to_be_visible()
    page.get_by_text("Hand over").first.click()
    page.get_by_label("To a person or an owner").fill("bob@example.com")
    page.get_by_role("button", name="Hand over").click()
    expect(page.get_by_text("user:ann handed it over to bob@example.com")).to_be_visible()


def test_the_home_page_stays_up_to_date(site: Site, visit: Visiting) -> None:
    page = visit("/").page
    page.clock.install()
    page.reload(wait_until="networkidle")
    expect(page.get_by_text("Nothing is running.")).to_be_visible()

    with attempt(site.engine, run_id=uuid4(), process_key="mart/report"):
        page.clock.run_for(16_000)
        expect(page.get_by_text("1 running")).to_be_visible()

        away = page.get_by_text("This is not up to date")
        page.route(
            "**/", lambda route: route.fulfill(status=503, body="<p>away</p>", content_type="text/html")
        )
        page.clock.run_for(16_000)
        expect(away).to_be_visible()
        expect(page.get_by_text("1 running")).to_be_visible()
        page.unroute("**/")
        page.clock.run_for(16_000)
        expect(away).to_be_hidden()


def test_a_lineage_is_saved_as_png(visit: Visiting, tmp_path: Path) -> None:
    visited = visit("/lineage/mart/delays")
    with visited.page.expect_download() as download:
        visited.page.get_by_role("link", name="Export as PNG").click()

    assert download.value.suggested_filename == "mart-delays.png"
    download.value.save_as(tmp_path / "drawing.png")
    content = (tmp_path / "drawing.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 5_000
    assert visited.problems == []


def test_a_drawing_that_cannot_be_had_leads_to_the_sign_in(visit: Visiting) -> None:
    page = visit("/lineage/mart/delays").page
    page.context.clear_cookies()
    page.get_by_role("link", name="Export as PNG").click()

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_plan_of_the_night_follows_the_page_and_a_slider_goes_back_in_time(visit: Visiting) -> None:
    visited = visit("/night")
    page = visited.page
    expect(page.get_by_role("columnheader", name="Slack")).to_be_visible()
    expect(page.get_by_text("Critical path to").last).to_be_visible()

    page.get_by_role("slider").fill("0")
    expect(page.get_by_text("As it was at").last).to_be_visible()
    expect(page.get_by_role("cell", name="Not started").first).to_be_visible()
    assert "minute=0" in page.url
    assert visited.problems == []
