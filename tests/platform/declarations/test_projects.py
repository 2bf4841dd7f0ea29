"""Two projects on one catalog: each reads the other's datasets and cannot declare them."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.declarations.loading.known import known, record_problems
from headrace.declarations.loading.project import LoadedProject, load, records
from headrace.errors import DeclaredElsewhere, ProjectNameTaken
from headrace.queries.projects import outdated_loads
from headrace.registration.declarations import register, transfer
from headrace.settings import settings
from tests.platform.projects import write_project

DAILY = """
type: headrace.Dataset
attributes:
  key: shop/orders
  partitions: {type: daily, start: "2026-01-01", timezone: Europe/London}
  sql: SELECT 1 AS id
"""
READER = """
type: headrace.Dataset
attributes:
  key: finance/turnover
  inputs: [{dataset: shop/orders, partitions: all}]
  sql: SELECT count(*) AS orders FROM shop.orders
"""


def loaded_as(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedProject:
    monkeypatch.setenv("HEADRACE_NAME", name)
    settings.cache_clear()
    return load(root, known())


@pytest.fixture
def shop(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedProject:
    loaded = loaded_as("shop", write_project(tmp_path / "shop", "shop", DAILY), monkeypatch)
    register(engine, *records(loaded.plans))
    return loaded


def test_a_dataset_of_another_project_is_an_input_with_its_partitions(
    engine: Engine, shop: LoadedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finance = loaded_as("finance", write_project(tmp_path / "finance", "finance", READER), monkeypatch)
    assert finance.problems == ()
    spark = dg.Definitions(resources={"spark": dg.ResourceDefinition.none_resource()})
    graph = dg.Definitions.merge(finance.definitions, spark).resolve_asset_graph()
    orders = graph.get(dg.AssetKey(["shop", "orders"]))
    assert orders.is_external
    assert orders.partitions_def == dg.DailyPartitionsDefinition("2026-01-01", timezone="Europe/London")
    assert orders.metadata["project"] == "shop"
    assert graph.get(dg.AssetKey(["finance", "turnover"])).parent_keys == {orders.key}


def test_a_project_is_outdated_once_another_declares_the_input_that_it_lacked(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "finance", "finance", READER)

    def load_finance() -> list[str]:
        problems = loaded_as("finance", root, monkeypatch).problems
        record_problems(root, problems)
        return [problem.message for problem in problems]

    assert load_finance() == [
        "finance/turnover reads shop/orders, which no project of this catalog has declared yet"
    ]
    assert outdated_loads(engine) == set()
    shop = loaded_as("shop", write_project(tmp_path / "shop", "shop", DAILY), monkeypatch)
    register(engine, *records(shop.plans))
    assert {project for project, _ in outdated_loads(engine)} == {"finance"}
    assert load_finance() == []
    assert outdated_loads(engine) == set()


def test_a_key_of_another_project_is_refused_by_the_loader_and_by_the_catalog(
    engine: Engine, shop: LoadedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = loaded_as("other", write_project(tmp_path / "other", "shop", DAILY), monkeypatch)
    [problem] = other.problems
    assert (problem.field, problem.message) == ("key", "shop/orders is declared by the project shop")
    assert other.plans == ()
    with pytest.raises(DeclaredElsewhere, match="shop/orders is already declared by the project shop"):
        register(engine, *records(shop.plans))


def test_a_key_that_differs_only_in_case_from_one_of_another_project_is_refused(
    engine: Engine, shop: LoadedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declaration = DAILY.replace("shop/orders", "shop/Orders")
    other = loaded_as("other", write_project(tmp_path / "other", "shop", declaration), monkeypatch)
    assert [problem.message for problem in other.problems] == [
        "shop/Orders differs only in case from shop/orders, which is declared by the project shop"
    ]
    assert other.plans == ()


def test_a_dataset_that_moves_is_transferred(
    engine: Engine, shop: LoadedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "other", "shop", DAILY)
    loaded_as("other", root, monkeypatch)
    transfer(engine, "shop/orders")
    moved = load(root, known())
    assert moved.problems == ()
    register(engine, *records(moved.plans))
    back = loaded_as("shop", tmp_path / "shop", monkeypatch)
    assert [problem.message for problem in back.problems] == ["shop/orders is declared by the project other"]


def test_another_project_of_the_same_name_is_refused(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = uuid4(), uuid4()
    monkeypatch.setenv("HEADRACE_PROJECT_ID", str(mine))
    first = loaded_as("shop", write_project(tmp_path / "shop", "shop", DAILY), monkeypatch)
    register(engine, *records(first.plans))
    monkeypatch.setenv("HEADRACE_PROJECT_ID", str(other))
    text = DAILY.replace("shop/orders", "shop/returns")
    second = loaded_as("shop", write_project(tmp_path / "other", "shop", text), monkeypatch)
    with pytest.raises(ProjectNameTaken, match="another project with the name shop uses this catalog"):
        register(engine, *records(second.plans))
    monkeypatch.setenv("HEADRACE_PROJECT_ID", str(mine))
    settings.cache_clear()
    assert register(engine, *records(second.plans)) == []
