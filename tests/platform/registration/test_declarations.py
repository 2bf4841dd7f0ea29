"""Registering declarations: idempotent, cheap, with history of edges."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Check, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.errors import UnknownDataset
from headrace.queries import Direction, dataset, lineage
from headrace.registration.declarations import register
from tests.platform.conftest import DATASETS, PROCESSES


def edges(engine: Engine) -> Any:
    return {(edge.source, edge.target) for edge in lineage(engine, "mart/report", Direction.UP, 9).edges}


def test_what_was_declared_is_found_again(catalog: Engine) -> None:
    found = dataset(catalog, "mart/delays")
    declared = DATASETS[1]
    assert (found.columns, found.checks, found.sla, found.tags) == (
        declared.columns,
        tuple(sorted(declared.checks, key=lambda check: check.name)),
        declared.sla,
        declared.tags,
    )
    assert (found.producers, found.upstream, found.downstream) == (
        ("mart/delays",),
        ("raw/flights",),
        ("mart/report",),
    )


def test_registering_again_keeps_ids_and_writes_nothing(catalog: Engine) -> None:
    def state() -> Any:
        with transaction(catalog) as cursor:
            return cursor.execute(
                "SELECT dataset_id, updated_at, dataset.xmin::text FROM catalog.dataset ORDER BY full_name"
            ).fetchall()

    before = state()
    register(catalog, DATASETS, PROCESSES)
    assert state() == before


def test_a_changed_declaration_keeps_its_id_and_retires_what_it_dropped(catalog: Engine) -> None:
    before = dataset(catalog, "mart/delays")
    changed = replace(
        DATASETS[1],
        description="new",
        checks=(Check("other", "unique"),),
        sla=None,
        metadata=MappingProxyType({"a": 1}),
    )
    register(catalog, [changed], [])
    after = dataset(catalog, "mart/delays")
    assert after.dataset_id == before.dataset_id
    assert (after.description, after.sla, after.metadata) == ("new", None, {"a": 1})
    assert [check.name for check in after.checks] == ["other"]
    register(catalog, [DATASETS[1]], [])
    assert [check.name for check in dataset(catalog, "mart/delays").checks] == ["delay_sane", "id_not_null"]


def test_an_edge_that_ended_stays_in_history(catalog: Engine) -> None:
    assert edges(catalog) == {("raw/flights", "mart/delays"), ("mart/delays", "mart/report")}
    with transaction(catalog) as cursor:
        moment = cursor.execute("SELECT clock_timestamp() AS now").fetchone()["now"]
    register(catalog, [], [replace(PROCESSES[1], inputs=("raw/flights",))])
    assert edges(catalog) == {("raw/flights", "mart/report")}
    then = lineage(catalog, "mart/report", Direction.UP, 9, as_of=moment)
    assert {(edge.source, edge.target) for edge in then.edges} == {
        ("raw/flights", "mart/delays"),
        ("mart/delays", "mart/report"),
    }
    register(catalog, [], [PROCESSES[1]])
    assert edges(catalog) == {("raw/flights", "mart/delays"), ("mart/delays", "mart/report")}


def test_a_process_of_an_unknown_dataset_is_refused_with_a_hint(catalog: Engine) -> None:
    with pytest.raises(UnknownDataset, match=r"raw/flight\..*Did you mean raw/flights\?"):
        register(catalog, [], [ProcessRecord("x/y", Technology.SPARK, inputs=("raw/flight",))])


def test_many_code_locations_may_register_at_once(engine: Engine) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: register(engine, DATASETS, PROCESSES), range(6)))
    assert edges(engine) == {("raw/flights", "mart/delays"), ("mart/delays", "mart/report")}
