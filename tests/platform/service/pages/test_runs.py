"""The page of a run."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Role
from headrace.catalog.records import CheckStatus
from headrace.database.connection import transaction
from headrace.publishing.runs import attempt
from headrace.settings import settings
from tests.platform.service.conftest import put, run_event
from tests.platform.service.pages.conftest import Browse


def test_a_run_shows_what_it_read_and_wrote(browse: Browse, run_id: UUID) -> None:
    page = browse().open(f"/runs/{run_id}")

    assert "<h1>Run of mart/delays</h1>" in page
    assert 'href="/datasets/raw/flights"' in page
    assert 'href="/datasets/raw/flights/version/raw-1?partition=2026-01-01"' in page
    assert "of 2026-01-01" in page
    assert "second" in page
    assert "first" not in page
    assert "1 passed" in page
    assert "1 version, 10 rows" in page


def test_a_blocked_version_names_the_check(browse: Browse, catalog: Engine) -> None:
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        put(catalog, "mart/delays", "doubtful", status=CheckStatus.WARN, run_id=run_id)

    assert '<span class="status warn">Warn</span> id_not_null' in browse().open(f"/runs/{run_id}")


def test_a_consumer_sees_neither_reasons_nor_places(browse: Browse, catalog: Engine) -> None:
    failed = uuid4()
    with (
        pytest.raises(RuntimeError),
        attempt(catalog, run_id=failed, process_key="mart/delays", log_location="/logs/secret"),
    ):
        raise RuntimeError("no space left on volume 7")

    page = browse().open(f"/runs/{failed}")
    assert "volume 7" not in page
    assert "hidden from your role" in page
    page = browse(Role.DATA_OWNER, user="olga").open(f"/runs/{failed}")
    assert "volume 7" in page
    assert "/logs/secret" in page


def test_the_duration_is_compared_with_the_runs_before(browse: Browse, catalog: Engine) -> None:
    runs = []
    for minutes in (1, 2, 3, 4):
        runs.append(uuid4())
        with attempt(catalog, run_id=runs[-1], process_key="mart/delays"):
            pass
        _lasting(catalog, runs[-1], minutes)

    page = browse().open(f"/runs/{runs[3]}")
    assert "This run took 4 min, longer than 3 of 3" in page
    assert page.count("<rect") == 4
    assert page.count('class="here') == 1
    assert browse().open(f"/runs/{runs[2]}").count("<rect") == 3


def test_a_beginning_of_an_id_leads_to_the_run(browse: Browse, run_id: UUID) -> None:
    page = browse().open(f"/runs/{str(run_id)[:8]}")

    assert str(run_id) in page


def test_a_dagster_run_with_several_runs_lists_them(browse: Browse, catalog: Engine) -> None:
    dagster, runs = str(uuid4()), [uuid4(), uuid4()]
    for run_id, process in zip(runs, ("mart/delays", "mart/report"), strict=True):
        with attempt(catalog, run_id=run_id, process_key=process, dagster_run_id=dagster):
            pass

    page = browse().open(f"/runs/{dagster}")

    assert "2 runs have this id or number" in page
    for run_id in runs:
        assert f"/runs/{run_id}" in page
    assert "/dagster" not in browse().open(f"/runs/{runs[0]}")


def test_dagster_is_linked_where_its_address_is_known(
    browse: Browse, catalog: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    dagster, run_id = str(uuid4()), uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays", dagster_run_id=dagster):
        pass
    browser = browse()
    assert f"/runs/{dagster}" not in browser.open(f"/runs/{run_id}")

    monkeypatch.setenv("HEADRACE_DAGSTER_URL", "http://dagster.example.com")
    settings.cache_clear()
    assert f"http://dagster.example.com/runs/{dagster}" in browser.open(f"/runs/{run_id}")


def test_the_runs_of_a_box_and_its_jobs_lead_to_each_other(browse: Browse, catalog: Engine) -> None:
    box, job = uuid4(), uuid4()
    for run_id, process in ((box, "mart/delays"), (job, "mart/report")):
        with attempt(catalog, run_id=run_id, process_key=process):
            pass
    with transaction(catalog) as cursor:
        cursor.execute(
            "UPDATE catalog.process_run SET parent_run_id = box.run_id, parent_process_id = box.process_id "
            "FROM catalog.process_run box WHERE box.run_id = %s AND process_run.run_id = %s",
            [box, job],
        )

    assert f'href="/runs/{job}"' in browse().open(f"/runs/{box}")
    assert f'href="/runs/{box}"' in browse().open(f"/runs/{job}")


def test_what_openlineage_reported_is_folded(browse: Browse, reporter: TestClient) -> None:
    event = run_event(run=str(uuid4()))
    event["run"]["facets"] = {
        "nominalTime": {
            "_producer": "https://example.com/producer",
            "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/NominalTimeRunFacet.json",
            "nominalStartTime": "2026-01-01T00:00:00Z",
        }
    }
    event["job"]["name"] = "<script>alert(1)</script>"
    assert reporter.post("/api/v1/lineage", json=event).status_code == 200

    page = browse().open(f"/runs/{event['run']['runId']}")

    assert "<summary>nominalTime" in page
    assert "/datasets/db%23out" in page
    assert "<script>alert" not in page


def test_versions_of_other_domains_are_not_shown(browse: Browse, run_id: UUID) -> None:
    page = browse(domain="raw").open(f"/runs/{run_id}")  # its process reads a dataset of the domain

    assert "second" not in page
    assert "/datasets/mart" not in page


def test_runs_of_other_domains_and_unknown_runs_are_not_found(browse: Browse, catalog: Engine) -> None:
    run_id, browser = uuid4(), browse(domain="raw")
    with attempt(catalog, run_id=run_id, process_key="mart/report"):
        pass

    assert "mart" not in browser.open(f"/runs/{run_id}", 404)
    assert "mart" not in browser.open(f"/runs/{str(run_id)[:8]}", 404)
    assert "too short" in browser.open("/runs/x", 404)
    browser.open(f"/runs/{uuid4()}", 404)


def _lasting(engine: Engine, run_id: UUID, minutes: int) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.process_run SET end_ts = start_ts + %s * interval '1 minute' WHERE run_id = %s",
            [minutes, run_id],
        )


def test_the_end_of_a_log_is_shown_to_those_who_may_read_it(
    browse: Browse, catalog: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_LOG_FOLDERS", f'["{tmp_path}"]')
    settings.cache_clear()
    (tmp_path / "load.out").write_text("<b>SQL0964C</b> the log is full\n")
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays", log_location=f"{tmp_path}/load.out"):
        pass

    owner = browse(Role.DATA_OWNER, user="olga")
    assert f'hx-get="/runs/{run_id}/log"' in owner.open(f"/runs/{run_id}")
    assert "&lt;b&gt;SQL0964C&lt;/b&gt; the log is full" in owner.open(f"/runs/{run_id}/log")
    assert "has no attempt 7" in owner.open(f"/runs/{run_id}/log?attempt=7", 404)
    assert "SQL0964C" not in browse().open(f"/runs/{run_id}/log")
