"""The job of Dagster that synchronises OpenMetadata."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from headrace.orchestration.jobs.openmetadata import openmetadata_sync, openmetadata_sync_hourly
from headrace.settings import settings
from tests.platform.openmetadata.conftest import SERVICE
from tests.platform.openmetadata.server import TOKEN, Contract, serving


def test_the_job_synchronises_and_says_what_it_did(
    shop: Engine, server: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_DATABASE_URL", shop.url.set(drivername="postgresql").render_as_string(False))
    with serving(server) as url:
        monkeypatch.setenv("HEADRACE_OPENMETADATA__URL", url)
        monkeypatch.setenv("HEADRACE_OPENMETADATA__TOKEN", TOKEN)
        settings.cache_clear()
        done = openmetadata_sync.execute_in_process()
    settings.cache_clear()
    assert server.find("table", f"{SERVICE}.orders")
    (event,) = done.filter_events(lambda each: each.is_successful_output)
    assert event.step_output_data.metadata["table create"].value == 2
    assert openmetadata_sync_hourly.job_name == "openmetadata_sync"
