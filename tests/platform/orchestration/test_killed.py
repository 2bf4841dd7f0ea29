"""Ingestion that is killed repeatedly gives the same catalog as an undisturbed one."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import Engine

from benchmarks.killing import drop, history, ingest_and_be_killed
from headrace.settings import settings
from tests.platform.events.run_events import contents, wipe


@pytest.mark.slow
def test_killed_in_the_middle_of_doubled_and_shuffled_files_the_catalog_is_as_after_an_orderly_run(
    engine: Engine,
) -> None:
    reports = history(800)
    orderly, killed = settings().home / "orderly", settings().home / "killed"
    drop(orderly, reports, 100)
    assert ingest_and_be_killed(orderly, 0, 0) == 0
    expected = contents(engine)
    assert len(expected["raw"]) == 800
    assert len(expected["versions"]) > 20
    wipe(engine)

    shuffled = [*reports, *reports]
    random.Random(2).shuffle(shuffled)  # noqa: S311
    files = drop(killed, shuffled, 5)
    assert ingest_and_be_killed(killed, 6, 0.5) >= 3
    assert contents(engine) == expected
    assert [path for path in killed.rglob("*") if path.is_file() and "archive" not in path.parts] == []
    assert sum(path.is_file() for path in killed.rglob("*")) == files
