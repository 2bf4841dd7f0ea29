"""Lineage between processes: by the conditions of a scanned estate, and by data exchanged between external jobs."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import Engine

from headrace.estates.estates import scan
from headrace.queries.graph.process_lineage import ProcessLineage, process_lineage
from headrace.queries.process_detail import process_id
from headrace.queries.rows import Direction
from tests.platform.openlineage.events import facet, ingest_valid, run_event

ESTATE = """
insert_job: NIGHT job_type: b
insert_job: LOAD job_type: c
box_name: NIGHT
command: load.sh
machine: m1
insert_job: CHECK job_type: c
box_name: NIGHT
command: check.sh
machine: m1
condition: s(LOAD, 12.00) & d(LOAD) & n(BLOCK)
insert_job: BLOCK job_type: c
command: block.sh
machine: m1
insert_job: SEND job_type: c
command: send.sh
machine: m1
condition: s(CHECK) | f(GONE)
"""


def scanned(engine: Engine, folder: Path, text: str) -> None:
    (folder / "estate.jil").write_text(text)
    scan(engine, [folder / "estate.jil"])


def edges(found: ProcessLineage) -> set[tuple[str, str, str, str | None]]:
    keys: dict[UUID, str] = {node.id: node.key for node in found.nodes}
    return {(keys[edge.source], keys[edge.target], edge.role, edge.condition) for edge in found.edges}


def test_walks_the_conditions_of_jobs_both_ways(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, ESTATE)
    load = process_id(engine, "AUTOSYS/NIGHT/LOAD")
    found = process_lineage(engine, load, Direction.DOWN, 5)
    awaits = {
        ("AUTOSYS/NIGHT/LOAD", "AUTOSYS/NIGHT/CHECK", "AWAITS", "d(LOAD), s(LOAD, 12.00)"),
        ("AUTOSYS/NIGHT/CHECK", "AUTOSYS/SEND", "AWAITS", "s(CHECK)"),
    }
    assert edges(found) == awaits
    assert [(node.key, node.depth) for node in found.nodes] == [
        ("AUTOSYS/NIGHT/LOAD", 0),
        ("AUTOSYS/NIGHT/CHECK", 1),
        ("AUTOSYS/SEND", 2),
    ]
    up = process_lineage(engine, process_id(engine, "AUTOSYS/SEND"), Direction.UP, 5)
    assert edges(up) == awaits
    near = process_lineage(engine, load, Direction.DOWN, 1)
    assert [(node.key, node.hidden) for node in near.nodes] == [
        ("AUTOSYS/NIGHT/LOAD", 0),
        ("AUTOSYS/NIGHT/CHECK", 1),
    ]


def test_a_condition_holds_for_its_time(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, ESTATE)
    send = process_id(engine, "AUTOSYS/SEND")
    with engine.connect() as connection:
        before = connection.execute(sa.text("SELECT now()")).scalar_one()
    scanned(engine, tmp_path, ESTATE.replace("condition: s(CHECK) | f(GONE)\n", ""))
    assert edges(process_lineage(engine, send, Direction.UP, 5)) == set()
    then = process_lineage(engine, send, Direction.UP, 1, as_of=before)
    assert edges(then) == {("AUTOSYS/NIGHT/CHECK", "AUTOSYS/SEND", "AWAITS", "s(CHECK)")}


def test_circles_of_conditions_end_where_they_meet(engine: Engine, tmp_path: Path) -> None:
    text = "insert_job: A job_type: c\ncommand: a\nmachine: m\ncondition: s(B)\n"
    scanned(engine, tmp_path, text + text.replace("A ", "B ").replace("(B)", "(A)"))
    found = process_lineage(engine, process_id(engine, "AUTOSYS/A"), Direction.DOWN, 50)
    assert {(source, target) for source, target, *_ in edges(found)} == {
        ("AUTOSYS/A", "AUTOSYS/B"),
        ("AUTOSYS/B", "AUTOSYS/A"),
    }


def test_datasets_and_conditions_are_one_graph(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, ESTATE)
    ingest_valid(engine, run_event(job="NIGHT/LOAD", namespace="AUTOSYS", outputs=["orders"]))
    ingest_valid(engine, run_event(run=2, job="report", inputs=["orders"], outputs=["figures"]))
    found = process_lineage(engine, process_id(engine, "AUTOSYS/NIGHT/LOAD"), Direction.DOWN, 2)
    assert edges(found) == {
        ("AUTOSYS/NIGHT/LOAD", "AUTOSYS/NIGHT/CHECK", "AWAITS", "d(LOAD), s(LOAD, 12.00)"),
        ("AUTOSYS/NIGHT/CHECK", "AUTOSYS/SEND", "AWAITS", "s(CHECK)"),
        ("AUTOSYS/NIGHT/LOAD", "db#orders", "PRODUCES", None),
        ("db#orders", "airflow#report", "CONSUMES", None),
    }


def test_what_one_job_hands_to_another_without_a_dataset(engine: Engine) -> None:
    handed = {"type": "JOB", "namespace": "airflow", "name": "extract"}
    entry = {"type": "JOB", "namespace": "airflow", "name": "load", "inputs": [handed]}
    lineage = facet(entries=[entry]) | {
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json"
    }
    ingest_valid(engine, run_event(job="load", job_facets={"lineage": lineage}))
    found = process_lineage(engine, process_id(engine, "airflow#load"), Direction.UP, 3)
    assert edges(found) == {("airflow#extract", "airflow#load", "DERIVES", None)}
