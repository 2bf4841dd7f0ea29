"""Datasets that read their own previous version or partition: the input `self`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.queries.versions import version, versions
from tests.platform.execution.growing import Feed, Row, stored
from tests.platform.projects import Project, failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

STOCK = """
type: headrace.ExternalDataset
attributes: {key: shop/movements}
---
type: headrace.Dataset
attributes:
  key: shop/stock
  sql: >-
    SELECT id, CAST(sum(amount) AS BIGINT) AS amount
    FROM (SELECT id, amount FROM self UNION ALL SELECT id, amount FROM movements) GROUP BY id
  schema: {columns: {id: bigint, amount: bigint}}
"""
BALANCES = """
type: headrace.ExternalDataset
attributes:
  key: shop/movements
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-04"}
---
type: headrace.Dataset
attributes:
  key: shop/balances
  python: balances.py:balances
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-04"}
  inputs: [movements, {dataset: self, as: before}]
  schema: {columns: {id: bigint, amount: bigint}}
"""
BALANCES_PY = """
def balances(movements, before):
    rows = before.union(movements.select("id", "amount"))
    return rows.groupBy("id").sum("amount").toDF("id", "amount")
"""
COLUMNS = {"day": "date", "id": "bigint", "amount": "bigint"}


def moved(id: int, amount: int) -> Row:
    return {"day": date(2026, 1, 1), "id": id, "amount": amount}


def held(id: int, amount: int) -> Row:
    return {"id": id, "amount": amount}


def run(project: Project, dataset: str, *, full_refresh: bool = False) -> None:
    (result,) = project.materialize(dataset, full_refresh=full_refresh)
    assert result.success, failure(result)


def test_the_first_run_finds_no_rows_and_each_version_of_an_input_counts_once(
    tmp_path: Path, engine: Engine
) -> None:
    shop = load_project(write_project(tmp_path, "shop", STOCK), engine)
    feed = Feed(engine, tmp_path, "shop/movements", COLUMNS)
    feed.publish([moved(1, 10)])
    run(shop, "shop/stock")
    assert stored(engine, "shop/stock") == [held(1, 10)]
    feed.publish([moved(1, -3), moved(2, 5)])
    run(shop, "shop/stock")
    expected = [held(1, 7), held(2, 5)]
    assert stored(engine, "shop/stock") == expected
    assert {each.dataset for each in version(engine, "shop/stock").inputs} == {"shop/stock", "shop/movements"}

    run(shop, "shop/stock")
    feed.roll_back("f1")
    run(shop, "shop/stock")

    assert stored(engine, "shop/stock") == expected
    assert len(versions(engine, "shop/stock")) == 2
    run(shop, "shop/stock", full_refresh=True)
    assert stored(engine, "shop/stock") == [held(1, 10)]


def test_each_partition_continues_the_one_before(tmp_path: Path, engine: Engine) -> None:
    shop = load_project(write_project(tmp_path, "shop", BALANCES, balances_py=BALANCES_PY), engine)
    feed = Feed(engine, tmp_path, "shop/movements", COLUMNS)
    for day, amount in enumerate((1, 10, 100), 1):
        feed.publish([moved(7, amount)], f"2026-01-0{day}")

    results = shop.materialize("shop/balances")

    assert [result.success for result in results] == [True] * 3
    assert stored(engine, "shop/balances") == [held(7, 111)]
    assert shop.materialize("shop/balances", stale_in=engine) == []


def test_a_corrected_partition_makes_those_after_it_stale(tmp_path: Path, engine: Engine) -> None:
    shop = load_project(write_project(tmp_path, "shop", BALANCES, balances_py=BALANCES_PY), engine)
    feed = Feed(engine, tmp_path, "shop/movements", COLUMNS)
    for day, amount in enumerate((1, 10, 100), 1):
        feed.publish([moved(7, amount)], f"2026-01-0{day}")
    shop.materialize("shop/balances")
    feed.publish([moved(7, 20)], "2026-01-02")

    results = shop.materialize("shop/balances", stale_in=engine)

    assert [result.dagster_run.tags["dagster/partition"] for result in results] == [
        "2026-01-02",
        "2026-01-03",
    ]
    assert stored(engine, "shop/balances") == [held(7, 121)]


def test_a_partition_before_the_one_that_it_continues_says_what_to_materialize(
    tmp_path: Path, engine: Engine
) -> None:
    shop = load_project(write_project(tmp_path, "shop", BALANCES, balances_py=BALANCES_PY), engine)
    Feed(engine, tmp_path, "shop/movements", COLUMNS).publish([moved(7, 1)], "2026-01-02")

    (refused,) = shop.materialize("shop/balances", partitions=("2026-01-02", "2026-01-02"))

    assert "no published version in partition 2026-01-01: run `headrace materialize shop/balances" in failure(
        refused
    )
