"""Checks that compare an output with its inputs: references and totals."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus
from headrace.queries.versions import version, versions
from tests.platform.execution.growing import Feed, stored
from tests.platform.projects import checks, failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = """
type: headrace.ExternalDataset
attributes: {key: shop/orders, partitions: {type: static, keys: [a, b]}}
---
type: headrace.ExternalDataset
attributes: {key: shop/customers}
---
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT o.part, o.customer, o.amount FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE CONDITION
  GROWTH
  checks:
    - references: {columns: [customer], to: customers, keys: [id]}
    - name: amounts
      reconcile: {with: orders, sum: amount}
    - name: rows
      reconcile: {with: orders}
      severity: warning
"""
COLUMNS = {"part": "string", "customer": "bigint", "amount": "bigint"}


def order(part: str, customer: int | None, amount: int) -> dict[str, object]:
    return {"part": part, "customer": customer, "amount": amount}


def declared(growth: str = "owner: team:shop", condition: str = "TRUE") -> str:
    return ORDERS.replace("GROWTH", growth).replace("CONDITION", condition)


@pytest.mark.parametrize(
    "growth", ["owner: team:shop", "incremental: {mode: append, input: orders, partition: part}"]
)
def test_rows_refer_to_an_input_and_add_up_to_it(growth: str, tmp_path: Path, engine: Engine) -> None:
    shop = load_project(write_project(tmp_path / "project", "shop", declared(growth)), engine)
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}, {"id": 2}])
    orders = Feed(engine, tmp_path, "shop/orders", COLUMNS)
    orders.publish([order("a", 1, 10), order("a", None, 5)], "a")
    shop.materialize("shop/sales")
    orders.publish([order("b", 2, 20)], "b")
    results = shop.materialize("shop/sales")

    assert checks(results) == {"customer_in_customers": True, "amounts": True, "rows": True}
    assert len(stored(engine, "shop/sales")) == 3
    found = {each.name: each for each in version(engine, "shop/sales").checks}
    assert found["amounts"].detail == {"total": "35", "total_of_input": "35"}


def test_a_row_that_refers_to_nothing_blocks_the_version(tmp_path: Path, engine: Engine) -> None:
    shop = load_project(write_project(tmp_path / "project", "shop", declared()), engine)
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}])
    Feed(engine, tmp_path, "shop/orders", COLUMNS).publish(
        [order("a", 1, 10), order("a", 9, 5), order("a", 9, 1)], "a"
    )

    (result,) = shop.materialize("shop/sales")

    assert "failed check: customer_in_customers (2 rows)" in failure(result)


def test_a_total_that_differs_blocks_and_a_warning_of_one_does_not(tmp_path: Path, engine: Engine) -> None:
    shop = load_project(
        write_project(tmp_path / "project", "shop", declared(condition="o.amount > 5")), engine
    )
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}])
    Feed(engine, tmp_path, "shop/orders", COLUMNS).publish([order("a", 1, 10), order("a", 1, 5)], "a")

    (result,) = shop.materialize("shop/sales")

    assert "failed check: amounts" in failure(result)
    (blocked,) = versions(engine, "shop/sales")
    found = {each.name: each for each in version(engine, "shop/sales", blocked.version.tag).checks}
    assert found["amounts"].detail == {"total": "10", "total_of_input": "15"}
    assert found["rows"].status is CheckStatus.WARN


def test_totals_of_sensitive_columns_are_not_shown(tmp_path: Path, engine: Engine) -> None:
    tagged = declared().replace(
        "key: shop/customers}", "key: shop/customers, schema: {columns: {id: {type: bigint, tags: [pii]}}}}"
    )
    shop = load_project(write_project(tmp_path / "project", "shop", tagged), engine)
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}])
    Feed(engine, tmp_path, "shop/orders", COLUMNS).publish([order("a", 1, 10)], "a")

    shop.materialize("shop/sales")

    assert {str(each.detail) for each in version(engine, "shop/sales").checks} == {"{}"}


def test_a_decimal_total_is_compared_with_one_of_doubles(tmp_path: Path, engine: Engine) -> None:
    total = 'sum: "CAST(amount AS DECIMAL(10, 2))", of: CAST(amount AS DOUBLE)'
    text = declared().replace("sum: amount", total)
    shop = load_project(write_project(tmp_path / "project", "shop", text), engine)
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}])
    Feed(engine, tmp_path, "shop/orders", COLUMNS).publish([order("a", 1, 10)], "a")

    assert checks(shop.materialize("shop/sales"))["amounts"]


def test_a_column_that_the_input_lacks_is_named(tmp_path: Path, engine: Engine) -> None:
    text = declared().replace("keys: [id]", "keys: [number]")
    shop = load_project(write_project(tmp_path / "project", "shop", text), engine)
    Feed(engine, tmp_path, "shop/customers", {"id": "bigint"}).publish([{"id": 1}])
    Feed(engine, tmp_path, "shop/orders", COLUMNS).publish([order("a", 1, 10)], "a")

    (result,) = shop.materialize("shop/sales")

    assert "Check customer_in_customers cannot be evaluated" in failure(result)
    assert "`number`" in failure(result)


def test_a_key_is_unique_among_all_partitions(tmp_path: Path, engine: Engine) -> None:
    declaration = """
type: headrace.ExternalDataset
attributes: {key: shop/feed, partitions: {type: static, keys: [a, b]}}
---
type: headrace.Dataset
attributes:
  key: shop/items
  partitions: {type: static, keys: [a, b]}
  sql: SELECT id FROM feed
  checks: [{unique_across_partitions: [id]}]
"""
    shop = load_project(write_project(tmp_path / "project", "shop", declaration), engine)
    feed = Feed(engine, tmp_path, "shop/feed", {"id": "bigint"})
    feed.publish([{"id": 1}, {"id": 2}], "a")
    feed.publish([{"id": 2}, {"id": 3}], "b")

    assert checks(shop.materialize("shop/items", partitions=("a", "a"))) == {
        "unique_id_across_partitions": True
    }
    assert checks(shop.materialize("shop/items", partitions=("b", "b"))) == {
        "unique_id_across_partitions": False
    }
    feed.publish([{"id": 3}], "b")
    assert checks(shop.materialize("shop/items", partitions=("b", "b"))) == {
        "unique_id_across_partitions": True
    }
    # A partition that is computed again is not compared with its own version before.
    assert checks(shop.materialize("shop/items", partitions=("a", "a"))) == {
        "unique_id_across_partitions": True
    }
    feed.publish([{"id": 4}, {"id": 4}], "a")
    [failed] = shop.materialize("shop/items", partitions=("a", "a"))
    assert "unique_id_across_partitions (2 rows)" in failure(failed)
