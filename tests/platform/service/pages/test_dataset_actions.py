"""The view of a dataset's actions, and what they do."""

from __future__ import annotations

import pytest

from headrace.access.callers import Role
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
