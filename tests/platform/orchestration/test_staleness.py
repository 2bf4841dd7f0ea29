"""Staleness: one rule per test, in a project whose versions are published without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import VersionDraft
from headrace.declarations.loading.project import load
from headrace.execution.code_state import fingerprint
from headrace.orchestration.materialization import plan_runs, select
from headrace.publishing.publication import generations, publish
from tests.platform.projects import Project, load_project, project_of, write_project

DECLARATIONS = """
type: headrace.ExternalDataset
attributes: {key: shop/orders, partitions: DAYS}
---
type: headrace.ExternalDataset
attributes: {key: shop/people}
---
type: headrace.Dataset
attributes:
  key: shop/clean
  sql: SELECT * FROM orders CROSS JOIN people
  partitions: DAYS
---
type: headrace.Dataset
attributes:
  key: shop/total
  sql: SELECT count(*) AS n FROM clean
---
type: headrace.Dataset
attributes:
  key: shop/change
  inputs: [{dataset: clean, partitions: previous}]
  sql: SELECT * FROM clean
  partitions: DAYS
""".replace("DAYS", '{type: daily, start: "2024-01-01", end: "2024-01-04"}')


@dataclass
class Shop:
    """A project, and versions published as if its processes had run."""

    project: Project
    engine: Engine
    count: int = field(default=0)

    def publish(self, dataset: str, partition: str | None, *inputs: UUID) -> UUID:
        """A new version, made by the present code from the versions `inputs`."""
        self.count += 1
        plans = {plan.record.key: plan for plan in self.project.plans}
        code = plans[dataset].record.code_version if dataset in plans else None
        draft = VersionDraft(
            dataset=dataset,
            partition=partition,
            tag=f"v{self.count}",
            location=f"file:/warehouse/{dataset}/v{self.count}",
            format="parquet",
            columns=(),
            row_count=1,
            byte_size=1,
            file_count=1,
            checksum="",
            idempotency_key=f"v{self.count}",
            expected_generation=generations(self.engine, [(dataset, partition)])[dataset, partition],
            inputs=inputs,
            code_version=code,
            fingerprint=fingerprint(code, inputs),
        )
        (publication,) = publish(self.engine, None, [draft])
        return publication.version.version_id

    def stale(self, *selection: str) -> list[tuple[str, str | None]]:
        """The datasets and partitions that a run of `selection` would compute."""
        graph = self.project.definitions.resolve_asset_graph()
        chosen = select(self.project.definitions, self.project.plans, selection)
        runs = plan_runs(graph, self.project.instance, chosen, stale_in=self.engine)
        return [
            (output.record.key, key)
            for run in runs
            for plan in run.plans
            for output in plan.outputs
            for key in run.partitions
        ]


@pytest.fixture
def shop(tmp_path: Path, engine: Engine) -> Shop:
    return Shop(load_project(write_project(tmp_path, "shop", DECLARATIONS), engine), engine)


def test_what_was_never_published_is_stale_where_its_inputs_are_there(shop: Shop) -> None:
    shop.publish("shop/people", None)
    shop.publish("shop/orders", "2024-01-02")
    assert shop.stale("shop/clean") == [("shop/clean", "2024-01-02")]


def test_what_waits_for_an_input_that_is_nowhere_published_is_not(shop: Shop) -> None:
    shop.publish("shop/orders", "2024-01-02")
    assert shop.stale("shop/clean") == []
    assert shop.stale("shop/total") == []


def test_what_was_made_by_this_code_from_these_versions_is_current(shop: Shop) -> None:
    people, orders = shop.publish("shop/people", None), shop.publish("shop/orders", "2024-01-02")
    clean = shop.publish("shop/clean", "2024-01-02", people, orders)
    shop.publish("shop/total", None, clean)
    assert shop.stale("shop/clean", "shop/total") == []


def test_a_change_of_the_code_makes_stale(shop: Shop, tmp_path: Path) -> None:
    people, orders = shop.publish("shop/people", None), shop.publish("shop/orders", "2024-01-02")
    shop.publish("shop/clean", "2024-01-02", people, orders)
    changed = DECLARATIONS.replace("SELECT * FROM orders", "SELECT DISTINCT * FROM orders")
    shop.project = load_project(write_project(tmp_path, "shop", changed), shop.engine)
    assert shop.stale("shop/clean") == [("shop/clean", "2024-01-02")]


def test_a_new_version_of_an_input_makes_stale_what_reads_it(shop: Shop) -> None:
    people = shop.publish("shop/people", None)
    for day in ("2024-01-01", "2024-01-02"):
        shop.publish("shop/clean", day, people, shop.publish("shop/orders", day))
    shop.publish("shop/orders", "2024-01-02")
    assert shop.stale("shop/clean") == [("shop/clean", "2024-01-02")]


def test_an_input_that_the_same_plan_renews_makes_stale(shop: Shop) -> None:
    people, orders = shop.publish("shop/people", None), shop.publish("shop/orders", "2024-01-02")
    clean = shop.publish("shop/clean", "2024-01-02", people, orders)
    shop.publish("shop/total", None, clean)
    shop.publish("shop/people", None)
    assert shop.stale("shop/total") == []
    assert shop.stale("shop/clean", "shop/total") == [("shop/clean", "2024-01-02"), ("shop/total", None)]


def test_an_input_that_the_same_plan_publishes_first_is_not_waited_for(shop: Shop) -> None:
    shop.publish("shop/people", None)
    shop.publish("shop/orders", "2024-01-02")
    assert shop.stale("shop/clean", "shop/total") == [("shop/clean", "2024-01-02"), ("shop/total", None)]


def test_a_reader_of_an_invalid_dataset_waits_without_blocking_others(tmp_path: Path, engine: Engine) -> None:
    declarations = "---\n".join(
        f"type: headrace.Dataset\nattributes: {{key: shop/{name}, sql: {sql}}}\n"
        for name, sql in {
            "broken": "SELECT FROM",
            "reader": "SELECT * FROM broken",
            "good": "SELECT 1 AS id",
        }.items()
    )
    loaded = load(write_project(tmp_path, "shop", declarations))
    assert len(loaded.problems) == 1
    shop = Shop(project_of(loaded, engine), engine)
    assert shop.stale("*") == [("shop/good", None)]


def test_a_key_that_reads_what_cannot_exist_is_left_out_and_the_others_are_not(shop: Shop) -> None:
    shop.publish("shop/clean", "2024-01-01")
    shop.publish("shop/clean", "2024-01-02")
    assert shop.stale("shop/change") == [("shop/change", "2024-01-02"), ("shop/change", "2024-01-03")]
