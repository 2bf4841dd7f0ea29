"""Runs and backfills that the API launches in Dagster."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.catalog.records import DatasetRecord
from headrace.context import act_as
from headrace.registration.declarations import register
from headrace.settings import settings
from tests.platform.access.conftest import principal_of
from tests.platform.service.conftest import OTHER, Ask
from tests.platform.service.dagster import BACKFILL, RUN, StandIn

MAY = (Permission.READ, Permission.PUBLISH)


def tags(launch: dict[str, Any]) -> dict[str, str]:
    given = launch.get("executionMetadata", launch)["tags"]
    return {each["key"]: each["value"] for each in given}


def test_a_dataset_is_materialized_in_the_name_of_the_caller(ask: Ask, dagster: StandIn) -> None:
    answer = ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert answer.json() == {
        "datasets": ["mart/delays"],
        "partition_count": 0,
        "dagster_run_id": RUN,
        "backfill_id": None,
        "url": f"{dagster.url}/runs/{RUN}",
    }
    [launch] = dagster.launches
    assert launch["selector"] == {
        "jobName": "__ASSET_JOB",
        "repositoryName": "__repository__",
        "repositoryLocationName": "headrace",
        "assetSelection": [{"path": ["mart", "delays"]}],
    }
    assert tags(launch)["user"].startswith("service:")


def test_one_partition_is_a_run(ask: Ask, dagster: StandIn) -> None:
    answer = ask(*MAY).post("/api/v1/dataset/raw/flights/materialize", json={"first": "2026-01-02"})

    assert answer.json()["dagster_run_id"] == RUN
    assert tags(dagster.launches[0])["dagster/partition"] == "2026-01-02"


def test_several_partitions_are_a_backfill(ask: Ask, dagster: StandIn) -> None:
    asked = {"first": "2026-01-02", "last": "2026-01-03"}
    answer = ask(*MAY).post("/api/v1/dataset/raw/flights/materialize", json=asked)

    assert (answer.json()["backfill_id"], answer.json()["partition_count"]) == (BACKFILL, 2)
    assert answer.json()["url"] == f"{dagster.url}/runs/b/{BACKFILL}"
    assert dagster.launches[0]["partitionNames"] == ["2026-01-02", "2026-01-03"]


@pytest.mark.parametrize(
    ("dataset", "asked", "message"),
    [
        ("mart/delays", {"first": "2026-01-01"}, "mart/delays is not partitioned: omit the partition"),
        ("raw/flights", {}, "choose a partition of raw/flights"),
        (
            "raw/flights",
            {"first": "1999-01-01"},
            "has no partition 1999-01-01: it has 2026-01-01 to 2026-01-03",
        ),
        ("raw/flights", {"first": "2026-01-03", "last": "2026-01-01"}, "swap them"),
    ],
)
def test_wrong_partitions_are_refused(
    ask: Ask, dagster: StandIn, dataset: str, asked: dict[str, str], message: str
) -> None:
    refused = ask(*MAY).post(f"/api/v1/dataset/{dataset}/materialize", json=asked)

    assert refused.status_code == 422
    assert message in refused.json()["detail"]
    assert dagster.launches == []


def test_a_dataset_that_dagster_does_not_compute_is_refused(
    ask: Ask, dagster: StandIn, catalog: Engine
) -> None:
    register(catalog, [DatasetRecord("mart/elsewhere", "csv")])
    for key in ("mart/report", "mart/elsewhere"):
        refused = ask(*MAY).post(f"/api/v1/dataset/{key}/materialize", json={})
        assert refused.status_code == 409
        assert f"does not compute {key}" in refused.json()["detail"]


def test_what_is_produced_together_is_launched_together(ask: Ask, dagster: StandIn) -> None:
    dagster.together = {"mart/delays": ["raw/rejected"]}

    refused = ask(*MAY, domain="mart").post("/api/v1/dataset/mart/delays/materialize", json={})
    assert (refused.status_code, dagster.launches) == (403, [])
    assert ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={}).status_code == 200
    paths = [each["path"] for each in dagster.launches[0]["selector"]["assetSelection"]]
    assert paths == [["mart", "delays"], ["raw", "rejected"]]


def test_a_refusal_of_dagster_is_shown(ask: Ask, dagster: StandIn) -> None:
    dagster.refusal = "CheckError: no such job\n  stack"
    refused = ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert refused.status_code == 409
    assert refused.json()["detail"] == "Dagster did not launch it: CheckError: no such job"


def test_pages_and_interface_may_have_two_addresses(
    ask: Ask, dagster: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_DAGSTER_API_URL", dagster.url)
    monkeypatch.setenv("HEADRACE_DAGSTER_URL", "https://dagster.example.com/")
    settings.cache_clear()
    answer = ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert answer.json()["url"] == f"https://dagster.example.com/runs/{RUN}"
    assert len(dagster.launches) == 1


def test_without_an_address_the_answer_names_the_setting(ask: Ask) -> None:
    refused = ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert refused.status_code == 409
    assert "dagster_url" in refused.json()["detail"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "not an address", "http://[::1"])
def test_a_dagster_that_does_not_answer_is_named(ask: Ask, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HEADRACE_DAGSTER_URL", url)
    settings.cache_clear()
    refused = ask(*MAY).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert refused.status_code == 503
    assert f"Dagster at {url} does not answer" in refused.json()["detail"]


def test_another_organisation_launches_nothing_here(ask: Ask, dagster: StandIn, catalog: Engine) -> None:
    with act_as(principal_of(OTHER)):
        register(catalog, [DatasetRecord("mart/delays", "parquet")])

    refused = ask(*MAY, organisation=OTHER).post("/api/v1/dataset/mart/delays/materialize", json={})

    assert refused.status_code == 409
    assert f"computes nothing for the organisation {OTHER}" in refused.json()["detail"]
    assert dagster.launches == []
