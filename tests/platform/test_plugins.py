"""An external package adds a store, an engine, an event source, a channel, an exporter and a check."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.alerts.channels import CHANNELS
from headrace.alerts.delivery import deliver
from headrace.alerts.records import RenderedNotification
from headrace.alerts.rules import Destination, Limit
from headrace.catalog.locators import RelationLocator, SnapshotLocator, locator_metadata
from headrace.catalog.pins import resolve
from headrace.catalog.publishing import publish
from headrace.catalog.records import Column, InputRequest, VersionDraft
from headrace.catalog.registry import register
from headrace.database.ids import organisation_id
from headrace.declarations.loading.project import load
from headrace.exports.exporter import EXPORTERS
from headrace.orchestration.event_sources import EVENT_SOURCES
from headrace.orchestration.ingestion import load as ingest_files
from headrace.plugins import Registry, UnknownPlugin
from headrace.severity import Severity
from headrace.stores.files.custom_checks import CHECKS
from headrace.stores.registry import STORES
from tests.platform.projects import checks, failure, load_project, write_project

ACME = '''
"""What Acme adds to Headrace."""

from dataclasses import replace

from headrace.job_reports.completions.parsing import read_completions
from headrace.catalog.locators import SnapshotLocator
from headrace.stores.capabilities import Capability
from headrace.stores.files.store import FilesStore

SENT = []


class Shelf(FilesStore):
    """A store that keeps its own snapshots: here of files, known by a table and a number."""

    def write(self, df, **given):
        written = super().write(df, **given)
        return [replace(each, locator=SnapshotLocator(given["dataset"], given["tag"])) for each in written]

    def read(self, versions):
        assert all(isinstance(version.locator, SnapshotLocator) for version in versions)
        return self._session.read.parquet(*[version.location for version in versions])


class ShelfType:
    capabilities = frozenset({Capability.TIME_TRAVEL, Capability.APPEND})

    def open(self, session, warehouse_uri):
        return Shelf(session, warehouse_uri)


class Tables(FilesStore):
    """Reads relations of a database: here the views of the session."""

    def read(self, versions):
        [relation] = [version.locator.relation for version in versions]
        return self._session.table(relation)


class TablesType:
    capabilities = frozenset()

    def open(self, session, warehouse_uri):
        return Tables(session, warehouse_uri)


class Even:
    types = ("int", "bigint")

    def validate(self, parameters):
        if parameters:
            raise ValueError("even takes no parameters")

    def condition(self, value, parameters):
        return value % 2 == 0


class Pager:
    def send(self, url, rendered):
        SENT.append((url, rendered.title))


class Csv:
    def write(self, engine, organisation, file):
        file.write(b"kind,id\\n")
        return "1 line"


class Semicolons:
    """JOB;STATUS;RUN on each line."""

    def read(self, data, name, *, at, zone):
        import json

        lines = [line.split(";") for line in data.decode().splitlines()]
        documents = [{"process": job, "status": status, "run": run} for job, status, run in lines]
        return read_completions(json.dumps(documents).encode(), name, name="", at=at, zone=zone)
'''
ENTRY_POINTS = """
[headrace.stores]
shelf = acme_headrace:ShelfType
tables = acme_headrace:TablesType
[headrace.checks]
even = acme_headrace:Even
[headrace.alert_channels]
pager = acme_headrace:Pager
[headrace.exporters]
acme-csv = acme_headrace:Csv
[headrace.event_sources]
semicolons = acme_headrace:Semicolons
"""
NUMBERS = """
type: headrace.Dataset
attributes:
  key: acme/numbers
  engine: second
  output: {store: shelf}
  schema:
    columns:
      id: {type: bigint, checks: [{custom: {kind: even}}]}
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
    """An installed package: a module, and the metadata that pip writes."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_headrace.py").write_text(textwrap.dedent(ACME))
    metadata = folder / "acme_headrace-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-headrace\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    registries: list[Registry] = [STORES, CHECKS, CHANNELS, EXPORTERS, EVENT_SOURCES]
    sys.path.insert(0, str(folder))
    for registry in registries:
        registry.reload()
    yield
    sys.path.remove(str(folder))
    for registry in registries:
        registry.reload()


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


def test_a_dataset_lives_in_the_store_and_is_computed_by_the_engine_and_checked_by_the_check(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project = project_with_second_engine(tmp_path, engine, spark, NUMBERS)
    results = project.materialize()
    assert all(result.success for result in results)
    assert checks(results)["id_even"]
    [[numbers]] = resolve(engine, [InputRequest("acme/numbers", "test")])
    assert numbers.version.store == "shelf"
    assert numbers.version.locator == SnapshotLocator("acme/numbers", numbers.version.tag)
    [[total]] = resolve(engine, [InputRequest("acme/total", "test")])
    assert total.version.store == "files"
    assert spark.read.parquet(total.version.location).collect()[0].total == 20


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
        metadata=locator_metadata("tables", relation),
    )
    publish(engine, None, [made])
    [result] = project.materialize("acme/counted")
    assert result.success
    [[counted]] = resolve(engine, [InputRequest("acme/counted", "test")])
    assert spark.read.parquet(counted.version.location).collect()[0].people == 2


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
    wrong = NUMBERS.partition("---")[0].replace("store: shelf", "store: shlf")
    [problem] = load(write_project(tmp_path, "acme", wrong)).problems
    assert (problem.field, problem.line) == ("output.store", 6)
    assert (
        f"there is no store 'shlf'. Did you mean shelf? Installed: {', '.join(STORES.names())}."
        in problem.message
    )


def test_partitions_need_a_store_that_can_replace_one(tmp_path: Path) -> None:
    partitioned = NUMBERS.partition("---")[0].replace(
        "  engine: second", "  engine: second\n  partitions: {type: static, keys: [a, b], column: id}"
    )
    [problem] = load(write_project(tmp_path, "acme", partitioned)).problems
    assert problem.field == "output.store"
    assert "the store 'shelf' cannot replace one partition without the others" in problem.message


def test_a_channel_delivers_to_its_scheme() -> None:
    import acme_headrace  # type: ignore[import-not-found]

    rendered = RenderedNotification(uuid4(), uuid4(), "late: acme/numbers", "body", Severity.ERROR)
    deliver(Destination("on call", "pager://team", Limit(1, timedelta(hours=1))), "", rendered)
    assert acme_headrace.SENT == [("pager://team", "late: acme/numbers")]


def test_an_exporter_writes_its_format(engine: Engine) -> None:
    register(engine, [], [])
    file = io.BytesIO()
    assert EXPORTERS.get("acme-csv").write(engine, organisation_id(), file) == "1 line"
    assert file.getvalue() == b"kind,id\n"
    with pytest.raises(UnknownPlugin, match="Installed: acme-csv, "):
        EXPORTERS.get("acme-xml")


def test_an_event_source_translates_files_to_runs(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "night.txt").write_text("LOAD;SUCCESS;7\nCHECK;FAILURE;8\n")
    loaded = ingest_files(engine, [tmp_path / "night.txt"], source=EVENT_SOURCES.get("semicolons"))
    assert (loaded.ingested.new, loaded.ingested.runs, loaded.errors) == (2, 2, [])
