"""Recorded events of real producers: the same catalog in any order, and after a rebuild."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.openlineage.model import Result
from headrace.queries.rows import Direction
from headrace.retention.rebuild import rebuild
from headrace.retention.run_reports import why as explain_run
from headrace.settings import settings
from tests.platform.openlineage.events import (
    SCENARIOS,
    contents,
    edges,
    everything,
    ingest,
    ingest_valid,
    recorded,
    wipe,
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_order_gives_the_same_catalog_and_so_does_rebuilding(engine: Engine, scenario: Any) -> None:
    events = recorded(scenario)
    by_time = sorted(events, key=lambda event: event["eventTime"])
    shuffled = random.Random(7).sample(events, len(events))  # noqa: S311
    ingest_valid(engine, *by_time)
    orderly = everything(engine)
    assert {"process_run", "lineage_edge", "facet", "dataset_search"} <= {
        name for name, rows in orderly.items() if rows
    }
    for each in ([*events], shuffled, [*by_time, *events], list(reversed(by_time))):
        wipe(engine)
        for event in each:
            ingest_valid(engine, event)
        assert everything(engine) == orderly
    ingest_valid(engine, *shuffled)
    assert everything(engine) == orderly
    assert rebuild(engine).events == len(events)
    assert everything(engine) == orderly


def test_a_repeated_event_is_a_repetition(engine: Engine) -> None:
    events = recorded("CLL")
    assert {each.result for each in ingest(engine, *events)} == {Result.STORED}
    assert {each.result for each in ingest(engine, *events)} == {Result.REPEATED}


def test_sparks_create_table_as_select(engine: Engine) -> None:
    ingest_valid(engine, *recorded("CLL"))
    target = "file#/tmp/cll_test/tbl1"
    assert edges(engine) == {(f"file#/tmp/cll_test/cll_source{number}", target) for number in (1, 2)}
    found = queries.dataset(engine, target)
    assert [column.name for column in found.columns] == ["ident", "trans", "agg"]
    (version,) = queries.versions(engine, target)
    assert version.published
    assert version.version.run_id is not None
    (run,) = explain_run(engine, version.version.run_id)
    assert (run.state.value, str(run.parent_run_id)) == ("SUCCESS", "019127de-fd25-7707-bfa4-3ec02693a531")


def test_airflows_chain_of_tables_and_files(engine: Engine) -> None:
    ingest_valid(engine, *recorded("airflow"))
    found = queries.lineage(engine, "gs://mock-bucket#result.csv", Direction.UP, depth=5)
    assert {node.key for node in found.nodes} == {
        "gs://mock-bucket#result.csv",
        "bigquery#mock-project.test.upload_cp",
        "bigquery#mock-project.test.upload",
        "gs://mock-bucket#copied.csv",
        "gs://mock-bucket#test.csv",
    }


def test_assets_sharing_a_dagster_run_are_separate_runs(engine: Engine) -> None:
    ingest_valid(engine, *recorded("dagster"))
    assert edges(engine) == set()
    states = {row[1]: row[4] for row in contents(engine)["runs"]}
    # When one asset fails, Dagster's integration reports a FAIL of all assets of the run, and later their COMPLETE. A
    # failure is final: this cannot be distinguished from the COMPLETE that Spark's listener sends after the FAIL of a
    # write.
    assert states == {
        "dagster_ns#raw": "FAILED",
        "dagster_ns#mart": "FAILED",
        "dagster_ns#mart__checks": "SUCCESS",
        "dagster_ns#broken": "FAILED",
    }


def test_dbts_models_and_tests(engine: Engine) -> None:
    ingest_valid(engine, *recorded("dbt"))
    clean, totals = "duckdb://shop.duckdb#shop.main.clean", "duckdb://shop.duckdb#shop.main.totals"
    assert (clean, totals) in edges(engine)
    tests = {(row[2], row[3], row[4]) for row in contents(engine)["assertions"]}
    assert tests == {
        ("unique", "id", True),
        ("not_null", "id", True),
        ("not_null", "total", True),
        ("accepted_values", "total", False),
    }
    parents = {row[1]: row[5] is not None for row in contents(engine)["runs"]}
    assert parents.pop("dbt#dbt-run-shop") is False
    assert set(parents.values()) == {True}


def test_sparks_listener_reads_and_writes_headrace_versions(engine: Engine) -> None:
    warehouse = settings().warehouse_uri.removeprefix("file://")
    recorded_at = json.dumps(recorded("spark_listener"))
    ingest_valid(engine, *json.loads(recorded_at.replace("/data/warehouse", warehouse)))
    assert edges(engine) == {("shop/orders", "shop/sales")}
    found = contents(engine)
    assert {row[1] for row in found["datasets"]} == {"shop/orders", "shop/sales"}
    assert {row[1] for row in found["processes"]} == {
        "spark#listener",
        "spark#listener.adaptive_spark_plan.sales",
        "spark#listener.execute_insert_into_hadoop_fs_relation_command.orders",
        "spark#listener.map_partitions_parallel_collection",
    }
    assert {(row[1], row[4]) for row in found["used"]} == {
        ("shop/orders", "20261128T041500Z-0a2b3c4d"),
        ("shop/sales", "20261128T041501Z-1a2b3c4d"),
    }
    assert ("shop/sales", "newest", "shop/orders", "id") in {row[:4] for row in found["columns"]}
    assert found["versions"] == []  # Headrace's are created when they are published
