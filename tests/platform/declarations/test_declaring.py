"""Definitions in Dagster and records in the catalog from a declaration."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster_shared.yaml_utils import parse_yamls_with_source_position

from headrace.catalog.records import Check, TriggerMode
from headrace.catalog.schema import sensitive
from headrace.declarations.dataset import Dataset
from headrace.declarations.loading.project import records
from headrace.execution.plan import ExternalPlan, ProcessPlan
from headrace.severity import Severity
from headrace.sources.documents import Document, documents
from headrace.spark.types import spark_type
from tests.platform.declarations.conftest import Project

FULL = """
# A comment moves the lines.
type: headrace.Dataset
attributes:
  key: shop/totals
  description: What each day brought.
  owner: team:shop
  owners: [ann@example.com]
  tags: {layer: gold}
  classification: internal
  inputs:
    - orders
    - {dataset: ref/people, as: p, version: 20261128T041500Z-1a2b3c4d}
  sql: totals.sql
  output: {format: csv, options: {header: true}}
  partitions: {type: daily, start: 2013-01-01, column: day, ranges: true, timezone: Europe/Berlin}
  schema:
    columns:
      day: {type: date, nullable: false, description: Day of the order.}
      who: {type: string, tags: [pii], checks: [not_null, {str_length: {max_value: 9}, severity: warning}]}
      amount: {type: "Decimal(10, 2)", checks: [{greater_than: 0, quarantine: true, description: Nobody pays nothing.}]}
  checks:
    - unique: [day, who]
    - {row_count: {min: 1}, name: not_empty}
    - {sql: amount < 1000, name: modest}
  sla: {deadline: 0 9 * * *, timezone: Europe/Berlin, within: 3h, warn_before: 30m}
  metadata: {runbook: Ask Ann.}
  spark: {spark.sql.shuffle.partitions: 8}
  retry: {max_retries: 2, delay_seconds: 30, backoff: exponential}
  trigger: all_inputs
  allow_breaking_schema_change: true
---
type: headrace.ExternalDataset
attributes:
  key: shop/orders
  format: csv
  location: file:///feed/{partition}.csv
  options: {header: true}
  partitions: {type: daily, start: 2013-01-01, timezone: Europe/Berlin}
  sla: {max_age: 26h, warn_after: 25h}
---
type: headrace.ExternalDataset
attributes: {key: ref/people}
"""


@pytest.fixture
def full(project: Project) -> Project:
    project.write("shop/defs.yaml", FULL)
    project.write(
        "shop/totals.sql", "SELECT * FROM orders JOIN p USING (who)\nWHERE day >= :partition_start\n"
    )
    return project


def test_dagster_sees_all_that_is_declared(full: Project) -> None:
    node = full.repository().asset_graph.get(dg.AssetKey(["shop", "totals"]))
    assert list(node.owners) == ["team:shop", "ann@example.com"]
    assert node.tags["classification"] == "internal"
    assert node.kinds == {"spark", "sql", "csv"}
    assert node.group_name == "shop"
    assert node.description == "What each day brought."
    assert node.partitions_def == dg.DailyPartitionsDefinition("2013-01-01", timezone="Europe/Berlin")
    assert node.backfill_policy == dg.BackfillPolicy.single_run()
    assert node.automation_condition is not None
    assert node.code_version is not None
    columns = node.metadata["dagster/column_schema"].columns
    assert [(column.name, column.type) for column in columns] == [
        ("day", "date"),
        ("who", "string"),
        ("amount", "decimal(10,2)"),
    ]
    references = node.metadata["dagster/code_references"].code_references
    assert [(Path(one.file_path).name, one.line_number) for one in references] == [
        ("defs.yaml", 2),
        ("totals.sql", 1),
    ]
    assert node.metadata["runbook"] == "Ask Ann."
    policy = full.repository().assets_defs_by_key[node.key].specs_by_key[node.key].freshness_policy
    assert policy == dg.FreshnessPolicy.cron("0 9 * * *", timedelta(hours=3), "Europe/Berlin")


def test_every_check_that_a_run_reports_is_among_the_specs(full: Project) -> None:
    plan = full.plan("shop/totals")
    (output,) = plan.outputs
    names = [check.name for check in output.record.checks]
    assert names == [
        "day_not_null",
        "who_not_null",
        "who_str_length",
        "amount_greater_than",
        "unique_day_who",
        "not_empty",
        "modest",
        "partition",
    ]
    graph = full.repository().asset_graph
    assert {key.name for key in graph.asset_check_keys} == set(names)
    blocking = {key.name for key in graph.asset_check_keys if graph.get(key).blocking}
    assert set(names) - blocking == {"who_str_length", "amount_greater_than"}
    by_name = {check.name: check for check in output.record.checks}
    assert by_name["who_str_length"].severity is Severity.WARNING
    assert by_name["amount_greater_than"].parameters == {"min_value": 0}
    assert by_name["partition"].parameters == {"columns": ["day"]}


def test_the_catalog_gets_records_of_datasets_and_processes(full: Project) -> None:
    loaded = full.load()
    datasets, processes = records(loaded.plans)
    by_key = {record.key: record for record in datasets}
    total = by_key["shop/totals"]
    assert total.declared_at == "assets/shop/defs.yaml:2"
    assert total.partitions == "daily from 2013-01-01 Europe/Berlin (column day)"
    assert total.sla == {
        "deadline": "0 9 * * *",
        "timezone": "Europe/Berlin",
        "within_seconds": 10800.0,
        "warn_before_seconds": 1800.0,
    }
    assert by_key["shop/orders"].metadata == {
        "external": True,
        "location": "file:///feed/{partition}.csv",
        "options": {"header": "true"},
    }
    (process,) = processes
    assert (process.key, process.inputs, process.trigger_mode) == (
        "shop/totals",
        ("shop/orders", "ref/people"),
        TriggerMode.DATASET,
    )


def test_a_plan_holds_what_a_run_needs(full: Project) -> None:
    plan = full.plan("shop/totals")
    assert plan.inputs[1].version_tag == "20261128T041500Z-1a2b3c4d"
    assert plan.spark_conf == {"spark.sql.shuffle.partitions": "8"}
    assert plan.outputs[0].options == {"header": "true"}
    assert plan.outputs[0].allow_breaking
    assert sensitive(plan.outputs[0].record.columns) == {"who"}
    assert plan.retry == dg.RetryPolicy(max_retries=2, delay=30, backoff=dg.Backoff.EXPONENTIAL)


def test_the_code_version_follows_code_inputs_and_schema_alone(full: Project) -> None:
    first = full.plan("shop/totals").record.code_version
    full.write(
        "shop/totals.sql", "select * from orders join p using (who) -- same\n where day >= :partition_start"
    )
    full.write("shop/defs.yaml", FULL.replace("Ask Ann", "Ask Ben").replace("within: 3h", "within: 4h"))
    assert full.plan("shop/totals").record.code_version == first
    for old, new in (
        ("version: 2026", "version: 2025"),
        ("type: date", "type: timestamp"),
        ("format: csv", "format: json"),
    ):
        full.write("shop/defs.yaml", FULL.replace(old, new, 1))
        assert full.plan("shop/totals").record.code_version != first


def test_the_smallest_declaration_has_all_defaults(project: Project) -> None:
    project.write(
        "shop/defs.yaml", "type: headrace.Dataset\nattributes: {key: shop/one, sql: SELECT 1 AS id}\n"
    )
    plan = project.plan("shop/one")
    assert (plan.partitions, plan.retry, plan.condition, plan.outputs[0].record.format) == (
        None,
        None,
        None,
        "parquet",
    )
    assert plan.outputs[0].record.checks == ()
    assert project.repository().asset_graph.get(dg.AssetKey(["shop", "one"])).kinds == {
        "spark",
        "sql",
        "parquet",
    }


def test_triggers_become_automation_conditions(project: Project) -> None:
    base = "type: headrace.Dataset\nattributes:\n  key: shop/{n}\n  sql: SELECT 1\n  trigger: {t}\n"
    triggers = [
        "missing",
        "any_input",
        "all_inputs",
        '{schedule: "0 6 * * *"}',
        '{when: any_input, schedule: "0 6 * * *"}',
    ]
    project.write("shop/defs.yaml", "---\n".join(base.format(n=f"d{i}", t=t) for i, t in enumerate(triggers)))
    plans = [plan for plan in project.load().plans if isinstance(plan, ProcessPlan)]
    assert plans[0].condition == dg.AutomationCondition.on_missing()
    late_ones_too = dg.AutomationCondition.eager().without(dg.AutomationCondition.in_latest_time_window())
    assert plans[1].condition == late_ones_too
    assert all(plan.condition is not None for plan in plans)
    assert [plan.record.trigger_mode for plan in plans] == [
        *[TriggerMode.DATASET] * 3,
        TriggerMode.PROCESS,
        TriggerMode.HYBRID,
    ]


def test_a_dataset_that_is_read_twice_is_one_dependency_on_all_that_is_read(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.ExternalDataset
        attributes: {key: shop/orders, partitions: {type: daily, start: 2013-01-01}}
        ---
        type: headrace.Dataset
        attributes:
          key: shop/change
          inputs:
            - orders
            - {dataset: orders, as: before, partitions: previous}
          sql: SELECT * FROM orders CROSS JOIN before
          partitions: {type: daily, start: 2013-01-02}
        """,
    )
    graph = project.repository().asset_graph
    change, orders = dg.AssetKey(["shop", "change"]), dg.AssetKey(["shop", "orders"])
    daily = graph.get(change).partitions_def
    assert daily is not None
    read = graph.get_partition_mapping(change, orders).get_upstream_mapped_partitions_result_for_partitions(
        daily.subset_with_partition_keys(["2013-01-05"]),
        daily,
        graph.get(orders).partitions_def,  # type: ignore[arg-type]
    )
    assert sorted(read.partitions_subset.get_partition_keys()) == ["2013-01-04", "2013-01-05"]


def test_an_external_dataset_is_an_external_asset(full: Project) -> None:
    node = full.repository().asset_graph.get(dg.AssetKey(["shop", "orders"]))
    assert node.is_external
    assert node.kinds == {"csv"}
    (orders, _) = (plan for plan in full.load().plans if isinstance(plan, ExternalPlan))
    assert orders.partitions == dg.DailyPartitionsDefinition("2013-01-01", timezone="Europe/Berlin")


def test_templates_are_filled_in_by_dagster(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWNING_TEAM", "team:env")
    project.write(
        "shop/defs.yaml",
        "type: headrace.Dataset\nattributes: {key: shop/one, sql: SELECT 1, owner: '{{ env.OWNING_TEAM }}'}\n",
    )
    assert project.plan("shop/one").outputs[0].record.owners == ("team:env",)


def test_positions_and_values_are_those_of_dagsters_own_reader(full: Project) -> None:
    file = full.root / "assets/shop/defs.yaml"
    ours = [document for document in documents(file) if isinstance(document, Document)]
    theirs = parse_yamls_with_source_position(file.read_text(), str(file))
    assert [document.value for document in ours] == [tree.value for tree in theirs]
    for document, tree in zip(ours, theirs, strict=True):
        for path in (
            ("type",),
            ("attributes", "key"),
            ("attributes", "sla", "max_age"),
            ("attributes", "inputs", 1),
        ):
            position, _ = tree.source_position_tree.lookup_closest_and_path(list(path), None)
            assert document.line_of(path) == position.start.line
            assert document.tree().lookup_closest_and_path(list(path), None)[0].start == position.start


def test_a_component_builds_alone_through_dagsters_own_loader(full: Project) -> None:
    component = Dataset.from_attributes_dict(attributes={"key": "shop/alone", "sql": "SELECT 1"})
    from dagster.components.core.component_tree import ComponentTree

    definitions = component.build_defs(ComponentTree.for_test().load_context)
    (asset,) = definitions.assets or ()
    assert isinstance(asset, dg.AssetsDefinition)
    assert asset.key == dg.AssetKey(["shop", "alone"])


@pytest.mark.parametrize(
    ("written", "spark"),
    [
        ("integer", "int"),
        ("LONG", "bigint"),
        ("Decimal(10, 2)", "decimal(10,2)"),
        ("array< string >", "array<string>"),
        ("map<string, array<int>>", "map<string,array<int>>"),
        ("struct<a: int, b: struct<c: date>>", "struct<a:int,b:struct<c:date>>"),
    ],
)
def test_types_are_written_as_spark_writes_them(written: str, spark: str) -> None:
    assert spark_type(written) == spark


@pytest.mark.parametrize(
    "written",
    [
        *("text", "decimal(50)", "array<string", "map<string>", "int int", "struct<a>", "decimal()", ""),
        *("char(3)", "varchar(255)", "array<varchar(9)>"),  # no frame has a column of these
    ],
)
def test_what_is_no_type_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"Spark type|decimal"):
        spark_type(written)


PYPROJECT = """
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "assets"
defs_module = "assets"
code_location_target_module = "definitions"
registry_modules = ["headrace"]
"""
DEFINITIONS = """
from pathlib import Path
import dagster as dg
from headrace.declarations.loading.project import load
none = dg.ResourceDefinition.none_resource()
defs = dg.Definitions.merge(load(Path(__file__).parent).definitions, dg.Definitions(resources={"spark": none}))
"""


def dg_command(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "dg"), *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_dg_names_the_place_of_a_wrong_declaration(full: Project) -> None:
    (full.root / "pyproject.toml").write_text(PYPROJECT)
    (full.root / "definitions.py").write_text(DEFINITIONS)
    (full.root / "assets/__init__.py").touch()
    full.write(
        "bad/defs.yaml", "type: headrace.Dataset\nattributes: {key: bad/bad, sql: SELECT 1, ownr: x}\n"
    )
    done = dg_command(full.root, "check", "yaml", "assets/bad")
    assert done.returncode == 1
    assert "bad/defs.yaml:2" in done.stdout + done.stderr
    full.write("bad/defs.yaml", "type: headrace.Dataset\nattributes: {key: bad/bad, sql: SELECT FROM}\n")
    done = dg_command(full.root, "check", "defs")
    assert done.returncode == 1
    assert "bad/defs.yaml:2" in done.stdout + done.stderr


def test_a_column_without_nulls_may_set_rows_with_a_null_aside(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes:
          key: shop/x
          sql: SELECT 1 AS id
          schema:
            columns:
              id: {type: int, nullable: false, checks: [{not_null: true, quarantine: true}]}
        """,
    )
    (output,) = project.plan("shop/x").outputs
    assert output.record.checks == (Check("id_not_null", "not_null", "id", quarantine=True),)
