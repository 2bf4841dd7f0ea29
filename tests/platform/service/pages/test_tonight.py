"""The home page."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from headrace.publishing.runs import attempt
from tests.platform.service.conftest import put
from tests.platform.service.pages.conftest import Browse


def test_a_quiet_night_says_so(browse: Browse) -> None:
    page = browse().open("/")

    assert "Nothing is late, at risk or failed." in page
    assert "Every SLA is on track." in page
    assert "Nothing has arrived." in page


def test_what_arrived_is_a_line_for_each_dataset(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/")

    assert page.count('href="/datasets/mart/delays"') == 1
    assert "second" in page
    assert "first" not in page


def test_a_failed_run_stands_there_until_a_later_one_succeeds(browse: Browse, catalog: Engine) -> None:
    browser, failed = browse(), uuid4()
    with pytest.raises(RuntimeError), attempt(catalog, run_id=failed, process_key="mart/delays"):
        raise RuntimeError("no space left")
    page = browser.open("/")
    assert "1 failed" in page
    assert f"/runs/{failed}" in page

    with attempt(catalog, run_id=uuid4(), process_key="mart/delays"):
        assert "1 running" in browser.open("/")
        put(catalog, "mart/delays", "mended")
    assert f"/runs/{failed}" not in browser.open("/")


def test_a_consumer_does_not_see_the_message_of_a_failure(browse: Browse, catalog: Engine) -> None:
    with pytest.raises(RuntimeError), attempt(catalog, run_id=uuid4(), process_key="mart/delays"):
        raise RuntimeError("no space left on volume 7")

    assert "volume 7" not in browse().open("/")


def test_a_user_of_another_domain_sees_nothing_of_this_one(browse: Browse, run_id: UUID) -> None:
    page = browse(domain="raw").open("/")

    assert "mart/delays" not in page
    assert "raw/flights" in page


def test_datasets_and_links_of_the_reader_are_listed(browse: Browse) -> None:
    mine = browse(user="ops@example.com")
    assert 'hx-get="/yours"' in mine.open("/")
    mine.post("/links", name="Late ones", address="/slas?state=LATE")
    page = mine.open("/yours")

    assert "whose owner is ops@example.com" in page
    assert page.count('href="/datasets/raw/flights"') == 1
    assert '<a href="/slas?state=LATE">Late ones</a>' in page
    assert "No dataset names you (ann)" in browse().open("/yours")
