"""An invalid declaration affects no others: its readers load, and read the partitions that it declares."""

from __future__ import annotations

import dagster as dg
import pytest

from headrace.execution.partitions import NoUpstreamPartition, upstream_keys
from headrace.execution.plan import ProcessPlan
from tests.platform.declarations.conftest import Project

DAILY = "partitions: {type: daily, start: 2013-01-01, timezone: Europe/Berlin}"
BROKEN = {
    "in its SQL": f"attributes: {{key: shop/broken, sql: SELECT FROM, {DAILY}}}",
    "in a field": f"attributes: {{key: shop/broken, sql: SELECT 1, ownr: x, {DAILY}}}",
    "in another field of partitions": "attributes: {key: shop/broken, sql: SELECT 1, "
    + DAILY.replace("}", ", colum: day}}"),
    "in its YAML": f"attributes:\n  key: shop/broken\n  {DAILY}\n  sql: 'SELECT 1\n",
    "in its YAML, written in blocks": "attributes:\n  key: shop/broken\n  inputs:\n    - dataset: x\n"
    "      partitions: all\n  partitions:\n    type: daily\n    start: 2013-01-01\n    timezone: Europe/Berlin\n"
    "  sql: 'SELECT 1\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_dataset_keeps_its_partitions_for_those_who_read_it(project: Project, broken: str) -> None:
    project.write(
        "shop/defs.yaml",
        "type: headrace.Dataset\nattributes: {key: shop/first, sql: SELECT 1, partitions: {type: static, keys: [a]}}"
        f"\n---\ntype: headrace.Dataset\n{broken}",
    )
    project.write(
        "shop/readers/defs.yaml",
        """
        type: headrace.Dataset
        attributes:
          key: shop/reader
          inputs: [{dataset: broken, partitions: previous}]
          sql: SELECT * FROM broken
          DAILY
        """.replace("DAILY", DAILY),
    )
    (problem,) = project.load().problems
    assert problem.file.parent.name == "shop"
    graph = project.repository().asset_graph
    node = graph.get(dg.AssetKey(["shop", "broken"]))
    assert node.is_external
    assert node.partitions_def == dg.DailyPartitionsDefinition("2013-01-01", timezone="Europe/Berlin")
    plan = next(plan for plan in project.load().plans if plan.record.key == "shop/reader")
    assert isinstance(plan, ProcessPlan)
    with dg.DagsterInstance.ephemeral() as instance:
        found = upstream_keys(graph, instance, plan, plan.inputs[0], ["2013-01-05"])
    assert found == {"2013-01-05": ("2013-01-04",)}


def test_unknown_partitions_of_an_invalid_input_are_reported(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes: {key: shop/broken, sql: SELECT 1, partitions: {type: dayly, start: 2013-01-01}}
        ---
        type: headrace.Dataset
        attributes: {key: shop/daily, sql: SELECT * FROM broken, DAILY}
        ---
        type: headrace.Dataset
        attributes: {key: shop/whole, sql: SELECT * FROM broken}
        """.replace("DAILY", DAILY),
    )
    graph = project.repository().asset_graph
    daily, whole = (plan for plan in project.load().plans if isinstance(plan, ProcessPlan))
    with dg.DagsterInstance.ephemeral() as instance:
        assert upstream_keys(graph, instance, whole, whole.inputs[0], [None]) == {None: ()}
        with pytest.raises(NoUpstreamPartition, match="headrace check"):
            upstream_keys(graph, instance, daily, daily.inputs[0], ["2013-01-05"])


def test_readers_of_what_a_broken_module_declares_stay(project: Project) -> None:
    project.write(
        "shop/code.py",
        """
        from headrace.declarations import dataset

        @dataset(partitions={"type": "static", "keys": ["a", "b"]})
        def first(): ...

        @dataset("shop/second", ownr="team:x")
        def other(): ...
        """,
    )
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes:
          key: shop/reader
          sql: SELECT * FROM first CROSS JOIN second
          partitions: {type: static, keys: [a, b]}
        """,
    )
    loaded = project.load()
    assert [problem.field for problem in loaded.problems] == ["ownr"]
    assert [plan.record.key for plan in loaded.plans] == ["shop/reader"]
    graph = project.repository().asset_graph
    assert graph.get(dg.AssetKey(["shop", "first"])).partitions_def == dg.StaticPartitionsDefinition(
        ["a", "b"]
    )
    assert graph.get(dg.AssetKey(["shop", "second"])).partitions_def is None


def test_readers_of_what_does_not_fit_stay_with_its_partitions(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes: {key: shop/broken, sql: SELECT * FROM nowhere.known, DAILY}
        ---
        type: headrace.Dataset
        attributes: {key: shop/reader, sql: SELECT * FROM broken, DAILY}
        """.replace("DAILY", DAILY),
    )
    loaded = project.load()
    assert [plan.record.key for plan in loaded.plans] == ["shop/reader"]
    assert project.repository().asset_graph.get(dg.AssetKey(["shop", "broken"])).partitions_def is not None
