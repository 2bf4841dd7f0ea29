"""Declarations of datasets that grow, and of those that read themselves."""

from __future__ import annotations

import dagster as dg
import pytest

from headrace.execution.plan import IncrementalPlan, ProcessPlan
from tests.platform.declarations.conftest import Project

FEEDS = """
type: headrace.ExternalDataset
attributes: {key: shop/days, partitions: {type: daily, start: "2026-01-01"}}
---
type: headrace.ExternalDataset
attributes: {key: shop/countries, partitions: {type: static, keys: [de, fr]}}
---
type: headrace.ExternalDataset
attributes: {key: shop/log}
"""
BAD = {
    "append without either": (
        "sql: SELECT * FROM log",
        "incremental: {mode: append}",
        "incremental",
        "`mode: append` needs `partition` for an input with partitions, `watermark` for one without",
    ),
    "merge without keys": (
        "sql: SELECT * FROM log",
        "incremental: {mode: merge, watermark: at, order_by: at}",
        "incremental",
        "`mode: merge` needs `keys`",
    ),
    "merge without an order": (
        "sql: SELECT * FROM log",
        "incremental: {mode: merge, watermark: at, keys: [id]}",
        "incremental",
        "`mode: merge` needs `order_by`",
    ),
    "a field of another mode": (
        "sql: SELECT * FROM log",
        "incremental: {mode: scd2, keys: [id], order_by: at}",
        "incremental",
        "`order_by` does not belong to `mode: scd2`",
    ),
    "a condition that is not SQL": (
        "sql: SELECT * FROM log",
        "incremental: {mode: merge, watermark: at, keys: [id], order_by: at, delete_when: op == ==}",
        "incremental.delete_when",
        "'op == ==' is not a SQL expression",
    ),
    "partitions": (
        "sql: SELECT * FROM days",
        "incremental: {mode: append, partition: day}\n  partitions: {type: daily, start: '2026-01-01'}",
        "incremental",
        "a partitioned dataset is computed partition by partition",
    ),
    "an unknown input": (
        "sql: SELECT * FROM log",
        "incremental: {mode: append, input: logs, watermark: at}",
        "incremental.input",
        "no input is named 'logs'",
    ),
    "several inputs": (
        "sql: SELECT * FROM log, countries",
        "incremental: {mode: append, watermark: at}",
        "incremental",
        "`input` is missing",
    ),
    "an input that is pinned": (
        "sql: SELECT * FROM log",
        "incremental: {mode: append, watermark: at}\n  inputs: [{dataset: log, version: v1}]",
        "incremental",
        "the input 'log' is limited to some versions or partitions",
    ),
    "a key that the schema lacks": (
        "sql: SELECT * FROM log",
        "incremental: {mode: merge, watermark: at, keys: [id], order_by: at}\n  schema: {columns: {at: int}}",
        "incremental.keys",
        "'id' is not among the columns of the schema",
    ),
    "validity that the schema lacks": (
        "sql: SELECT * FROM log",
        "incremental: {mode: scd2, keys: [id]}\n  schema: {columns: {id: int}}",
        "incremental.valid_to",
        "'valid_from' is not among the columns of the schema",
    ),
    "a watermark of a partitioned input": (
        "sql: SELECT * FROM days",
        "incremental: {mode: append, watermark: at}",
        "incremental.watermark",
        "shop/days has partitions, which are taken in one by one",
    ),
    "partitions of an input without them": (
        "sql: SELECT * FROM log",
        "incremental: {mode: append, partition: day}",
        "incremental",
        "shop/log has no partitions, and `watermark` is missing",
    ),
    "a history without an order in time": (
        "sql: SELECT * FROM countries",
        "incremental: {mode: scd2, keys: [id]}",
        "incremental.mode",
        "the partitions of shop/countries have no order in time",
    ),
    "its own check": (
        "sql: SELECT * FROM days",
        "incremental: {mode: scd2, keys: [id]}\n  checks: [{name: keys_once, unique: [id]}]",
        "checks",
        "`mode: scd2` has its own check keys_once",
    ),
    "itself and incremental": (
        "sql: SELECT log.* FROM log, self",
        "incremental: {mode: append, input: log, watermark: at}\n  schema: {columns: {id: int}}",
        "sql",
        "`self` and `incremental` cannot be combined",
    ),
    "itself without a schema": (
        "sql: SELECT * FROM self",
        "owner: team:shop",
        "sql",
        "`self` needs a `schema`",
    ),
    "itself in static partitions": (
        "sql: SELECT * FROM self",
        "partitions: {type: static, keys: [a]}\n  schema: {columns: {id: int}}",
        "sql",
        "`self` is the partition before, which only partitions by time have",
    ),
    "itself by its key": (
        "sql: SELECT * FROM shop.bad",
        "schema: {columns: {id: int}}",
        "sql",
        "shop/bad reads itself",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_contradiction_is_reported_at_its_field(project: Project, case: str) -> None:
    code, rest, field, words = BAD[case]
    project.write("shop/feeds/defs.yaml", FEEDS)
    project.write(
        "shop/defs.yaml", f"type: headrace.Dataset\nattributes:\n  key: shop/bad\n  {code}\n  {rest}\n"
    )

    loaded = project.load()

    (problem,) = loaded.problems
    assert problem.field == field
    assert words in problem.message
    line = (project.root / "assets/shop/defs.yaml").read_text().splitlines()[problem.line - 1]
    assert field.split(".")[0] in line


def test_a_process_of_several_outputs_has_no_own_version(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Process
        attributes:
          outputs:
            - {key: shop/a, sql: SELECT * FROM self}
            - {key: shop/b, sql: SELECT 1 AS id}
        """,
    )
    (problem,) = project.load().problems
    assert problem.message == "`self` is one dataset, and a process has several outputs"


def test_growth_is_part_of_the_code_and_a_history_checks_its_keys(project: Project) -> None:
    project.write("shop/feeds/defs.yaml", FEEDS)
    text = """
        type: headrace.Dataset
        attributes:
          key: shop/history
          sql: SELECT id, price FROM days
          incremental: {mode: scd2, keys: [KEYS]}
        """
    plans = []
    for keys in ("id", "price"):
        project.write("shop/defs.yaml", text.replace("KEYS", keys))
        (plan,) = [each for each in project.load().plans if isinstance(each, ProcessPlan)]
        plans.append(plan)

    assert plans[0].incremental == IncrementalPlan("scd2", "days", keys=("id",))
    assert plans[0].record.code_version != plans[1].record.code_version
    (check,) = plans[0].outputs[0].record.checks
    assert (check.name, check.kind, check.parameters) == (
        "keys_once",
        "unique",
        {"columns": ["id", "valid_from"]},
    )


def test_a_dataset_with_its_partition_before_depends_on_itself_in_dagster(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes:
          key: shop/balances
          sql: SELECT id FROM self
          partitions: {type: daily, start: "2026-01-01"}
          schema: {columns: {id: bigint}}
        """,
    )
    key = dg.AssetKey(["shop", "balances"])
    graph = project.repository().asset_graph

    mapping = graph.get_partition_mapping(key, key)

    assert graph.get(key).parent_keys == {key}
    assert mapping == dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
