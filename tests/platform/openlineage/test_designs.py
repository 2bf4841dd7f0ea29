"""Designs that jobs report outside runs: an edge ends when the newest event omits it, in any order."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine

from headrace import queries
from headrace.context import current_context
from headrace.openlineage import renames as renaming
from headrace.openlineage.job_events import settle
from headrace.queries.rows import Direction
from headrace.retention.rebuild import rebuild
from tests.platform.openlineage.events import (
    START,
    contents,
    edges,
    ingest_valid,
    job_event,
    run_event,
    wipe,
)


def spans(engine: Engine) -> set[tuple[str, str, str, float, float | None]]:
    """Edges with the minutes from when to when they hold."""

    def minutes(time: Any) -> float | None:
        return None if time is None else (time - START).total_seconds() / 60

    return {(row[0], row[1], row[2], minutes(row[5]), minutes(row[6])) for row in contents(engine)["edges"]}  # type: ignore[misc]


def test_what_is_named_no_longer_ends_then_whatever_the_order(engine: Engine) -> None:
    message = [
        job_event("load", ["a", "b"], ["out"], 0),
        job_event("load", ["a", "b"], ["out"], 10),
        job_event("load", ["a"], ["out"], 20),
        job_event("load", ["a", "c"], ["out"], 30),
    ]
    expected = {
        ("db#a", "airflow#load", "CONSUMES", 0, None),
        ("db#a", "db#out", "DERIVES", 0, None),
        ("db#b", "airflow#load", "CONSUMES", 0, 20),
        ("db#b", "db#out", "DERIVES", 0, 20),
        ("db#c", "airflow#load", "CONSUMES", 30, None),
        ("db#c", "db#out", "DERIVES", 30, None),
        ("airflow#load", "db#out", "PRODUCES", 0, None),
    }
    for order in itertools.permutations(message):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        assert spans(engine) == expected
    before = contents(engine)
    rebuild(engine)
    assert contents(engine) == before
    wipe(engine)
    ingest_valid(engine, *message, *message)
    assert spans(engine) == expected


def test_lineage_shows_the_edge_as_of_when_it_held(engine: Engine) -> None:
    ingest_valid(engine, job_event("load", ["a"], ["out"], 0), job_event("load", ["b"], ["out"], 20))
    for minutes, source in ((10, "db#a"), (30, "db#b")):
        found = queries.lineage(engine, "db#out", Direction.UP, 1, as_of=START + timedelta(minutes=minutes))
        assert {edge.source for edge in found.edges} == {source}


def test_what_a_run_shows_goes_on(engine: Engine) -> None:
    message = [
        job_event("load", ["a"], ["out"], 0),
        run_event(job="load", minutes=5, inputs=["a"], outputs=["out"]),
        job_event("load", ["b"], ["out"], 20),
    ]
    found = []
    for order in itertools.permutations(message):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        found.append(spans(engine))
    assert ("db#a", "db#out", "DERIVES", 5, None) in found[0]
    assert all(each == found[0] for each in found)


def test_an_output_that_is_gone_and_one_that_comes_back(engine: Engine) -> None:
    ingest_valid(engine, job_event("load", ["a"], ["x", "y"], 0), job_event("load", ["a"], ["x"], 10))
    assert edges(engine) == {("db#a", "db#x")}
    ingest_valid(engine, job_event("load", ["a"], ["x", "y"], 20))
    assert edges(engine) == {("db#a", "db#x"), ("db#a", "db#y")}
    assert {span[4] for span in spans(engine)} == {None}


def test_what_goes_on_under_the_other_name_of_two_that_a_person_made_one_has_not_ended(
    engine: Engine,
) -> None:
    ingest_valid(engine, job_event("load", ["a"], ["x"], 0), job_event("load", ["b"], ["x"], 10))
    renaming.merge(
        engine, current_context().organisation_id, "db#a", "db#b", by="eve", reason="it is the same"
    )
    assert {span[4] for span in spans(engine)} == {None}
    before = contents(engine)
    rebuild(engine)
    assert contents(engine) == before


def test_jobs_that_say_nothing_new_are_asked_nothing(engine: Engine) -> None:
    ingest_valid(engine, job_event("load", ["a"], ["x"], 0))
    before = contents(engine)
    with engine.begin() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        settle(raw.cursor(), before["processes"][0][0], [], [])
    assert contents(engine) == before
