"""Search and browse."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord
from headrace.registration.declarations import register
from tests.platform.service.pages.conftest import Browse

HOSTILE = "<script>alert(1)</script>\u202ereversed" + "x" * 10_000


def test_browse_lists_the_datasets_by_key(browse: Browse) -> None:
    page = browse().open("/datasets")

    assert page.index("mart/delays") < page.index("mart/report") < page.index("raw/flights")


def test_words_find_datasets_despite_typing_errors(browse: Browse) -> None:
    page = browse().open("/datasets?q=deleys")

    assert "/datasets/mart/delays" in page
    assert "/datasets/mart/report" not in page
    assert "No dataset has the word deleys" in page


def test_filters_narrow_the_list_with_and_without_words(browse: Browse) -> None:
    browser = browse()
    for words in ("", "q=flights&"):
        page = browser.open(f"/datasets?{words}owner=ops@example.com&domain=raw")
        assert "/datasets/raw/flights" in page
        assert "/datasets/mart/delays" not in page
    assert "/datasets/mart/delays" in browser.open("/datasets?tag=tier: gold")
    assert "No dataset matches." in browser.open("/datasets?tag=tier: silver")


def test_processes_with_the_words_are_shown_beside(browse: Browse) -> None:
    page = browse().open("/datasets?q=report")

    assert page.count('href="/processes/mart/report"') == 1
    assert "Processes with these words" not in browse().open("/datasets")


def test_counts_say_how_many_datasets_a_filter_has(browse: Browse) -> None:
    page = browse().open("/datasets/counts")

    assert 'href="/datasets?domain=mart">mart</a> <span class="quiet">2</span>' in page
    assert 'href="/datasets?tag=tier%3A+gold">tier: gold</a> <span class="quiet">1</span>' in page


def test_pages_of_a_long_list_follow_one_another(browse: Browse, catalog: Engine) -> None:
    register(catalog, [DatasetRecord(f"many/d{number:03}", "parquet") for number in range(60)], [])
    browser = browse()

    first = browser.open("/datasets?domain=many")
    following = first.split('class="more" href="')[1].split('"')[0].replace("&amp;", "&")
    second = browser.open(f"/datasets{following}")

    assert "many/d049" in first
    assert "many/d050" not in first
    assert "many/d059" in second
    assert "many/d049" not in second


def test_hostile_descriptions_are_shown_as_text(browse: Browse, catalog: Engine) -> None:
    register(catalog, [DatasetRecord("mart/hostile", "parquet", description=HOSTILE)], [])

    page = browse().open("/datasets?q=hostile")

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_wrong_filter_is_explained(browse: Browse) -> None:
    assert "query.sla" in browse().open("/datasets?sla=SOON", 422)


def test_datasets_of_other_domains_are_not_counted(browse: Browse, run_id: UUID) -> None:
    page = browse(domain="raw").open("/datasets/counts")

    assert "mart" not in page


def test_a_search_names_the_columns_with_its_words(browse: Browse) -> None:
    assert 'column <a href="/datasets/mart/delays/columns?column=delay">delay</a>' in browse().open(
        "/datasets?q=delay"
    )
