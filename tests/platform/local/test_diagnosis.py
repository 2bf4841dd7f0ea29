"""`headrace doctor`: what an installation lacks, and where stores and catalog disagree."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.cli import app
from headrace.local.diagnosis import Health, examine
from headrace.settings import settings
from headrace.spark.errors import SparkUnavailable
from tests.platform.connections.databases import configured, derby
from tests.platform.projects import Project, load_project, write_project

NUMBERS = """
type: headrace.Dataset
attributes: {key: shop/numbers, sql: SELECT id FROM range(5)}
---
type: headrace.Dataset
attributes: {key: shop/parts, output: {store: delta}, sql: SELECT id FROM range(5)}
"""


WITH_FUNCTIONS = """
type: headrace.ExternalDataset
attributes: {key: shop/orders, format: fixed, location: in/orders.dat, reader: feeds_of_the_shop:fixed}
---
type: headrace.ExternalDataset
attributes: {key: shop/stock, format: fixed, location: in/stock.dat, reader: feeds_of_the_shop:missing}
---
type: headrace.Dataset
attributes:
  key: shop/numbers
  sql: SELECT id FROM range(5)
  extract: {writer: no_such_module:write, location: out/numbers}
"""


@pytest.fixture
def project(engine: Engine, spark: SparkSession, tmp_path: Path) -> Project:
    project = load_project(write_project(tmp_path, "shop", NUMBERS), engine)
    project.materialize()
    return project


def found(*datasets: str) -> dict[str, tuple[Health, str]]:
    return {each.subject: (each.health, each.detail) for each in examine(datasets)}


def folder(dataset: str) -> Path:
    return Path(settings().warehouse_uri.removeprefix("file://")) / dataset


@pytest.mark.usefixtures("project")
def test_an_installation_in_order_has_no_problem() -> None:
    healths = found()
    assert healths["datasets"] == (Health.OK, "2 datasets with what the catalog has published")
    assert {name for name, (health, _) in healths.items() if health is Health.PROBLEM} == set()
    assert healths.keys() >= {"Headrace", "Java", "catalog", "Spark", "warehouse"}


@pytest.mark.usefixtures("project")
def test_a_reference_that_was_left_behind_is_repaired() -> None:
    shutil.rmtree(folder("shop/numbers") / "_published")
    assert found("shop/numbers")["shop/numbers"] == (
        Health.REPAIRED,
        "1 reference for other programs led to another version",
    )
    assert "shop/numbers" not in found("shop/numbers")


@pytest.mark.usefixtures("project")
def test_missing_rows_are_a_problem_and_the_others_are_examined() -> None:
    for file in folder("shop/numbers").rglob("*.parquet"):
        file.unlink()
    result = CliRunner().invoke(app, ["doctor", "--json"])
    findings = {each["subject"]: each for each in json.loads(result.stdout)["findings"]}
    assert result.exit_code == 1
    assert findings["shop/numbers"]["health"] == "PROBLEM"
    assert findings["datasets"]["detail"].startswith("1 dataset with")


@pytest.mark.usefixtures("engine")
def test_a_problem_of_spark_is_named_and_ends_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SparkUnavailable("spark.jars has delta-spark_4.2_2.13, made for Spark 4.2")

    monkeypatch.setattr("headrace.spark.session.SparkResource._start", refuse)
    monkeypatch.setattr("headrace.spark.session._living_session", lambda: None)
    healths = found()
    assert healths["Spark"] == (Health.PROBLEM, "spark.jars has delta-spark_4.2_2.13, made for Spark 4.2")
    assert "datasets" not in healths


@pytest.mark.usefixtures("engine")
def test_a_catalog_that_does_not_respond_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.errors import CatalogUnavailable

    def refuse() -> None:
        raise CatalogUnavailable("no response from localhost:1")

    monkeypatch.setattr("headrace.local.diagnosis.connect", refuse)
    assert found()["catalog"] == (Health.PROBLEM, "no response from localhost:1")


@pytest.mark.usefixtures("engine", "spark")
def test_readers_and_writers_of_the_project_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "project", "shop", WITH_FUNCTIONS)
    (root / "headrace.toml").touch()
    (root / "feeds_of_the_shop.py").write_text("def fixed(spark, files, options): ...\n")
    monkeypatch.setenv("HEADRACE_PROJECT", str(root))
    monkeypatch.setattr("sys.path", [*sys.path])
    healths = found()
    health, detail = healths["shop/stock"]
    assert health is Health.PROBLEM
    assert "feeds_of_the_shop:missing cannot be imported: AttributeError" in detail
    health, detail = healths["shop/numbers"]
    assert health is Health.PROBLEM
    assert "no_such_module:write cannot be imported: ModuleNotFoundError" in detail
    assert healths["functions"] == (Health.OK, "readers and writers of the project: 1")
    sys.modules.pop("feeds_of_the_shop", None)


@pytest.mark.usefixtures("engine", "spark")
def test_each_connection_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable = '[connections.old]\nurl = "jdbc:derby:memory:missing"\n'
    with configured(monkeypatch, tmp_path, derby("crm") + unreachable):
        healths = found()
    assert healths["connection crm"] == (Health.OK, "Derby")
    assert healths["connection old"][0] is Health.PROBLEM
    assert "connection old" in healths["connection old"][1]
