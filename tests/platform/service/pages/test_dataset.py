"""The views of a dataset, and the actions that choose what readers get."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.access.callers import Role
from headrace.catalog.records import CheckStatus, Column, DatasetRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.registration.declarations import register
from headrace.slas.tick import evaluate
from tests.platform.service.conftest import put
from tests.platform.service.pages.conftest import Browse
from tests.platform.slas.building import declare

VIEWS = (
    "",
    "/access",
    "/columns",
    "/rows",
    "/versions",
    "/version/second",
    "/compare?before=first&after=second",
    "/checks",
)


def published(catalog: Engine, key: str = "mart/delays") -> str:
    [row] = queries.published(catalog, [key])
    return row.version.tag


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("view", VIEWS)
def test_each_role_opens_each_view(browse: Browse, run_id: UUID, role: Role, view: str) -> None:
    page = browse(role).open(f"/datasets/mart/delays{view}")

    assert "How late flights were, by day" in page
    assert "team:data" in page


@pytest.mark.parametrize("view", VIEWS)
def test_a_dataset_of_another_domain_does_not_exist(browse: Browse, run_id: UUID, view: str) -> None:
    page = browse(domain="raw").open(f"/datasets/mart/delays{view}", 404)

    assert "How late flights were" not in page


@pytest.mark.parametrize("key", ["mart/columns", "mart/versions", "x/version/y", "mart/changes"])
def test_a_dataset_named_like_a_view_has_all_views(browse: Browse, catalog: Engine, key: str) -> None:
    register(catalog, [DatasetRecord(key, "csv", description="Named like a view")], [])
    put(catalog, key, "first")
    browser = browse()

    for view in ("", "/columns", "/versions", "/version/first", "/compare", "/checks"):
        page = browser.open(f"/datasets/{key}{view}")
        assert f"<h1>{key}</h1>" in page
        assert "Named like a view" in page


def test_a_version_with_a_slash_in_its_tag_opens(browse: Browse, catalog: Engine) -> None:
    put(catalog, "mart/report", "v1/final ?#")
    browser = browse()

    [address] = set(
        re.findall(
            r'href="(/datasets/mart/report/version/[^"]+)"', browser.open("/datasets/mart/report/versions")
        )
    )
    assert "v1/final ?#" in browser.open(address)


def test_the_overview_names_neighbours_and_the_declaration(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays")

    assert 'href="/datasets/raw/flights"' in page
    assert 'href="/datasets/mart/report"' in page
    assert 'href="/processes/mart/delays"' in page


def test_the_overview_names_readers_with_their_owners_and_the_last_runs(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays")

    assert re.search(r'href="/datasets/mart/report">.*</td><td>\s*<a [^>]*>team:board</a>', page)
    assert f'href="/runs/{run_id}"' in page


def test_the_overview_has_the_calendar_of_the_sla(browse: Browse, catalog: Engine) -> None:
    declare(catalog, {"mart/daily": {"deadline": "0 6 * * *", "timezone": "UTC"}})
    now = datetime.now(UTC)
    evaluate(catalog, now - timedelta(days=3))
    evaluate(catalog, now)

    assert 'aria-label="Delivery by day"' in browse().open("/datasets/mart/daily")


def test_the_classification_is_a_fact_of_its_own(browse: Browse, catalog: Engine) -> None:
    register(catalog, [DatasetRecord("crm/people", "csv", tags={"classification": "restricted"})])

    assert "<dt>Classification</dt><dd>restricted</dd>" in browse().open("/datasets/crm/people")


def test_changes_that_stewards_propose_in_openmetadata_are_shown(browse: Browse, catalog: Engine) -> None:
    assert "Proposed by stewards" not in browse().open("/datasets/mart/delays")
    with transaction(catalog) as cursor:
        cursor.execute(
            "INSERT INTO catalog.openmetadata_change (organisation_id, dataset_id, field, value, declared, outcome, "
            "changed_by, changed_at) SELECT organisation_id, dataset_id, 'description', '\"<b>Late</b>\"', 'null', "
            "'KEPT', 'ada', now() FROM catalog.dataset WHERE full_name = 'mart/delays'"
        )
    page = browse().open("/datasets/mart/delays")
    assert "Proposed by stewards" in page
    assert "&lt;b&gt;Late&lt;/b&gt;" in page
    assert "Proposed" not in browse().open("/datasets/raw/flights")


def test_the_columns_are_those_of_the_published_version(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays/columns")

    assert ">carrier</a></th>" in page
    assert "minutes" in page
    assert "2 columns" in page
    assert "3 columns" in page
    assert "Compatible" in page


def test_a_tagged_column_shows_its_tag(browse: Browse, catalog: Engine) -> None:
    columns = (Column("name", "string", tags=("pii",)),)
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=columns)], [])

    assert '<span class="tag">pii</span>' in browse().open("/datasets/crm/people/columns")


def test_versions_show_which_one_readers_get(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays/versions")

    assert page.count("Published now") == 1
    assert page.index("second") < page.index("first")


def test_a_version_shows_its_exact_inputs(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays/version/second")

    assert "/datasets/raw/flights/version/raw-1?partition=2026-01-01" in page
    assert f"/runs/{run_id}" in page


def test_a_location_is_masked_for_whom_the_api_masks_it(browse: Browse, catalog: Engine) -> None:
    columns = (Column("name", "string", tags=("pii",)),)
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=columns)], [])
    put(catalog, "crm/people", "only", columns=columns)

    assert "/warehouse/crm/people" not in browse().open("/datasets/crm/people/version/only")
    assert "/warehouse/crm/people" in browse(Role.DATA_OWNER, "bob").open("/datasets/crm/people/version/only")


def test_two_versions_differ_by_a_column(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/datasets/mart/delays/compare?before=first&after=second")

    assert 'Columns <span class="quiet">1 of 3 differ</span>' in page
    assert '<th scope="row">carrier</th><td>\N{EN DASH}</td><td class="changed">string</td>' in page


def test_an_empty_field_of_a_form_is_none(browse: Browse, run_id: UUID) -> None:
    browser = browse()

    assert "second" in browser.open("/datasets/mart/delays/compare?partition=&before=first&after=second")
    assert "second" in browser.open("/datasets/mart/delays/versions?partition=")
    browser.open("/datasets/mart/delays/rows?version=&partition=")


def test_an_unknown_version_is_a_page(browse: Browse, run_id: UUID) -> None:
    assert "Not found" in browse().open("/datasets/mart/delays/version/third", 404)
    assert "Not found" in browse().open("/datasets/mart/delays/compare?before=first&after=third", 404)


def test_a_dataset_without_versions_says_what_to_do(browse: Browse) -> None:
    assert "headrace materialize mart/report" in browse().open("/datasets/mart/report/versions")
    assert "No check is declared." in browse().open("/datasets/mart/report/checks")
    assert "No version has been written yet." in browse().open("/datasets/mart/report/compare")


def test_an_owner_rolls_back_and_the_change_is_recorded(
    browse: Browse, catalog: Engine, run_id: UUID
) -> None:
    owner = browse(Role.DATA_OWNER)

    answer = owner.submit(
        "/datasets/mart/delays/version/first",
        "/datasets/mart/delays/rollback",
        to="first",
        reason="wrong carriers",
    )

    assert answer.url.path == "/datasets/mart/delays/versions"
    assert re.search("rolled back to by user:ann .*wrong carriers", answer.text)
    assert published(catalog) == "first"
    history = queries.version(catalog, "mart/delays", "first")
    assert history.published


def test_rolling_back_twice_is_refused_the_second_time(browse: Browse, run_id: UUID) -> None:
    owner = browse(Role.DATA_OWNER)
    form = {"to": "first", "reason": "wrong carriers"}
    page = "/datasets/mart/delays/version/second"
    assert owner.submit(page, "/datasets/mart/delays/rollback", **form).status_code == 200

    again = owner.submit(page, "/datasets/mart/delays/rollback", **form)

    assert again.status_code == 409
    assert "has version first published already" in again.text


def test_an_owner_pins_and_unpins(browse: Browse, run_id: UUID) -> None:
    owner = browse(Role.DATA_OWNER)
    page = "/datasets/mart/delays/version/first"

    pinned = owner.submit(
        page, "/datasets/mart/delays/pin", tag="first", consumer="mart/report", reason="month-end"
    )
    assert "pinned by user:ann" in pinned.text
    assert "month-end" in pinned.text
    assert "pinned for mart/report" in pinned.text

    free = owner.submit(
        "/datasets/mart/delays/versions", "/datasets/mart/delays/unpin", consumer="mart/report"
    )
    assert "pinned by" not in free.text


@pytest.mark.parametrize("role", [Role.DATA_CONSUMER, Role.DATA_STEWARD])
@pytest.mark.parametrize("action", ["rollback", "pin", "unpin"])
def test_others_neither_see_nor_do_it(
    browse: Browse, catalog: Engine, run_id: UUID, role: Role, action: str
) -> None:
    other = browse(role)
    assert "Roll back" not in other.open("/datasets/mart/delays/version/first")
    # The token of a form is the session's, whatever the page.
    token = browse(Role.DATA_OWNER, "bob").client
    assert token.cookies != other.client.cookies

    refused = other.client.post(f"/datasets/mart/delays/{action}", data={"to": "first", "reason": "x"})

    assert refused.status_code == 403
    assert published(catalog) == "second"


def test_an_owner_of_another_domain_is_refused(browse: Browse, catalog: Engine, run_id: UUID) -> None:
    owner = browse(Role.DATA_OWNER, domain="raw")

    answer = owner.client.post("/datasets/mart/delays/rollback", data={"to": "first", "reason": "x"})

    assert answer.status_code in (403, 404)
    assert published(catalog) == "second"


def test_a_form_of_another_site_changes_nothing(browse: Browse, catalog: Engine, run_id: UUID) -> None:
    owner = browse(Role.DATA_OWNER)
    form = {"to": "first", "reason": "x"}

    forged = owner.client.post("/datasets/mart/delays/rollback", data={**form, "form_token": "0" * 64})
    foreign = owner.client.post(
        "/datasets/mart/delays/rollback", data=form, headers={"Origin": "https://evil.example.com"}
    )

    assert (forged.status_code, foreign.status_code) == (403, 403)
    assert published(catalog) == "second"


def test_the_trail_of_a_dataset_is_for_stewards(browse: Browse, run_id: UUID) -> None:
    steward = browse(Role.DATA_STEWARD)

    assert "Changes" in steward.open("/datasets/mart/delays/changes")
    browse(Role.DATA_CONSUMER, "bob").open("/datasets/mart/delays/changes", 403)


def test_who_audits_one_domain_has_no_link_to_what_is_refused(browse: Browse, run_id: UUID) -> None:
    assert 'href="/datasets/mart/delays/changes"' in browse(Role.DATA_STEWARD).open("/datasets/mart/delays")

    steward = browse(Role.DATA_STEWARD, "bob", domain="mart")
    assert "/changes" not in steward.open("/datasets/mart/delays")


def test_hostile_and_hidden_values_of_rows(browse: Browse, catalog: Engine) -> None:
    columns = (Column("text", "string"), Column("name", "string", tags=("pii",)))
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=columns)], [])
    place = Path(current_context().settings.warehouse_uri.removeprefix("file://")) / "crm/people/only"
    place.mkdir(parents=True)
    pq.write_table(pa.table({"text": ["<script>alert(1)</script>"], "name": ["Ann"]}), place / "part.parquet")
    size = (place / "part.parquet").stat().st_size
    put(catalog, "crm/people", "only", columns=columns, location=f"file:{place}", byte_size=size)

    page = browse().open("/datasets/crm/people/rows")

    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "Ann" not in page
    assert "hidden from you" in page
    assert ">Ann<" in browse(Role.DATA_OWNER, "bob").open("/datasets/crm/people/rows")


def test_the_checks_explain_the_score_and_show_their_last_results(browse: Browse, catalog: Engine) -> None:
    put(catalog, "mart/delays", "first", status=CheckStatus.FAIL)
    put(catalog, "mart/delays", "second")

    page = browse().open("/datasets/mart/delays/checks")

    assert "Quality score: 50 of 100" in page
    assert "1 of 2 checks passed in the last 2 versions." in page
    assert 'aria-label="1 of the last 2 passed; the newest is the last"' in page
    assert '<span class="status bad"></span><span class="status good"></span>' in page


def test_a_score_without_results_is_unknown(browse: Browse) -> None:
    assert "Neither a check nor a deadline has a result yet." in browse().open("/datasets/mart/report/checks")


def test_versions_of_a_partitioned_dataset_are_compared_within_a_partition(
    browse: Browse, run_id: UUID
) -> None:
    address = "/datasets/raw/flights/compare"

    assert 'name="before"' not in browse().open(address)
    chosen = browse().open(f"{address}?partition=2026-01-01")
    assert 'name="before"' in chosen
    assert "There is only one version of 2026-01-01 so far." in chosen


def test_results_that_all_passed_are_folded(browse: Browse, run_id: UUID) -> None:
    assert "2 results, all passed" in browse().open("/datasets/mart/delays/checks")


def test_an_expired_version_says_so_and_cannot_be_published_again(
    browse: Browse, catalog: Engine, run_id: UUID
) -> None:
    with transaction(catalog) as cursor:
        cursor.execute(
            "INSERT INTO catalog.expired_version SELECT dataset_version_id, organisation_id, now() "
            "FROM catalog.dataset_version WHERE version_tag = 'first'"
        )
    owner = browse(Role.DATA_OWNER, "owner")

    page = owner.open("/datasets/mart/delays/versions")
    assert "its rows were deleted" in page
    assert page.count("<summary>Roll back</summary>") == 0
    assert "its rows were deleted" in owner.open("/datasets/mart/delays/version/first")
    refused = owner.post("/datasets/mart/delays/rollback", to="first", reason="x")
    assert refused.status_code == 409
    assert "expired at" in refused.text


def test_results_of_checks_are_filtered_by_what_they_found(browse: Browse, run_id: UUID) -> None:
    browser = browse()

    assert "id_not_null" in browser.open("/datasets/mart/delays/checks?status=PASS").split("Results")[1]
    failed = browser.open("/datasets/mart/delays/checks?status=FAIL")
    assert "No check of this dataset has this result." in failed
    assert '<option value="FAIL" selected>' in failed
    browser.open("/datasets/mart/delays/checks?status=")
