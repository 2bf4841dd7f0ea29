"""Processes: the list, and the page of one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission, Role
from headrace.catalog.records import ProcessRecord, Technology
from headrace.estates.estates import scan
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from tests.platform.service.conftest import Ask
from tests.platform.service.pages.conftest import Browse

ESTATE = """\
insert_job: NIGHT   job_type: BOX
owner: ops@unx
date_conditions: 1
days_of_week: all
start_times: "04:05"
timezone: America/New_York

insert_job: FETCH   job_type: CMD
box_name: NIGHT
machine: host1
owner: ops@unx
description: <b>Fetches</b>
command: fetch.sh secret-argument

insert_job: LOAD   job_type: CMD
box_name: NIGHT
machine: host1
owner: ops@unx
condition: s(FETCH, 24.00)
command: load.sh
"""
LOAD = "/processes/AUTOSYS/NIGHT/LOAD"


@pytest.fixture
def estate(catalog: Engine, tmp_path: Path) -> Engine:
    """A scanned box with two jobs, the second of which waits for the first."""
    file = tmp_path / "night.jil"
    file.write_text(ESTATE)
    scan(catalog, [file])
    return catalog


def test_processes_are_listed_with_their_newest_run(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/processes")

    assert page.index("/processes/mart/delays") < page.index("/processes/mart/report")
    assert page.count(f'href="/runs/{run_id}"') == 1
    assert "never ran" in page


def test_words_and_technology_narrow_the_list(browse: Browse, estate: Engine) -> None:
    browser = browse()

    assert "mart/delays" not in browser.open("/processes?technology=AUTOSYS")
    assert "AUTOSYS/NIGHT/LOAD" in browser.open("/processes?technology=AUTOSYS&q=ops night/load")
    assert "No process matches." in browser.open("/processes?technology=SPARK&q=100%")
    assert "mart/delays" in browser.open("/processes?technology=")
    assert "query.technology" in browser.open("/processes?technology=COBOL", 422)


def test_pages_of_the_list_and_of_runs_follow_one_another(browse: Browse, catalog: Engine) -> None:
    register(catalog, [], [ProcessRecord(f"many/p{number:02}", Technology.SPARK) for number in range(60)])
    runs = [uuid4() for _ in range(30)]
    for run_id in runs:
        with attempt(catalog, run_id=run_id, process_key="many/p00"):
            pass
    browser = browse()

    listed = browser.open("/processes?q=many")
    assert "many/p49" in listed
    assert "many/p50" not in listed
    assert "many/p59" in browser.open("/processes" + _following(listed))
    shown = browser.open("/processes/many/p00")
    older = browser.open("/processes/many/p00" + _following(shown))
    assert [f'href="/runs/{run_id}"' in shown for run_id in runs] == [False] * 5 + [True] * 25
    assert [f'href="/runs/{run_id}"' in older for run_id in runs] == [True] * 5 + [False] * 25
    assert "No run has this status." in browser.open("/processes/many/p00?state=FAILED")


def test_a_process_shows_its_datasets_and_runs(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/processes/mart/delays")

    assert 'href="/datasets/raw/flights"' in page
    assert 'href="/datasets/mart/delays"' in page
    assert 'href="/lineage/mart/delays?kind=PROCESS"' in page
    assert f'href="/runs/{run_id}"' in page


def test_a_job_shows_its_schedule_its_box_and_what_it_waits_for(browse: Browse, estate: Engine) -> None:
    browser = browse()

    page = browser.open(LOAD)
    assert "When its box starts, if its condition holds then." in page
    assert "FETCH has succeeded in the last 24 h" in page
    assert 'href="/processes/AUTOSYS/NIGHT/FETCH"' in page
    assert 'href="/processes/AUTOSYS/NIGHT"' in page
    box = browser.open("/processes/AUTOSYS/NIGHT")
    assert "At 04:05 every day, America/New_York." in box
    assert 'href="/processes/AUTOSYS/NIGHT/LOAD"' in box
    fetch = browser.open("/processes/AUTOSYS/NIGHT/FETCH")
    assert 'href="/processes/AUTOSYS/NIGHT/LOAD"' in fetch
    assert "&lt;b&gt;Fetches" in fetch


def test_the_next_run_is_forecast_with_reasons(browse: Browse, estate: Engine) -> None:
    browser = browse()

    page = browser.open("/processes/AUTOSYS/NIGHT?show=next")
    assert "the clock: days_of_week, start_times" in page
    assert "America/New_York" in page
    assert "box NIGHT starts" in browser.open(f"{LOAD}?show=next")
    assert "No forecast" in browser.open("/processes/mart/delays?show=next")


def test_a_described_process_shows_its_schedule_and_its_next_start(
    browse: Browse, catalog: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "processes.yaml"
    file.write_text(
        "- name: RM.REVAL\n  technology: run_management\n"
        '  schedule: {at: "02:00", timezone: Europe/London, calendar: XLON}\n  sla: {start_within: 15m}\n'
    )
    scan(catalog, [file])
    browser = browse()

    page = browser.open("/processes/RUNMGR/RM.REVAL")
    assert "At 02:00 Europe/London on business days of XLON." in page
    assert "When does it start and finish next?" in page
    following = browser.open("/processes/RUNMGR/RM.REVAL?show=next")
    assert "Must start by" in following
    assert "its schedule: at 02:00 Europe/London on business days of XLON" in following


def test_a_part_of_the_page_is_sent_without_its_frame(browse: Browse, estate: Engine) -> None:
    answer = browse().client.get(f"{LOAD}?show=next", headers={"HX-Request": "true"})

    assert "Next start" in answer.text
    assert "<html" not in answer.text


def test_reasons_name_jobs_to_those_who_may_see_all(ask: Ask, estate: Engine) -> None:
    forecast = ask(Permission.READ).get("/api/v1/process/AUTOSYS/NIGHT/next-run").json()

    assert forecast["why"]
    assert forecast["starts_at"].endswith("Z")
    assert ask(Permission.READ, domain="raw").get("/api/v1/process/AUTOSYS/NIGHT/next-run").status_code == 404


def test_a_new_scan_changes_the_forecast(reader: TestClient, estate: Engine, tmp_path: Path) -> None:
    before = reader.get("/api/v1/process/AUTOSYS/NIGHT/next-run").json()
    file = tmp_path / "night.jil"
    file.write_text(ESTATE.replace("04:05", "03:55"))
    scan(estate, [file])

    after = reader.get("/api/v1/process/AUTOSYS/NIGHT/next-run").json()

    assert before["starts_at"][14:16] == "05"
    assert after["starts_at"][14:16] == "55"


def test_a_consumer_does_not_see_the_source(browse: Browse, estate: Engine) -> None:
    page = browse().open("/processes/AUTOSYS/NIGHT/FETCH")
    assert "secret-argument" not in page
    assert "night.jil" not in page
    assert "Hidden from your role." in page

    page = browse(Role.DATA_OWNER, user="olga").open("/processes/AUTOSYS/NIGHT/FETCH")
    assert "fetch.sh secret-argument" in page
    assert "night.jil" in page


def test_processes_of_other_domains_and_unknown_ones_are_not_found(browse: Browse, estate: Engine) -> None:
    browser = browse(domain="raw")

    assert "mart/report" not in browser.open("/processes")
    browser.open("/processes/mart/report", 404)
    browser.open(LOAD, 404)
    browser.open("/processes/no/such", 404)


def _following(page: str) -> str:
    return page.split('class="more" href="')[1].split('"')[0].replace("&amp;", "&")
