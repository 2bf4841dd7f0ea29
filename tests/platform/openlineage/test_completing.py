"""Completions of external runs, in any order of arrival."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.events.completions import completions
from headrace.retention.rebuild import rebuild
from tests.platform.openlineage.events import START, facet, ingest_valid, run_event

NOMINAL = {
    "nominalTime": {
        **facet(nominalStartTime="2026-03-01T00:00:00Z"),
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/NominalTimeRunFacet.json",
    }
}


def completed(engine: Engine) -> set[tuple[str, str | None]]:
    """The jobs that have completed, with the business date that their run states."""
    names = ["airflow#load", "airflow#report"]
    found = completions(engine, names, after=0, to=1000, limit=10)
    assert len(found) == len({each.identity for each in found})
    return {(each.process_key, each.partition) for each in found}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_jobs_that_share_the_id_of_a_run_complete_each_for_itself(
    engine: Engine, order: tuple[int, ...]
) -> None:
    message: list[dict[str, Any]] = [
        run_event("START", job="load"),
        run_event("COMPLETE", job="load", minutes=3),
        run_event("COMPLETE", job="report", minutes=2),
    ]
    for index in order:
        ingest_valid(engine, message[index])
    assert completed(engine) == {("airflow#load", None), ("airflow#report", None)}
    rebuild(engine)
    assert completed(engine) == {("airflow#load", None), ("airflow#report", None)}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_business_date_that_only_the_start_states_is_that_of_the_completion(
    engine: Engine, order: tuple[int, ...]
) -> None:
    message = [run_event("START", run_facets=NOMINAL), run_event("COMPLETE", minutes=2)]
    for index in order:
        ingest_valid(engine, message[index])
    assert completed(engine) == {("airflow#load", "2026-03-01T00:00:00Z")}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_dagster_gets_the_effective_end(engine: Engine, order: tuple[int, ...]) -> None:
    message = [run_event("COMPLETE", namespace="AUTOSYS", minutes=minutes) for minutes in (5, 6)]
    for index in order:
        ingest_valid(engine, message[index])
    with transaction(engine) as cursor:
        waiting = cursor.execute("SELECT at FROM catalog.pending_materialization").fetchall()
    assert [row["at"] for row in waiting] == [START + timedelta(minutes=6)]
