"""User actions in Dagster's UI, in a real browser against `headrace up`, and with Dagster's own commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from jobs.landing import YEAR
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.system.conftest import DAYS, Deployment, Served

# A busy machine starts a JVM in a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

RUN_SECONDS = 400
PAGE_SECONDS = WAIT_SECONDS
FLIGHTS = {"2013-01-01": 842, "2013-01-02": 943, "2013-01-03": 914}

ASSET = """
query Asset($path: [String!]!) {
  assetNodeOrError(assetKey: {path: $path}) {
    ... on AssetNode {
      dataVersion
      staleStatus
      latestMaterializationByPartition {
        runId
        partition
        metadataEntries { label ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text } }
      }
      assetPartitionStatuses { ... on TimePartitionStatuses { ranges { startKey endKey status } } }
      freshnessStatusInfo { freshnessStatus }
    }
  }
}
"""
LOGS = """
query Logs($run: ID!) {
  logsForRun(runId: $run, limit: 1000) {
    ... on EventConnection {
      events { ... on MessageEvent { message stepKey } ... on LogsCapturedEvent { fileKey } }
    }
  }
}
"""
CAPTURED = "query Captured($key: [String!]!) { capturedLogs(logKey: $key) { stdout stderr } }"
BACKFILL = """
mutation Backfill($path: [String!]!, $days: [String!]!) {
  launchPartitionBackfill(backfillParams: {assetSelection: [{path: $path}], partitionNames: $days}) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
  }
}
"""
BACKFILL_STATUS = """
query Status($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status runs { id status } error { message } }
  }
}
"""


@pytest.fixture(scope="module")
def browser_page(browser: Browser) -> Iterator[Page]:
    """A page of a browser without a window."""
    page = browser.new_page(viewport={"width": 1600, "height": 1400})
    page.set_default_timeout(PAGE_SECONDS * 1000)
    page.set_default_navigation_timeout(PAGE_SECONDS * 1000)
    expect.set_options(timeout=PAGE_SECONDS * 1000)
    yield page
    page.close()


@pytest.fixture
def page(browser_page: Page) -> Iterator[Page]:
    """The page, blank again after the test: one of Dagster's asks the server for news all the time."""
    yield browser_page
    browser_page.goto("about:blank")


def asset(served: Served, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = served.ask(ASSET, path=["flights", name])["assetNodeOrError"]
    return answer


def landed(served: Served, name: str) -> str | None:
    """Return the data version of an external dataset that the sensor has reported to Dagster."""
    return asset(served, name)["dataVersion"]


def fact(page: Page, label: str, value: str) -> Locator:
    """A label of the asset's page with its value below it."""
    return page.locator("div").filter(has_text=re.compile(rf"^{label}\s*{value}$")).first


def materialize(page: Page, served: Served) -> str:
    """Press the button of the asset that the page shows and wait until its run succeeds; the run's id."""
    page.locator("button").filter(has_text=re.compile("^Materialize$")).click()
    toast = page.get_by_text("Launched run")
    link = page.locator("a[href^='/runs/']", has_text="View").first
    expect(toast).to_be_visible()
    run = str(link.get_attribute("href")).removeprefix("/runs/")
    page.goto(f"{served.url}/runs/{run}")
    ended = page.get_by_text(re.compile("^(Success|Failure|Canceled)$")).first
    expect(ended).to_be_visible(timeout=RUN_SECONDS * 1000)
    assert ended.inner_text() == "Success", served.deployment.run("headrace", "why", run)
    return run


@pytest.fixture(scope="module")
def dagster_variables(deployment: Deployment) -> dict[str, str]:
    """Return the variables that `eval "$(headrace env)"` sets in a shell, in addition to existing ones."""
    deployment.run("headrace", "observe")
    lines = deployment.run("headrace", "env")
    done = subprocess.run(
        ["bash", "-c", 'eval "$0" && env -0', lines],
        env=deployment.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    variables = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    return {name: value for name, value in variables.items() if deployment.environment.get(name) != value}


def test_dg_scaffolds_lists_and_checks_definitions(
    deployment: Deployment, dagster_variables: dict[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "headrace"
    shutil.copytree(
        REPOSITORY,
        copy,
        ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "tests", "docs", "benchmarks"),
    )
    here = {**dagster_variables, "HEADRACE_PROJECT": str(copy), "PYTHONPATH": str(copy)}

    deployment.run("dg", "scaffold", "defs", "headrace.Dataset", "flights/tmp_x", folder=copy, **here)

    assert (copy / "assets" / "flights" / "tmp_x" / "defs.yaml").is_file()
    deployment.run("dg", "check", "yaml", folder=copy, **here)
    deployment.run("dg", "check", "defs", folder=copy, **here)
    listed = json.loads(deployment.run("dg", "list", "defs", "--json", folder=copy, **here))
    keys = {each["asset_key"] for each in listed["assets"]}
    assert {"flights/airlines", "flights/flights_clean", "flights/tmp_x"} <= keys
    assert not (REPOSITORY / "assets" / "flights" / "tmp_x").exists()


@pytest.mark.usefixtures("backfill")  # launched before anything else
def test_materialize_with_the_button_and_see_what_came_of_it(served: Served, page: Page) -> None:
    served.until("the landed airlines", lambda: landed(served, "raw_airlines"))
    page.goto(f"{served.url}/assets/flights/airlines")

    run = materialize(page, served)

    served.until(
        "freshness",
        lambda: asset(served, "airlines")["freshnessStatusInfo"]["freshnessStatus"] == "HEALTHY",
    )
    page.goto(f"{served.url}/assets/flights/airlines")
    expect(fact(page, "Row count", "16")).to_be_visible()
    expect(fact(page, "Latest check results", "4")).to_be_visible()
    expect(fact(page, "Freshness policy", "Passing")).to_be_visible()
    expect(page.get_by_text("Two-letter code of the airline.")).to_be_visible()
    expect(page.get_by_text("Endeavor Air Inc.")).to_be_visible()
    expect(page.get_by_text("airlines.sql").first).to_be_visible()
    expect(page.get_by_text("Unsynced")).to_have_count(0)
    page.get_by_role("tab", name="Checks").or_(page.get_by_role("link", name="Checks")).first.click()
    for check in ("carrier_not_null", "carrier_str_matches", "carrier_unique", "name_not_null"):
        expect(page.get_by_text(check).first).to_be_visible()
    expect(page.get_by_text("Succeeded")).to_have_count(4)

    events = served.ask(LOGS, run=run)["logsForRun"]["events"]
    file = next(event["fileKey"] for event in events if event.get("fileKey"))
    captured = served.ask(CAPTURED, key=[run, "compute_logs", file])["capturedLogs"]
    assert "flights/airlines: wrote 16 rows" in captured["stderr"]
    published = served.deployment.published("flights/airlines")
    assert asset(served, "airlines")["dataVersion"] == published["tag"]


def test_a_new_file_makes_its_dataset_stale_until_it_is_materialized(served: Served, page: Page) -> None:
    before = served.until("the landed airlines", lambda: landed(served, "raw_airlines"))
    file = served.deployment.home / "landing" / "flights" / "airlines.csv"
    fresh = file.with_name(".airlines.csv")
    fresh.write_text(file.read_text() + "ZZ,Zeppelin Line\n")
    fresh.replace(file)

    served.until("the sensor", lambda: landed(served, "raw_airlines") != before)
    assert asset(served, "airlines")["staleStatus"] == "STALE"
    page.goto(f"{served.url}/assets/flights/airlines")
    expect(page.get_by_text("Unsynced (1)")).to_be_visible()
    materialize(page, served)

    assert asset(served, "airlines")["staleStatus"] == "FRESH"
    page.goto(f"{served.url}/assets/flights/airlines")
    expect(fact(page, "Row count", "17")).to_be_visible()
    expect(page.get_by_text("Unsynced")).to_have_count(0)


@pytest.fixture(scope="module")
def backfill(served: Served) -> str:
    """The id of a backfill of two days. The daemon looks at backfills every 30 s only: other tests run meanwhile."""
    served.until("the landed flights", lambda: landed(served, "raw_flights"))
    answer = served.ask(BACKFILL, path=["flights", "flights_clean"], days=list(DAYS[:2]))
    launched = answer["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    return str(launched["backfillId"])


def test_a_backfill_of_two_days_is_one_run_of_the_daemon(served: Served, page: Page, backfill: str) -> None:
    days = list(DAYS[:2])

    def ended() -> dict[str, Any] | None:
        status = served.ask(BACKFILL_STATUS, id=backfill)["partitionBackfillOrError"]
        return status if status["status"] not in ("REQUESTED", "FAILING", "CANCELING") else None

    status = served.until("the backfill", ended, RUN_SECONDS)
    assert status["status"] == "COMPLETED_SUCCESS", status
    assert [run["status"] for run in status["runs"]] == ["SUCCESS"]
    shown = asset(served, "flights_clean")
    assert [(each["startKey"], each["endKey"]) for each in shown["assetPartitionStatuses"]["ranges"]] == [
        (days[0], days[1])
    ]
    rows = {
        each["partition"]: entry["intValue"]
        for each in shown["latestMaterializationByPartition"]
        if each
        for entry in each["metadataEntries"]
        if entry["label"] == "dagster/partition_row_count"
    }
    assert rows == {day: FLIGHTS[day] for day in days}
    page.goto(f"{served.url}/assets/flights/flights_clean?view=partitions")
    expect(page.get_by_text("Materialized (2)")).to_be_visible()
    expect(page.get_by_text(f"Missing ({len(YEAR) - 2})")).to_be_visible()


def test_dagster_materializes_from_a_shell(deployment: Deployment, dagster_variables: dict[str, str]) -> None:
    def dagster_asset_materialize(*options: str) -> None:
        deployment.run("dagster", "asset", "materialize", *options, "-m", "definitions", **dagster_variables)  # type: ignore[arg-type]

    started = datetime.now(UTC)
    dagster_asset_materialize("--select", "flights/airlines")
    dagster_asset_materialize(
        "--select", "flights/flights_clean", "--partition-range", f"{DAYS[0]}...{DAYS[-1]}"
    )

    feed = (deployment.home / "landing" / "flights" / "airlines.csv").read_text().splitlines()
    expected = {None: len(feed) - 1, **{day: FLIGHTS[day] for day in DAYS}}  # type: ignore[misc]
    for day, rows in expected.items():
        published = (
            deployment.published("flights/flights_clean", "--partition", day)
            if day
            else deployment.published("flights/airlines")
        )
        assert published["row_count"] == rows
        assert datetime.fromisoformat(published["created_at"]) > started
