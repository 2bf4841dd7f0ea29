"""External datasets in a database: tables and queries, their versions, and runs that read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.catalog.locators import RelationLocator
from headrace.catalog.records import Version
from headrace.cli import app
from headrace.connections.connection import connection
from headrace.connections.database import Database
from headrace.connections.opening import opened
from headrace.declarations.loading.project import load
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import Memory, Observation, observe
from headrace.queries.versions import version as detail
from headrace.settings import settings
from tests.platform.connections.databases import BY_JDBC, DATABASES, Postgres, derby
from tests.platform.projects import Project, failure, load_project, write_project

CUSTOMERS = """
type: headrace.ExternalDataset
attributes:
  key: crm/customers
  database: {DATABASE}
  SCHEMA
---
type: headrace.Dataset
attributes:
  key: crm/counted
  sql: SELECT count(*) AS customers, max(name) AS last FROM crm.customers WHERE id > 0
"""


@dataclass
class Crm:
    """A database with the table shop.customers, and a project that reads it."""

    database: Database
    root: Path
    engine: Engine

    def declare(self, database: str = "connection: crm, table: shop.customers", schema: str = "") -> Project:
        text = CUSTOMERS.replace("DATABASE", database).replace("SCHEMA", schema)
        return load_project(write_project(self.root / "project", "crm", text), self.engine)

    def look(self, memory: Memory | None = None) -> Observation:
        plans = load(self.root / "project").plans
        external = [plan for plan in plans if isinstance(plan, ExternalPlan)]
        return observe(self.engine, external, memory=memory)

    def insert(self, *rows: str) -> None:
        self.database.execute(*(f"INSERT INTO shop.customers VALUES ({row})" for row in rows))  # noqa: S608


@pytest.fixture(params=DATABASES)
def crm(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    engine: Engine,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Crm]:
    if request.param == "derby":
        url = derby("crm").split('"')[1]
        monkeypatch.setenv("HEADRACE_CONNECTIONS__CRM__URL", url)
    else:
        served: Postgres = request.getfixturevalue("postgresql_over_tcp")
        for name, value in served.variables(jdbc=request.param == BY_JDBC).items():
            monkeypatch.setenv(f"HEADRACE_CONNECTIONS__CRM__{name}", value)
    settings.cache_clear()
    with opened(connection("crm"), lambda: spark) as database:
        found = Crm(database, tmp_path, engine)
        database.execute(
            "CREATE SCHEMA shop",
            "CREATE TABLE shop.customers (id BIGINT, name VARCHAR(40), changed_at TIMESTAMP, score DECIMAL(9,0))",
        )
        found.insert("1, 'ann', '2026-01-01 10:00:00', 7", "2, 'bob', '2026-01-02 10:00:00.000001', NULL")
        yield found
        if request.param != "derby":
            database.execute("DROP SCHEMA shop CASCADE")


def ask(*words: str) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def only(observation: Observation) -> Version:
    assert observation.problems == ()
    [version] = observation.new
    return version


def test_a_table_is_observed_read_and_observed_again_when_it_has_changed(crm: Crm) -> None:
    project = crm.declare()
    first = only(crm.look())
    assert (first.row_count, first.store) == (2, "jdbc")
    assert first.locator == RelationLocator("crm", "shop.customers")
    assert [(column.name, column.type) for column in first.columns] == [
        ("id", "bigint"),
        ("name", "string"),
        ("changed_at", "timestamp_ntz"),
        ("score", "decimal(9,0)"),
    ]
    assert crm.look().new == ()
    assert [row["name"] for row in ask("read", "crm/customers")["rows"]] == ["ann", "bob"]
    [result] = project.materialize("crm/counted")
    assert result.success
    assert ask("read", "crm/counted")["rows"] == [{"customers": 2, "last": "bob"}]
    crm.insert("3, 'cy', '2026-01-03 10:00:00', 1")
    [result] = project.materialize("crm/counted")
    assert "crm:shop.customers had 2 rows when it was observed, and has changed since" in failure(result)
    assert "Run `headrace observe`" in failure(result)
    second = only(crm.look())
    assert second.row_count == 3
    [result] = project.materialize("crm/counted")
    assert result.success
    assert ask("read", "crm/counted")["rows"] == [{"customers": 3, "last": "cy"}]
    counted = detail(crm.engine, "crm/counted").inputs
    assert [(each.dataset, each.tag) for each in counted] == [("crm/customers", second.tag)]
    columns = json.dumps(ask("lineage", "crm/counted.last"))
    assert "crm/customers" in columns
    assert '"name"' in columns


WATERMARK = "connection: crm, table: shop.customers, watermark: changed_at"


def test_rows_since_a_version_are_left_out_by_the_watermark(crm: Crm) -> None:
    project = crm.declare(WATERMARK)
    first = only(crm.look())
    crm.insert("3, 'cy', '2026-01-03 10:00:00', 1")
    [result] = project.materialize("crm/counted")
    assert result.success
    assert ask("read", "crm/counted")["rows"] == [{"customers": 2, "last": "bob"}]
    only(crm.look())
    assert len(ask("read", "crm/customers")["rows"]) == 3
    assert len(ask("read", "crm/customers", "--version", first.tag)["rows"]) == 2
    crm.database.execute(
        "UPDATE shop.customers SET name = 'zoe', changed_at = '2026-01-04 10:00:00' WHERE id = 1"
    )
    refused = CliRunner().invoke(app, ["read", "crm/customers", "--version", first.tag])
    assert refused.exit_code == 1
    assert "had 2 rows up to changed_at 2026-01-02 10:00:00.000001 when it was observed" in refused.stderr


def test_rows_that_are_committed_late_are_found_by_their_number(crm: Crm) -> None:
    crm.declare(WATERMARK)
    first = only(crm.look())
    crm.insert("3, 'cy', '2026-01-01 09:00:00', 1")
    refused = CliRunner().invoke(app, ["read", "crm/customers"])
    assert "has changed since. Run `headrace observe`" in refused.stderr
    assert crm.look(memory={}).new == ()
    second = only(crm.look())
    assert (first.row_count, second.row_count) == (2, 3)
    assert len(ask("read", "crm/customers")["rows"]) == 3


@pytest.mark.parametrize("crm", DATABASES[1:], indirect=True)
def test_a_query_is_read_in_parts_and_the_database_filters(
    crm: Crm, caplog: pytest.LogCaptureFixture
) -> None:
    crm.database.execute(
        "INSERT INTO shop.customers SELECT n, 'c' || n, now()::timestamp, n FROM generate_series(3, 1000) n"
    )
    (crm.root / "project" / "assets" / "crm").mkdir(parents=True)
    (crm.root / "project" / "assets" / "crm" / "best.sql").write_text(
        "SELECT id, name, score FROM shop.customers WHERE score > 100;\n"
    )
    project = crm.declare(
        "connection: crm, query: best.sql, fetch_size: 50, "
        "read: {column: id, lower: 1, upper: 1000, partitions: 4}"
    )
    version = only(crm.look())
    assert (version.row_count, version.location) == (900, "crm:query of crm/customers")
    [result] = project.materialize("crm/counted")
    assert result.success
    [row] = ask("read", "crm/counted")["rows"]
    assert row["customers"] == 900
    if connection("crm").driver is None:
        return  # Spark filters the rows itself
    [shown] = [
        entry.user_message
        for entry in project.instance.all_logs(result.run_id)
        if "database returns" in entry.user_message
    ]
    assert "IsNotNull(id),GreaterThan(id,0)" in shown.replace(" ", "")
    assert "name:string" in shown
    assert "score" not in shown.partition("the database returns")[2]
    assert shown.endswith("by 4 connections")


def test_columns_are_compared_with_the_declared_ones(crm: Crm) -> None:
    crm.declare(schema="schema: {columns: {id: bigint, name: string, score: int, changed_at: timestamp}}")
    version = only(crm.look())
    assert [row["score"] for row in ask("read", "crm/customers")["rows"]] == [7, None]
    assert ask("read", "crm/customers")["rows"][0]["changed_at"] == "2026-01-01T10:00:00.000000Z"
    crm.declare(schema="schema: {columns: {id: int, email: string}}")
    observation = crm.look()
    assert observation.new == ()
    [problem] = observation.problems
    assert "email is missing; id is bigint, declared as int" in problem
    assert [each.tag for each in observation.published] == [version.tag]
    crm.declare(schema="schema: {columns: {id: bigint}}")
    assert only(crm.look()).columns[0].name == "id"


def test_a_database_that_cannot_be_observed_is_a_problem_of_its_dataset(
    crm: Crm, monkeypatch: pytest.MonkeyPatch
) -> None:
    crm.declare("connection: gone, table: shop.customers")
    [problem] = crm.look().problems
    assert problem.startswith("crm/customers could not be observed: There is no connection 'gone'.")
    project = crm.declare(
        "connection: crm, table: shop.customers, read: {column: nr, lower: 1, upper: 2, partitions: 2}"
    )
    only(crm.look())
    [result] = project.materialize("crm/counted")
    assert "finds no column nr; there are" in failure(result)
    crm.declare("connection: crm, table: shop.nothing")
    [problem] = crm.look().problems
    assert "crm/customers could not be observed: " in problem
    assert "(connection crm) failed: " in problem


def test_a_dropped_table_is_named_when_a_run_reads_it(crm: Crm) -> None:
    project = crm.declare()
    only(crm.look())
    crm.database.execute("DROP TABLE shop.customers")
    [result] = project.materialize("crm/counted")
    assert "(connection crm) failed: " in failure(result)
    assert "customers" in failure(result).lower()
