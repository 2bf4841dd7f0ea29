"""No two datasets are published as one view of a database, however its name is spelt."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.declarations.loading.project import load
from tests.platform.connections.databases import configured, derby
from tests.platform.projects import write_project

DATASET = """
---
type: headrace.Dataset
attributes: {{key: {key}, output: {{store: jdbc, connection: {connection}{table}}}, sql: SELECT 1 AS id}}
"""


def declared(key: str, table: str = "", connection: str = "crm") -> str:
    return DATASET.format(key=key, connection=connection, table=f", table: '{table}'" if table else "")


def problems(tmp_path: Path, *datasets: str) -> list[str]:
    loaded = load(write_project(tmp_path / "project", "shop", "".join(datasets)))
    return [f"{each.line}: {each.field}: {each.message}" for each in loaded.problems]


@pytest.mark.parametrize("table", ["SHOP.Orders", '"SHOP".orders', "shop.orders"])
def test_a_view_that_another_dataset_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    with configured(monkeypatch, tmp_path, derby("crm")):
        assert problems(tmp_path, declared("shop/orders"), declared("shop/copy", table)) == [
            f"8: output: shop/copy is the view crm:{table}, as is shop/orders, declared at assets/shop/defs.yaml:3"
        ]


def test_two_connections_to_one_database_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "[connections.{}]\nurl = 'jdbc:derby:memory:one'\n"
    with configured(monkeypatch, tmp_path, url.format("crm") + url.format("crm_too")):
        [problem] = problems(
            tmp_path, declared("shop/orders"), declared("shop/copy", "SHOP.ORDERS", "crm_too")
        )
    assert "shop/copy is the view crm_too:SHOP.ORDERS, as is shop/orders" in problem


def test_a_connection_that_is_not_known_here_is_compared_without_case(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, declared("shop/orders"), declared("shop/copy", "SHOP.ORDERS"))
    assert "shop/copy is the view crm:SHOP.ORDERS, as is shop/orders" in problem


def test_names_that_differ_in_the_database_are_two_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with configured(monkeypatch, tmp_path, derby("crm")):
        assert problems(tmp_path, declared("shop/orders"), declared("shop/copy", '"shop"."orders"')) == []


def test_two_outputs_of_one_process_are_compared_too(tmp_path: Path) -> None:
    text = """
type: headrace.Process
attributes:
  outputs:
    - {key: shop/a, output: {store: jdbc, connection: crm, table: shop.a}, sql: SELECT 1 AS id}
    - {key: shop/b, output: {store: jdbc, connection: crm, table: SHOP.A}, sql: SELECT 1 AS id}
"""
    [problem] = problems(tmp_path, text)
    assert "shop/b is the view crm:SHOP.A, as is shop/a" in problem
