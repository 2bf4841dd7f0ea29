"""Links that users save for themselves."""

from __future__ import annotations

import pytest

from headrace.access.saved_links import MAX_LINKS
from tests.platform.service.pages.conftest import Browse


def test_a_link_to_the_page_before_is_saved_and_deleted(browse: Browse) -> None:
    browser = browse()
    before = {"referer": "http://127.0.0.1/datasets?owner=team:data"}
    assert 'value="/datasets?owner=team:data"' in browser.client.get("/links", headers=before).text

    saved = browser.submit("/links", "/links", name="Ours", address="/datasets?owner=team:data").text
    assert '<a href="/datasets?owner=team:data">Ours</a>' in saved
    assert "Ours" not in browse(user="bob").open("/links")
    saved = browser.submit("/links", "/links", name="Ours", address="/night").text
    assert '<a href="/night">Ours</a>' in saved

    assert "You have saved no link." in browser.submit("/links", "/links/forget", name="Ours").text


@pytest.mark.parametrize(
    "address", ["https://example.com/", "//example.com/", "javascript:alert(1)", "/\\example.com", "data:,x"]
)
def test_no_link_leads_to_another_site(browse: Browse, address: str) -> None:
    saved = browse().submit("/links", "/links", name="<b>Ours</b>", address=address).text

    assert '<a href="/">&lt;b&gt;Ours&lt;/b&gt;</a>' in saved


def test_the_page_of_another_site_is_not_proposed(browse: Browse) -> None:
    page = browse().client.get("/links", headers={"referer": "https://example.com/datasets"}).text

    assert 'name="address" value=""' in page


def test_the_oldest_of_too_many_is_forgotten(browse: Browse) -> None:
    browser = browse()
    for number in range(MAX_LINKS + 1):
        browser.post("/links", name=f"link {number:02}", address="/")

    page = browser.open("/links")
    assert "link 00" not in page
    assert f"link {MAX_LINKS}" in page


def test_a_form_of_another_site_saves_nothing(browse: Browse) -> None:
    browser = browse()
    assert browser.client.post("/links", data={"name": "x", "address": "/"}).status_code == 403
    assert "You have saved no link." in browser.open("/links")
