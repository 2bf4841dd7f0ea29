"""Search and browse."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.catalog.records import CheckResult, CheckStatus, DatasetRecord, ProcessRecord, Technology
from headrace.publishing.publication import publish
from headrace.registration.declarations import register
from headrace.slas.tick import evaluate
from tests.platform.conftest import Draft
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


def test_a_dataset_is_found_by_its_code_by_those_who_may_read_it(browse: Browse, catalog: Engine) -> None:
    process = ProcessRecord(
        "mart/hidden", Technology.SPARK, inputs=(), outputs=("mart/hidden",), source="SELECT hazelnut FROM x"
    )
    register(catalog, [DatasetRecord("mart/hidden", "csv")], [process])

    assert "in its code" in browse(Role.PLATFORM_ADMIN, "root").open("/datasets?q=hazelnut")
    assert "/datasets/mart/hidden" not in browse().open("/datasets?q=hazelnut")


def test_migration_states_and_classifications_have_headings_of_their_own(
    browse: Browse, catalog: Engine
) -> None:
    tags = {"migration": "shadow", "classification": "internal", "team": "a"}
    register(catalog, [DatasetRecord("moved/one", "csv", tags=tags)], [])

    page = browse().open("/datasets/counts?domain=moved")

    assert "<h2>Migration</h2>" in page
    assert 'tag=migration%3A+shadow">shadow</a> <span class="quiet">1</span>' in page
    assert 'tag=classification%3A+internal">internal</a>' in page
    assert 'tag=team%3A+a">team: a</a>' in page


def test_datasets_are_filtered_by_their_quality_score(browse: Browse, catalog: Engine, draft: Draft) -> None:
    register(catalog, [DatasetRecord("q/good", "csv"), DatasetRecord("q/poor", "csv")], [])
    evaluate(catalog)
    for key, status in (("q/good", CheckStatus.PASS), ("q/poor", CheckStatus.WARN)):
        publish(catalog, None, [draft(key, checks=(CheckResult("ids", status, 0),))])
    evaluate(catalog)

    browser = browse()

    assert 'quality=90-100">90-100</a> <span class="quiet">1</span>' in browser.open(
        "/datasets/counts?domain=q"
    )
    page = browser.open("/datasets?quality=0-69")
    assert "/datasets/q/poor" in page
    assert "/datasets/q/good" not in page
    assert "/datasets/q/good" in browser.open("/datasets?q=good&quality=90-100")
