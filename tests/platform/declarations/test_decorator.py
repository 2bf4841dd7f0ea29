"""@dataset works like @dg.asset and gives the same plan as the YAML."""

from __future__ import annotations

import dagster as dg
import pytest

from headrace.declarations.definition import plan_of
from headrace.execution.plan import ProcessPlan
from headrace.execution.problems import DeclarationError
from tests.platform.declarations.conftest import Project

CODE = '''
from headrace.declarations import dataset


@dataset(
    owner="team:shop",
    inputs=["orders", {"dataset": "ref/people", "as": "who"}],
    partitions={"type": "daily", "start": "2013-01-01", "column": "day"},
    schema={"columns": {"day": "date", "n": {"type": "bigint", "nullable": False}}},
    sla={"max_age": "26h"},
)
def totals(orders, who, context):
    """What a day brought."""
    return orders
'''
SOURCES = """
type: headrace.ExternalDataset
attributes: {key: shop/orders, partitions: {type: daily, start: "2013-01-01"}}
---
type: headrace.ExternalDataset
attributes: {key: ref/people}
"""


def test_the_decorator_makes_a_dataset_of_a_function(project: Project) -> None:
    project.write("shop/code.py", CODE)
    project.write("shop/defs.yaml", SOURCES)
    loaded = project.load()
    assert loaded.problems == ()
    plan = next(plan for plan in loaded.plans if isinstance(plan, ProcessPlan))
    (output,) = plan.outputs
    assert (output.record.key, output.record.description) == ("shop/totals", "What a day brought.")
    assert [(item.dataset, item.alias) for item in plan.inputs] == [
        ("shop/orders", "orders"),
        ("ref/people", "who"),
    ]
    assert [check.name for check in output.record.checks] == ["n_not_null", "partition"]
    assert output.record.declared_at == "assets/shop/code.py:4"
    node = project.repository().asset_graph.get(dg.AssetKey(["shop", "totals"]))
    assert (list(node.owners), node.kinds) == (["team:shop"], {"spark", "python", "parquet"})


def test_parameters_name_the_inputs_where_none_are_declared(project: Project) -> None:
    project.write(
        "shop/code.py",
        "from headrace.declarations import dataset\n\n@dataset('shop/copy')\ndef copy(orders): return orders\n",
    )
    project.write("shop/defs.yaml", SOURCES)
    assert [item.dataset for item in project.plan("shop/copy").inputs] == ["shop/orders"]


def test_the_result_is_an_assets_definition_of_dagster() -> None:
    from headrace.declarations import dataset

    @dataset("shop/one", tags={"layer": "raw"})
    def one() -> None: ...

    assert isinstance(one, dg.AssetsDefinition)
    plan = plan_of(one)
    assert plan is not None
    assert plan.outputs[0].record.tags == {"layer": "raw"}


def test_a_query_has_no_place_at_a_function() -> None:
    from headrace.declarations import dataset

    with pytest.raises(DeclarationError, match="the decorated function is the code"):

        @dataset("shop/one", sql="SELECT 1")
        def one() -> None: ...


def test_dagster_assets_can_be_defined_and_read(project: Project) -> None:
    project.write(
        "shop/code.py",
        """
        import dagster as dg


        @dg.asset(key_prefix="shop")
        def plain(): ...


        nightly = dg.define_asset_job("nightly", selection="shop/plain")
        """,
    )
    project.write(
        "shop/defs.yaml", "type: headrace.Dataset\nattributes: {key: shop/x, sql: SELECT * FROM plain}\n"
    )
    repository = project.repository()
    assert project.load().problems == ()
    assert repository.has_job("nightly")
    assert repository.asset_graph.get(dg.AssetKey(["shop", "x"])).parent_keys == {
        dg.AssetKey(["shop", "plain"])
    }
