"""The examples of docs/declaring-datasets.md and docs/growing.md load, and they name every attribute."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.declarations.attributes import External, Product
from headrace.declarations.checks import ColumnCheck, DatasetCheck
from headrace.declarations.dataset import Dataset, Process
from headrace.declarations.incremental import Incremental
from headrace.execution.plan import ProcessPlan
from tests.platform.declarations.conftest import Project

FOLDER = Path(__file__).parents[3] / "docs"
DOCS = (FOLDER / "declaring-datasets.md").read_text()
GROWING = (FOLDER / "growing.md").read_text()
EXAMPLE = re.compile(r"```(?:yaml|sql|python)\n(?:#|--) assets/(\S+)\n(.*?)```", re.DOTALL)


def test_all_examples_load_as_one_project(project: Project) -> None:
    pytest.importorskip("headrace.checks.models")
    assert computed_in(project, DOCS) == {
        "shop/order_numbers",
        "shop/order_numbers_for_the_mainframe",
        "shop/daily_sales",
        "shop/returns",
        "shop/customers",
        "shop/trend",
        "shop/by_country",
        "shop/checked",
        "shop/small_orders",
        "shop/valid_orders",
    }
    project.repository()


def test_the_examples_of_datasets_that_grow_load_as_one_project(project: Project) -> None:
    assert computed_in(project, GROWING) == {
        "shop/ledger",
        "shop/clicks",
        "shop/customers",
        "shop/order_history",
        "shop/balances",
    }
    project.repository()


def computed_in(project: Project, docs: str) -> set[str]:
    """Return the datasets that the examples of a page compute, when they are loaded as one project."""
    examples: dict[str, list[str]] = {}
    for path, text in EXAMPLE.findall(docs):
        examples.setdefault(path, []).append(text)
    for path, texts in examples.items():
        project.write(path, "---\n".join(texts))
    loaded = project.load()
    assert [str(problem) for problem in loaded.problems] == []
    return {key for plan in loaded.plans if isinstance(plan, ProcessPlan) for key in plan.record.outputs}


def test_the_smallest_example_is_the_first_and_under_ten_lines() -> None:
    _, text = EXAMPLE.findall(DOCS)[0]
    assert len(text.splitlines()) < 10


@pytest.mark.parametrize("model", [Dataset, Process, External, Product, ColumnCheck, DatasetCheck])
def test_every_attribute_is_named(model: type[Dataset]) -> None:
    names = {info.alias or name for name, info in model.model_fields.items()}
    assert {name for name in names if f"`{name}`" not in DOCS and f"`{name}:" not in DOCS} == set()


def test_every_attribute_of_growth_is_explained() -> None:
    assert {
        name for name in Incremental.model_fields if not re.search(rf"`{name}\b|\b{name}: ", GROWING)
    } == set()
