"""The demo's batch reports like any Autosys job: by completion files that the platform ingests."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.orchestration.completions.folder import MIN_UNCHANGED_SECONDS, LocalFolder
from headrace.orchestration.completions.intake import take_in
from headrace.queries.processes import processes
from jobs.deliveries import report

DELIVERED = [
    Path("flights_2013-01-01.csv"),
    Path("flights_2013-01-02.csv"),
    Path("airports.csv"),
    Path("airlines.csv"),
]


def test_each_delivery_is_a_completion_file_and_then_a_run(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_URL", "http://127.0.0.1:1")
    assert report(DELIVERED, tmp_path / "completions") == 3
    documents = [json.loads(file.read_text()) for file in (tmp_path / "completions").glob("*.json")]
    assert sorted((each["process"], each.get("business_date")) for each in documents) == [
        ("LOAD_FLIGHTS", "2013-01-01"),
        ("LOAD_FLIGHTS", "2013-01-02"),
        ("LOAD_REFERENCE", None),
    ]
    assert os.environ["HEADRACE_URL"] == "http://127.0.0.1:1"
    assert "HEADRACE_COMPLETIONS" not in os.environ

    for file in (tmp_path / "completions").glob("*.json"):  # as old as if they had waited
        os.utime(file, (file.stat().st_mtime - 2 * MIN_UNCHANGED_SECONDS,) * 2)
    taken = take_in(engine, LocalFolder(tmp_path / "completions"), timedelta(seconds=30))
    assert (taken.files, taken.ingested.runs) == (3, 3)
    assert [(row.name, row.run_state) for row in processes(engine)] == [
        ("LOAD_FLIGHTS", "SUCCESS"),
        ("LOAD_REFERENCE", "SUCCESS"),
    ]


def test_nothing_delivered_is_nothing_reported(tmp_path: Path) -> None:
    assert report([], tmp_path / "completions") == 0
