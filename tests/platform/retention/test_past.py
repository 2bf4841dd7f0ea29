"""Queries for runs and events: by process, id, state, type and time, newest first, from tables and archive as one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.errors import UnknownRun
from headrace.job_reports.ingestion import ingest
from headrace.retention import visibility as visible
from headrace.retention.archiving import archive
from headrace.retention.files import Archive
from headrace.retention.history import PastRun, events, runs
from tests.platform.retention.test_archiving import deliver_all, nights


@pytest.fixture
def years(engine: Engine) -> Engine:
    """Runs of two jobs, one a month for a year, the older ones archived in a file a month."""
    ingest(engine, nights("LOAD", *range(2, 362, 30)))
    ingest(engine, nights("CHECK", *range(3, 363, 30), state=RunState.FAILED))
    deliver_all(engine)
    archive(engine)
    return engine


def test_the_newest_come_first_whatever_they_are_kept_in(years: Engine) -> None:
    found = runs(years)
    assert len(found) == 24
    assert [run.started_at for run in found] == sorted((run.started_at for run in found), reverse=True)
    assert {run.location is None for run in found} == {True, False}
    assert all(run.location is None for run in runs(years, archived=False))


@pytest.mark.parametrize("limit", [1, 7, 13, 24, 100])
def test_a_limit_takes_the_newest(years: Engine, limit: int) -> None:
    assert runs(years, limit=limit) == runs(years)[:limit]
    assert events(years, limit=limit) == events(years)[:limit]


def test_files_that_are_older_than_what_is_asked_for_are_not_read(
    years: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = Archive.read
    monkeypatch.setattr(
        Archive,
        "read",
        lambda self, location, **given: read.append(location) or original(self, location, **given),  # type: ignore[func-returns-value]
    )
    runs(years, limit=10)
    runs(years, since=datetime(2026, 3, 1, tzinfo=UTC), until=datetime(2026, 4, 1, tzinfo=UTC))
    assert sorted(location.split("/")[2] for location in read if "2026-03" in location) == ["month=2026-03"]
    assert len(read) < 6


def test_runs_by_process_state_and_time(years: Engine) -> None:
    since, until = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
    everything = runs(years)
    assert runs(years, process="AUTOSYS/LOAD") == [r for r in everything if r.process_key == "AUTOSYS/LOAD"]
    assert runs(years, state=RunState.FAILED) == [r for r in everything if r.state is RunState.FAILED]
    assert runs(years, since=since) == [r for r in everything if r.started_at >= since]
    assert runs(years, until=until) == [r for r in everything if r.started_at < until]
    both = runs(years, process="AUTOSYS/CHECK", state=RunState.FAILED, since=since, until=until)
    assert both == [
        r for r in everything if r.process_key == "AUTOSYS/CHECK" and since <= r.started_at < until
    ]
    assert len(both) == 4


def test_events_by_type_and_run(years: Engine) -> None:
    everything = events(years)
    assert len(everything) == 48
    assert events(years, event_type="FAIL") == [e for e in everything if e.event_type == "FAIL"]
    oldest = runs(years)[-1].run_id
    assert events(years, run=str(oldest)) == [e for e in everything if e.run_id == oldest]
    assert [e.event_type for e in events(years, run=str(oldest))] == ["FAIL", "START"]


@pytest.mark.parametrize("cut", [4, 8, 9, 12, 13, 14, 23, 36])
def test_a_run_is_found_by_how_its_id_begins(years: Engine, cut: int) -> None:
    (found,) = [
        run for run in runs(years, run=str(runs(years)[-1].run_id)[:cut]) if run.started_at.year == 2025
    ]
    assert found == runs(years)[-1]


def test_an_id_is_found_without_its_dashes(years: Engine) -> None:
    oldest = runs(years)[-1]
    assert runs(years, run=oldest.run_id.hex.upper()) == [oldest]


@pytest.mark.parametrize("run", ["", "xyz", "0" * 33, "12%"])
def test_what_is_no_id_is_refused(years: Engine, run: str) -> None:
    with pytest.raises(UnknownRun, match="is not a run id"):
        runs(years, run=run)


def test_a_file_that_is_replaced_while_it_is_read_is_read_in_its_new_place(
    years: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = runs(years)
    calls = 0
    original = visible.kept  # type: ignore[attr-defined]

    def outdated(*arguments: Any, **given: Any) -> Any:
        nonlocal calls
        calls += 1
        files = original(*arguments, **given)
        if calls > 1:
            return files
        from dataclasses import replace

        return [replace(file, location=f"{file.location}.gone") for file in files]

    monkeypatch.setattr(visible, "kept", outdated)
    assert runs(years) == expected
    assert calls == 2


def test_pages_go_on_after_a_run_though_others_began_at_the_same_time(years: Engine) -> None:
    every = runs(years, process="AUTOSYS/LOAD")
    for size in (1, 5):
        paged: list[PastRun] = []
        while some := runs(
            years,
            process="AUTOSYS/LOAD",
            before=(paged[-1].started_at, paged[-1].run_id) if paged else None,
            limit=size,
        ):
            paged += some
        assert paged == every
    [one] = runs(years, run=str(every[-1].run_id))
    last = UUID(int=2**128 - 1)
    assert runs(years, process="AUTOSYS/LOAD", before=(one.started_at, UUID(int=0))) == [one]
    assert runs(years, process="AUTOSYS/LOAD", before=(one.started_at, last)) == []
