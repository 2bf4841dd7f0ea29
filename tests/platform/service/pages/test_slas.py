"""The board of objectives, and the page of an SLA."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.catalog.records import DatasetRecord
from headrace.database.connection import transaction
from headrace.registration.declarations import register
from headrace.slas.outages import plan_outage
from headrace.slas.tick import evaluate
from tests.platform.service.pages.conftest import Browse
from tests.platform.slas.building import declare, published, ran

DAILY = {"deadline": "0 6 * * *", "timezone": "UTC"}
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
SIX = NOW.replace(hour=6) - timedelta(days=1)  # the deadline of yesterday
OUTAGE = {"key": "a/late", "begins": "2030-01-01T00:00", "ends": "2030-01-02T00:00", "reason": "a move"}


@pytest.fixture
def objectives(catalog: Engine) -> Engine:
    """b/fine is met for a week; a/late was met late, then missed, and is late now."""
    declare(catalog, {"a/late": DAILY, "b/fine": DAILY}, [("b/fine", "a/late")])
    evaluate(catalog, SIX - timedelta(days=7, hours=-1))
    for day in range(8):
        published(catalog, "b/fine", SIX - timedelta(days=day, minutes=20))
    published(catalog, "a/late", SIX - timedelta(days=2, minutes=-35))
    evaluate(catalog, SIX + timedelta(hours=1))
    return catalog


@pytest.mark.usefixtures("objectives")
def test_the_board_shows_the_worst_first_with_counts(browse: Browse) -> None:
    page = browse().open("/slas")

    assert page.index("a/late") < page.index("b/fine")
    assert "nothing arrived by" in page
    assert 'All <span class="quiet">3</span>' in page
    assert 'href="/slas?state=LATE"' in page
    assert 'href="/slas?domain=b">b</a> <span class="quiet">1</span>' in page


@pytest.mark.usefixtures("objectives")
def test_filters_of_the_board_are_in_the_address(browse: Browse) -> None:
    browser = browse()
    assert "b/fine" not in browser.open("/slas?state=LATE")
    assert "a/late" not in browser.open("/slas?domain=b&kind=DELIVERY")
    assert "No objective matches." in browser.open("/slas?owner=no one")
    assert "query.state" in browser.open("/slas?state=SOON", 422)


@pytest.mark.usefixtures("objectives")
def test_several_values_of_a_filter_stay_in_every_link(browse: Browse) -> None:
    page = browse().open("/slas?state=LATE&state=ON_TRACK&domain=a")

    assert 'href="/slas.csv?state=LATE&amp;state=ON_TRACK&amp;domain=a"' in page
    assert "Status: Late, On track" in page


@pytest.mark.usefixtures("objectives")
def test_an_incident_without_an_alert_yet_has_no_broken_link(browse: Browse) -> None:
    page = browse().open("/slas/a/late")

    assert "Incident at a/late" in page
    assert 'href="/alerts/' not in page


def test_an_empty_board_says_what_to_do(browse: Browse) -> None:
    assert "Declare one with <code>sla:</code>" in browse().open("/slas")


def test_pages_of_the_board_follow_one_another(browse: Browse, catalog: Engine) -> None:
    declare(catalog, {f"many/d{number:02}": DAILY for number in range(60)})
    published(catalog, "many/d07", SIX - timedelta(minutes=20))
    evaluate(catalog, SIX - timedelta(hours=23))
    evaluate(catalog, SIX + timedelta(hours=1))
    browser = browse()

    first = browser.open("/slas?domain=many")
    second = browser.open("/slas" + first.split('class="more" href="')[1].split('"')[0].replace("&amp;", "&"))

    keys = [f'href="/slas/many/d{number:02}"' for number in range(60)]
    assert [first.count(key) + second.count(key) for key in keys] == [1] * 60
    assert keys[7] in second
    assert "50 of 60 shown" in first


@pytest.mark.usefixtures("objectives")
def test_the_board_is_exported(browse: Browse) -> None:
    answer = browse().client.get("/slas.csv?domain=a")

    assert answer.headers["content-type"].startswith("text/csv")
    [row] = csv.DictReader(StringIO(answer.text))
    assert (row["key"], row["state"], row["owners"]) == ("a/late", "LATE", "team:data")
    assert row["terms"] == "by 06:00 UTC each day"


def test_a_spreadsheet_sees_no_formula_in_an_export(browse: Browse, catalog: Engine) -> None:
    register(catalog, [DatasetRecord("a/sum", "csv", owners=("=HYPERLINK(1)",), sla=DAILY)])
    evaluate(catalog, SIX)

    assert "'=HYPERLINK(1)" in browse().client.get("/slas.csv").text


@pytest.mark.usefixtures("objectives")
def test_an_sla_shows_its_terms_its_incident_and_how_it_was_met(browse: Browse) -> None:
    page = browse().open("/slas/a/late")

    assert "Agreed: by 06:00 UTC each day." in page
    assert "Incident at a/late" in page
    day = SIX - timedelta(days=2)
    assert f"<title>{day:%A %Y-%m-%d}: met late by 35 min</title>" in page
    assert "35 min late" in page
    assert ": missed</title>" in page
    assert "of 6 days" in page or "of 7 days" in page


def test_an_explanation_names_the_path_that_is_waited_for(browse: Browse, catalog: Engine) -> None:
    declare(catalog, {"raw/a": None, "mart/c": DAILY}, [("raw/a", "mart/c")])
    now = datetime.now(UTC)
    for day in range(1, 40):
        arrived = now - timedelta(days=day, hours=-2)
        for key, at in (("raw/a", arrived), ("mart/c", arrived + timedelta(hours=1))):
            ran(catalog, key, at - timedelta(hours=1), at, "SUCCESS")
            published(catalog, key, at)
    evaluate(catalog, now - timedelta(days=1))

    page = browse().open("/slas/explanation?key=mart/c")
    assert page.index('href="/datasets/raw/a"') < page.index('href="/datasets/mart/c"')
    assert "where it begins" in page

    narrow = browse(user="bob", domain="mart").open("/slas/explanation?key=mart/c")
    assert "/datasets/mart/c" in narrow
    assert "raw/a" not in narrow


@pytest.mark.usefixtures("objectives")
def test_slas_of_other_domains_do_not_exist(browse: Browse) -> None:
    browser = browse(Role.DATA_OWNER, domain="b")

    assert "a/late" not in browser.open("/slas")
    assert "a/late" not in browser.client.get("/slas.csv").text
    browser.open("/slas/a/late", 404)
    browser.open("/slas/explanation?key=a/late", 404)


def test_an_unknown_sla_is_not_found(browse: Browse) -> None:
    assert "mart/report has no SLA" in browse().open("/slas/mart/report", 404)


@pytest.mark.usefixtures("objectives")
def test_an_owner_plans_an_outage(browse: Browse) -> None:
    browser = browse(Role.DATA_OWNER, domain="a")

    page = browser.submit("/slas/a/late", "/slas/outages", subjects="a/*", **OUTAGE)

    assert page.status_code == 200
    assert str(page.url.path) == "/slas/a/late"
    assert "a move" in page.text
    assert "user:ann" in page.text
    assert "a move" in browser.open("/slas")
    assert "a move" not in browse(user="bob", domain="b").open("/slas")


@pytest.mark.usefixtures("objectives")
@pytest.mark.parametrize("subjects", ["b/fine", "*", "a*", "[ab]/*"])
def test_an_outage_of_another_domain_is_refused(browse: Browse, objectives: Engine, subjects: str) -> None:
    refused = browse(Role.DATA_OWNER, domain="a").submit(
        "/slas/a/late", "/slas/outages", subjects=subjects, **OUTAGE
    )

    assert refused.status_code == 403
    with transaction(objectives) as cursor:
        assert cursor.execute("SELECT FROM catalog.planned_outage").fetchall() == []


@pytest.mark.usefixtures("objectives")
def test_a_consumer_plans_no_outage(browse: Browse) -> None:
    browser = browse()

    assert "Plan an outage" not in browser.open("/slas/a/late")
    assert browser.post("/slas/outages", subjects="a/late", **OUTAGE).status_code == 403


@pytest.mark.usefixtures("objectives")
def test_an_outage_needs_the_form_of_the_page_and_an_end_after_its_beginning(browse: Browse) -> None:
    browser = browse(Role.DATA_OWNER)
    form = {**OUTAGE, "subjects": "a/late"}

    assert browser.client.post("/slas/outages", data={**form, "form_token": "x"}).status_code == 403
    early = browser.submit("/slas/a/late", "/slas/outages", **{**form, "ends": "2029-01-01T00:00"})
    assert early.status_code == 422
    empty = browser.submit("/slas/a/late", "/slas/outages", **{**form, "ends": ""})
    assert (empty.status_code, "body.ends" in empty.text) == (422, True)
    assert "before it begins" in early.text


@pytest.mark.usefixtures("objectives")
def test_hostile_reasons_are_shown_as_text(browse: Browse, objectives: Engine) -> None:
    hostile = "<script>alert(1)</script>"
    plan_outage(objectives, "*", NOW, NOW + timedelta(days=1), hostile, "eve")

    page = browse().open("/slas/a/late")

    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_board_shows_a_few_of_many_outages(browse: Browse, objectives: Engine) -> None:
    begins = datetime(2030, 1, 1, tzinfo=UTC)
    for day in range(6):
        plan_outage(objectives, f"b/{day}*", begins, begins + timedelta(days=1), "a move", by="test")

    page = browse().open("/slas")

    assert page.count("a move") == 5
    assert "5 of 6 shown" in page


def test_an_outage_of_a_key_without_an_sla_is_not_planned(browse: Browse) -> None:
    steward = browse(Role.DATA_STEWARD)

    refused = steward.post(
        "/slas/outages",
        key="raw/flights",
        subjects="raw/flights",
        begins="2030-01-01T00:00",
        ends="2030-01-02T00:00",
        reason="move",
    )

    assert refused.status_code == 404
    assert "move" not in steward.open("/slas")
