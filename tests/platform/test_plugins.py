"""An external package adds a store, an engine, an event source, a channel, an exporter, a check and a gate."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.alerts.delivery import deliver
from headrace.alerts.records import RenderedNotification
from headrace.alerts.rules import Destination, Limit
from headrace.catalog.locators import RelationLocator, SnapshotLocator, locator_metadata
from headrace.catalog.records import Column, InputRequest, Version, VersionDraft
from headrace.cli import app
from headrace.context import current_context
from headrace.declarations.loading.project import load
from headrace.exports.formats import FORMATS
from headrace.orchestration.event_sources import EVENT_SOURCES
from headrace.orchestration.ingestion import load as ingest_files
from headrace.plugins import UnknownPlugin
from headrace.publishing.pins import resolve
from headrace.publishing.publication import publish
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.severity import Severity
from headrace.stores.registry import STORES
from tests.platform.acme.installed import acme_installed
from tests.platform.projects import checks, failure, load_project, write_project

NUMBERS = """
type: headrace.Dataset
attributes:
  key: acme/numbers
  engine: second
  output: {store: ledger}
  schema:
    columns:
      id: {type: bigint, nullable: false, checks: [{custom: {kind: even}}]}
  checks: [{unique: [id]}, {row_count: {min: 1}}]
  sql: SELECT id * 2 AS id FROM range(5)
---
type: headrace.Dataset
attributes:
  key: acme/total
  sql: SELECT sum(id) AS total FROM acme.numbers
"""


PEOPLE = """
type: headrace.ExternalDataset
attributes:
  key: acme/people
  format: db2
  schema: {columns: {name: string}}
---
type: headrace.Dataset
attributes:
  key: acme/counted
  sql: SELECT count(*) AS people FROM acme.people
"""


@pytest.fixture(scope="module", autouse=True)
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An installed package."""
    with acme_installed(tmp_path_factory.mktemp("site")):
        yield


def project_with_second_engine(root: Path, engine: Engine, spark: SparkSession, declarations: str) -> Any:
    """A project whose resources have a second engine in addition to `spark`."""

    @dg.resource
    def second(_: dg.InitResourceContext) -> Any:
        class Second:
            session = spark
            is_remote = False

        return Second()

    project = load_project(write_project(root, "acme", declarations), engine)
    project.definitions = dg.Definitions.merge(
        project.definitions, dg.Definitions(resources={"second": second})
    )
    return project


def published(engine: Engine, dataset: str) -> Version:
    [[choice]] = resolve(engine, [InputRequest(dataset, "test")])
    return choice.version


def ask(*words: str) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def referenced(dataset: str) -> str | None:
    """The tag that external readers find in the ledger's own database."""
    with closing(
        sqlite3.connect(Path(urlsplit(settings().warehouse_uri).path) / "ledger.sqlite")
    ) as connection:
        found = connection.execute("SELECT tag FROM published WHERE dataset = ?", [dataset]).fetchone()
    return found and str(found[0])


def test_a_dataset_lives_in_the_store_and_is_computed_by_the_engine_and_checked_by_the_check(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project = project_with_second_engine(tmp_path, engine, spark, NUMBERS)
    results = project.materialize()
    assert all(result.success for result in results)
    assert checks(results) == {"id_not_null": True, "id_even": True, "unique_id": True, "row_count": True}
    numbers = published(engine, "acme/numbers")
    assert (numbers.store, numbers.format, numbers.row_count) == ("ledger", "lines", 5)
    assert numbers.locator == SnapshotLocator("acme/numbers", numbers.tag)
    assert referenced("acme/numbers") == numbers.tag
    [made] = [
        event
        for event in results[0].get_asset_materialization_events()
        if event.asset_key.path[-1] == "numbers"
    ]
    shown = made.materialization.metadata
    assert "| 8 |" in str(shown["preview"].value)
    assert shown["dagster/uri"].value == str(numbers.locator)
    total = published(engine, "acme/total")
    assert total.store == "files"
    assert spark.read.parquet(total.location).collect()[0].total == 20


def test_a_dataset_that_moves_to_another_store_leaves_no_reference_in_the_first(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project_with_second_engine(tmp_path, engine, spark, NUMBERS).materialize("acme/numbers")
    moved = NUMBERS.replace("store: ledger", "store: files")
    project_with_second_engine(tmp_path, engine, spark, moved).materialize("acme/numbers")
    assert referenced("acme/numbers") is None
    manifest = Path(urlsplit(settings().warehouse_uri).path) / "acme/numbers/_published/current.json"
    assert json.loads(manifest.read_text())["tag"] == published(engine, "acme/numbers").tag
    ask("rollback", "acme/numbers")
    assert referenced("acme/numbers") == published(engine, "acme/numbers").tag
    assert not manifest.exists()


def test_a_run_reads_a_published_relation_through_the_store(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    spark.createDataFrame([("ann",), ("bob",)], "name string").createOrReplaceTempView("people_of_today")
    project = load_project(write_project(tmp_path, "acme", PEOPLE), engine)
    relation = RelationLocator("crm", "people_of_today")
    made = VersionDraft(
        dataset="acme/people",
        partition=None,
        tag="today",
        location=str(relation),
        format="db2",
        columns=(Column("name", "string"),),
        row_count=2,
        byte_size=0,
        file_count=0,
        checksum="",
        idempotency_key="people/today",
        expected_generation=0,
        metadata=locator_metadata("views", relation),
    )
    publish(engine, None, [made])
    [result] = project.materialize("acme/counted")
    assert result.success
    assert spark.read.parquet(published(engine, "acme/counted").location).collect()[0].people == 2


def test_a_failing_check_of_a_package_blocks_the_version(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    odd = NUMBERS.partition("---")[0].replace("id * 2", "id")
    project = project_with_second_engine(tmp_path, engine, spark, odd)
    [result] = project.materialize()
    assert "id_even (2 rows)" in failure(result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{custom: {kind: evn}}", "there is no check 'evn'. Did you mean even? Installed: "),
        ("{custom: {kind: even, parameters: {by: 3}}}", "even takes no parameters"),
    ],
)
def test_a_wrong_check_is_a_problem_of_the_declaration(tmp_path: Path, text: str, message: str) -> None:
    wrong = NUMBERS.partition("---")[0].replace("{custom: {kind: even}}", text)
    [problem] = load(write_project(tmp_path, "acme", wrong)).problems
    assert message in problem.message


def test_an_unknown_store_is_a_problem_of_the_declaration(tmp_path: Path) -> None:
    wrong = NUMBERS.partition("---")[0].replace("store: ledger", "store: legder")
    [problem] = load(write_project(tmp_path, "acme", wrong)).problems
    assert (problem.field, problem.line) == ("output.store", 6)
    assert (
        f"there is no store 'legder'. Did you mean ledger? Installed: {', '.join(STORES.names())}."
        in problem.message
    )


def test_partitions_need_a_store_that_can_replace_one(tmp_path: Path) -> None:
    partitioned = NUMBERS.partition("---")[0].replace(
        "  engine: second", "  engine: second\n  partitions: {type: static, keys: [a, b], column: id}"
    )
    [problem] = load(write_project(tmp_path, "acme", partitioned)).problems
    assert problem.field == "output.store"
    assert "the store 'ledger' cannot replace one partition without the others" in problem.message


def test_a_channel_delivers_to_its_scheme() -> None:
    import acme_headrace  # type: ignore[import-not-found]

    rendered = RenderedNotification(uuid4(), uuid4(), "late: acme/numbers", "body", Severity.ERROR)
    deliver(Destination("on call", "pager://team", Limit(1, timedelta(hours=1))), "", rendered)
    assert acme_headrace.SENT == [("pager://team", "late: acme/numbers")]


def test_an_exporter_writes_its_format(engine: Engine) -> None:
    register(engine, [], [])
    file = io.BytesIO()
    assert FORMATS.get("acme-csv").write(engine, current_context().organisation_id, file) == "1 line"
    assert file.getvalue() == b"kind,id\n"
    with pytest.raises(UnknownPlugin, match="Installed: acme-csv, "):
        FORMATS.get("acme-xml")


def test_an_event_source_translates_files_to_runs(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "night.txt").write_text("LOAD;SUCCESS;7\nCHECK;FAILURE;8\n")
    loaded = ingest_files(engine, [tmp_path / "night.txt"], source=EVENT_SOURCES.get("semicolons"))
    assert (loaded.ingested.new, loaded.ingested.runs, loaded.errors) == (2, 2, [])


def test_a_gate_refuses_registrations(engine: Engine) -> None:
    refused = CliRunner().invoke(app, ["register", "sealed/orders", "--owner", "team:a"])
    assert refused.exit_code == 1
    assert "sealed/orders cannot be registered: the domain is sealed (acme:sealed)." in refused.stderr
    assert ask("register", "open/orders", "--owner", "team:a", "--description", "d")["objections"] == []
