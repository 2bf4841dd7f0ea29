"""Partitions whose keys become known over time, and those of business days."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.cli import app
from headrace.declarations.loading.project import load
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.orchestration.materialization import InvalidSelection
from headrace.orchestration.sensors.landing import report_landed_files
from headrace.publishing.publication import generations
from headrace.queries.versions import published
from headrace.settings import settings
from tests.platform.projects import Project, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

FEED = """
type: headrace.ExternalDataset
attributes:
  key: shop/feed
  format: json
  location: landing/feed_{partition}.json
  partitions: {type: dynamic, name: files}
  schema: {columns: {id: bigint}}
---
type: headrace.Dataset
attributes:
  key: shop/clean
  partitions: {type: dynamic, name: files}
  sql: SELECT id, :partition_key AS file FROM feed
"""
CUSTOMERS = """
type: headrace.Dataset
attributes:
  key: crm/customers
  adds_partitions: {customers: customer}
  sql: SELECT * FROM VALUES ('acme', 1), ('globex', 2), ('a,b', 3), (NULL, 4) AS t (customer, id)
---
type: headrace.Dataset
attributes:
  key: crm/invoices
  inputs: [customers]
  partitions:
    type: multi
    dimensions:
      customer: {type: dynamic, name: customers, column: customer}
      day: {type: daily, start: "2026-01-01", end: "2026-01-03", column: day}
  sql: >
    SELECT customer, DATE'2026-01-01' AS day, id FROM customers
    WHERE customer = split_part(:partition_key, '|', 1)
"""


def landed(engine: Engine, root: Path, project: Project, **files: int) -> None:
    folder = settings().home / "landing"
    folder.mkdir(parents=True, exist_ok=True)
    for name, id in files.items():
        (folder / f"feed_{name}.json").write_text(json.dumps({"id": id}) + "\n")
    external = [plan for plan in load(root).plans if isinstance(plan, ExternalPlan)]
    observation = observe(engine, external, timedelta(minutes=1))
    assert observation.problems == ()
    report_landed_files(project.instance, external, observation)


def test_a_landed_file_is_a_partition_of_the_datasets_that_share_its_keys(
    engine: Engine, tmp_path: Path
) -> None:
    root = write_project(tmp_path, "shop", FEED)
    project = load_project(root, engine)
    assert project.materialize("shop/clean") == []
    landed(engine, root, project, north=1, south=2)

    assert [each.success for each in project.materialize("shop/clean", stale_in=engine)] == [True, True]
    landed(engine, root, project, west=3)
    assert len(project.materialize("shop/clean", stale_in=engine)) == 1
    assert [row.partition for row in published(engine, ["shop/clean"])] == ["north", "south", "west"]


def test_a_column_adds_its_values_after_each_publish(engine: Engine, tmp_path: Path) -> None:
    project = load_project(write_project(tmp_path, "crm", CUSTOMERS), engine)
    [result] = project.materialize("crm/customers")
    assert result.success
    assert sorted(project.instance.get_dynamic_partitions("customers")) == ["acme", "globex"]

    runs = project.materialize("crm/invoices", partitions=("acme|2026-01-01", "acme|2026-01-01"))

    assert [each.success for each in runs] == [True]
    assert [row.partition for row in published(engine, ["crm/invoices"])] == ["acme|2026-01-01"]
    with pytest.raises(InvalidSelection, match=r"has no partition other\|2026-01-01"):
        project.materialize("crm/invoices", partitions=("other|2026-01-01", "other|2026-01-01"))


def test_a_changed_declaration_keeps_what_is_published_under_the_keys(engine: Engine, tmp_path: Path) -> None:
    root = write_project(tmp_path, "shop", FEED)
    project = load_project(root, engine)
    landed(engine, root, project, north=1)
    project.materialize("shop/clean")
    load_project(write_project(tmp_path, "shop", FEED.replace("SELECT id,", "SELECT id + 1 AS id,")), engine)
    assert len(published(engine, ["shop/clean"])) == 1
    load_project(write_project(tmp_path, "shop", FEED.replace("name: files", "name: other")), engine)
    assert len(published(engine, ["shop/clean"])) == 0
    assert generations(engine, [("shop/clean", "north")])["shop/clean", "north"] == 2


def test_the_command_adds_lists_and_removes_keys(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path, "shop", FEED)
    project = load_project(root, engine)
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(project.instance))

    class Code:
        defs = project.definitions

    monkeypatch.setattr("headrace.declarations.loading.code.project_code", Code)

    def keys(*words: str) -> list[str]:
        result = CliRunner().invoke(app, ["partitions", "shop/clean", *words, "--json"])
        assert result.exit_code == 0, result.output
        return [each["key"] for each in json.loads(result.stdout)["partitions"]]

    assert keys("--add", "east", "--add", "north") == ["east", "north"]
    assert keys("--remove", "east") == ["north"]
    wrong = CliRunner().invoke(app, ["partitions", "shop/clean", "--add", "a|b"])
    assert wrong.exit_code == 1
    assert "'a|b' is not a key" in wrong.stderr


def test_partitions_of_business_days_leave_out_the_days_on_which_the_calendar_is_closed(
    engine: Engine, tmp_path: Path
) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: desk/positions
  partitions: {type: daily, start: "2026-04-01", end: "2026-04-09", calendar: XLON}
  sql: SELECT :partition_start AS day
---
type: headrace.Dataset
attributes:
  key: desk/changes
  inputs: [{dataset: positions, as: before, partitions: previous}]
  partitions: {type: daily, start: "2026-04-02", end: "2026-04-09", calendar: XLON}
  sql: SELECT day FROM before
"""
    project = load_project(write_project(tmp_path, "desk", declaration), engine)
    [plan] = [each for each in project.plans if each.record.key == "desk/positions"]
    assert plan.partitions is not None
    # Good Friday and Easter Monday of 2026, by the London Stock Exchange's holiday list.
    assert plan.partitions.definition.get_partition_keys() == [
        "2026-04-01",
        "2026-04-02",
        "2026-04-07",
        "2026-04-08",
    ]
    project.materialize("desk/positions", partitions=("2026-04-02", "2026-04-02"))
    [result] = project.materialize("desk/changes", partitions=("2026-04-07", "2026-04-07"))
    assert result.success


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ("{type: weekly, start: 2026-01-04, calendar: XLON}", "only daily partitions have a calendar"),
        ("{type: daily, start: 2026-01-01, calendar: XXXX}", "unknown calendar 'XXXX'"),
        ("{type: daily, start: 1990-01-01, calendar: XLON}", "is known from"),
        ("{type: dynamic}", "partitions.name"),
        ("{type: dynamic, name: Not a name}", "partitions.name"),
    ],
)
def test_wrong_partitions_are_refused_with_the_field(tmp_path: Path, partitions: str, message: str) -> None:
    declaration = (
        f"type: headrace.Dataset\nattributes: {{key: a/b, sql: SELECT 1 AS n, partitions: {partitions}}}\n"
    )
    [problem] = load(write_project(tmp_path, "a", declaration)).problems
    assert message in str(problem)
