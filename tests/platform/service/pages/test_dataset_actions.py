"""The view of a dataset's actions, and what they do."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.slas.tick import evaluate
from tests.platform.service.dagster import BACKFILL, RUN, StandIn
from tests.platform.service.pages.conftest import Browse

PAGE = "/datasets/mart/delays/manage"


def test_an_owner_materializes_and_follows_the_run(browse: Browse, dagster: StandIn) -> None:
    answer = browse(Role.DATA_OWNER).submit(PAGE, "/datasets/mart/delays/materialize")

    assert answer.url.path == PAGE
    assert f'href="{dagster.url}/runs/{RUN}"' in answer.text
    assert f'href="/runs/{RUN}"' in answer.text
    assert dagster.launches[0]["executionMetadata"]["tags"] == [{"key": "user", "value": "user:ann"}]


def test_an_owner_backfills(browse: Browse, dagster: StandIn) -> None:
    answer = browse(Role.DATA_OWNER).post(
        "/datasets/raw/flights/materialize", first="2026-01-01", last=" 2026-01-03 "
    )

    assert f'href="{dagster.url}/runs/b/{BACKFILL}"' in answer.text
    assert dagster.launches[0]["partitionNames"] == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_without_dagster_the_page_says_what_to_do(browse: Browse) -> None:
    owner = browse(Role.DATA_OWNER)

    assert "Set <code>dagster_url</code>" in owner.open(PAGE)
    assert "Another system writes this dataset" in owner.open("/datasets/raw/flights/manage")
    assert "dagster_url" in owner.post("/datasets/mart/delays/materialize").text


@pytest.mark.parametrize("role", [Role.DATA_CONSUMER, Role.DATA_STEWARD])
def test_others_cannot_materialize(browse: Browse, dagster: StandIn, role: Role) -> None:
    other = browse(role)

    assert "Materialize" not in other.open(PAGE)
    assert other.post("/datasets/mart/delays/materialize").status_code == 403
    assert dagster.launches == []


def test_materializing_needs_the_form_of_the_page(browse: Browse, dagster: StandIn) -> None:
    owner = browse(Role.DATA_OWNER)

    forged = owner.client.post("/datasets/mart/delays/materialize", data={"form_token": "0" * 64})

    assert (forged.status_code, dagster.launches) == (403, [])


def test_a_consumer_has_no_link_to_the_actions(browse: Browse) -> None:
    assert f'href="{PAGE}"' not in browse().open("/datasets/mart/delays")
    assert f'href="{PAGE}"' in browse(Role.DATA_OWNER, "bob").open("/datasets/mart/delays")


def test_a_steward_deprecates_and_readers_see_the_reason(browse: Browse) -> None:
    steward = browse(Role.DATA_STEWARD)

    steward.submit(PAGE, "/datasets/mart/delays/deprecate", reason="use <b>mart/punctuality</b>")

    reader = browse(user="bob").open("/datasets/mart/delays")
    assert "Deprecated by user:ann" in reader
    assert "use &lt;b&gt;mart/punctuality&lt;/b&gt;" in reader


def test_an_owner_retires_and_restores(browse: Browse) -> None:
    owner = browse(Role.DATA_OWNER)

    retired = owner.submit(PAGE, "/datasets/mart/delays/retire", reason="no one reads it").text
    assert "Retired by user:ann" in retired
    assert "mart/delays</a>" not in owner.open("/datasets?domain=mart")

    restored = owner.submit(PAGE, "/datasets/mart/delays/restore", reason="an auditor does").text
    assert "Retired by" not in restored
    again = owner.submit(PAGE, "/datasets/mart/delays/restore", reason="an auditor does")
    assert (again.status_code, "neither retired nor deprecated" in again.text) == (409, True)


def test_a_change_of_the_status_needs_a_reason(browse: Browse) -> None:
    assert browse(Role.DATA_OWNER).submit(PAGE, "/datasets/mart/delays/retire", reason=" ").status_code == 422


@pytest.mark.parametrize("action", ["deprecate", "retire", "restore"])
def test_a_consumer_changes_no_status(browse: Browse, action: str) -> None:
    reader = browse()

    assert "You may not change this dataset." in reader.open(PAGE)
    assert reader.post(f"/datasets/mart/delays/{action}", reason="x").status_code == 403
    other = browse(Role.DATA_OWNER, "bob", domain="raw")
    assert other.post(f"/datasets/mart/delays/{action}", reason="x").status_code == 404


def test_an_outage_is_planned_where_there_is_an_sla(browse: Browse, catalog: Engine) -> None:
    evaluate(catalog)
    owner = browse(Role.DATA_OWNER)

    assert 'action="/slas/outages"' in owner.open(PAGE)
    assert "It has no SLA that could be paused." in owner.open("/datasets/raw/flights/manage")


def test_an_owner_rolls_back_from_the_list_of_versions(browse: Browse, run_id: UUID) -> None:
    action = 'action="/datasets/mart/delays/rollback"'

    assert browse(Role.DATA_OWNER).open("/datasets/mart/delays/versions").count(action) == 1
    assert action not in browse(user="eve").open("/datasets/mart/delays/versions")
