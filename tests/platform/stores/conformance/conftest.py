"""A dataset in each store, published through the commands that users run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.catalog.records import InputRequest, Version
from headrace.cli import app
from headrace.publishing.pins import resolve
from headrace.settings import settings
from headrace.stores.protocol import Store, StoredTag
from headrace.stores.store import OpenStores
from headrace.stores.writes import OutputFormat, WrittenVersion
from tests.platform.acme.installed import acme_installed
from tests.platform.connections.databases import Postgres
from tests.platform.projects import Project, load_project, write_project
from tests.platform.stores.conformance.guarantees import Guarantee
from tests.platform.stores.conformance.outside import (
    CONNINFO,
    DATABASES,
    OUTSIDE,
    Outside,
    Rows,
)

ORDERS = "shop/orders"
IN_A_BUCKET = " in a bucket"
_NUMBERS = count()


@dataclass
class PlacedStore:
    """A store, and where it keeps the dataset: the warehouse, or a database."""

    store: Store
    base_uri: str | None

    def write(self, df: DataFrame, *, dataset: str, tag: str) -> list[WrittenVersion]:
        output = OutputFormat("table", location=self.base_uri) if self.base_uri else None
        return self.store.write(df, dataset=dataset, tag=tag, output=output)

    def read(self, versions: list[Version]) -> DataFrame:
        return self.store.read(versions)

    def first_rows(self, version: Version, count: int) -> list[dict[str, str | None]]:
        return self.store.first_rows(version, count)

    def stored(self, dataset: str, tag: str) -> StoredTag:
        return self.store.stored(dataset, tag, self.base_uri)

    def tags(self, dataset: str) -> list[str]:
        return self.store.tags(dataset, self.base_uri)

    def delete(self, dataset: str, tag: str) -> None:
        self.store.delete(dataset, tag, self.base_uri)


@dataclass
class Shop:
    """A project with the dataset shop/orders in a store."""

    name: str
    root: Path
    engine: Engine
    spark: SparkSession

    @property
    def outside(self) -> Outside:
        return OUTSIDE[self.name]

    @property
    def rows_outside(self) -> Rows:
        return sorted(self.outside.rows(ORDERS), key=lambda row: str(sorted(row.items())))

    def declare(self, sql: str, attributes: str = "", others: str = "") -> Project:
        """Declare the dataset with this SQL, and other datasets."""
        declaration = (
            f"type: headrace.Dataset\nattributes:\n  key: {ORDERS}\n  output: {self.outside.output(self.name)}\n"
            f"  allow_breaking_schema_change: true\n  sql: {json.dumps(sql, ensure_ascii=False)}\n{attributes}"
        )
        return load_project(write_project(self.root, "shop", others + declaration), self.engine)

    def run(
        self, sql: str, attributes: str = "", partitions: tuple[str, str] | None = None
    ) -> list[dg.ExecuteInProcessResult]:
        """Declare and materialize it."""
        return self.declare(sql, attributes).materialize(ORDERS, partitions=partitions)

    def publish(self, sql: str, attributes: str = "") -> Version:
        """Run it, and return the version that is now published."""
        [result] = self.run(sql, attributes)
        assert result.success
        return self.published

    @property
    def published(self) -> Version:
        [[choice]] = resolve(self.engine, [InputRequest(ORDERS, "test")])
        return choice.version

    @property
    def kind(self) -> str:
        """The name of its store."""
        return "jdbc" if self.name in ("derby", "postgresql") else self.name

    @property
    def store(self) -> PlacedStore:
        store = OpenStores(self.spark, settings().warehouse_uri).named(self.kind)
        return PlacedStore(store, self.outside.base_uri(ORDERS))

    def refreshed(self) -> int:
        """Run `headrace manifests`; returns how many references were out of date."""
        found = ask("manifests", ORDERS)
        assert found["problems"] == []
        return len(found["rewritten"])


def ask(*words: str) -> Any:
    """Run a command and return its JSON."""
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def now() -> str:
    return datetime.now(UTC).isoformat()


@pytest.fixture(scope="package", autouse=True)
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Acme's store is installed, as one of another package."""
    with acme_installed(tmp_path_factory.mktemp("site")):
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each guarantee on the stores that keep it; those that a module also imports in a bucket."""
    if "shop" in metafunc.fixturenames:
        stores = Guarantee.of(metafunc.function).stores
        if metafunc.module.__name__ != metafunc.function.__module__:
            wanted = metafunc.module.stores(metafunc.function)
            stores = [f"{store}{IN_A_BUCKET}" for store in stores if store in wanted]
        metafunc.parametrize("shop", stores, indirect=True)


@pytest.fixture
def shop(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    engine: Engine,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shop]:
    name = request.param.removesuffix(IN_A_BUCKET)
    if name != request.param:
        monkeypatch.setenv("HEADRACE_WAREHOUSE", f"{request.getfixturevalue('s3a')}/warehouse")
        settings.cache_clear()
    if name in ("derby", "postgresql"):
        _connect(request, monkeypatch)
    if name == "files":  # as SparkResource does it; the table formats see to it themselves
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    yield Shop(name, tmp_path, engine, spark)
    if name == "postgresql":
        DATABASES["postgresql"].run("DROP SCHEMA shop CASCADE")
    spark.conf.unset("spark.sql.parquet.outputTimestampType")


def _connect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up the connection, with the schema of the dataset."""
    prefix = f"HEADRACE_CONNECTIONS__{request.param.upper()}"
    if request.param == "derby":
        monkeypatch.setenv(f"{prefix}__URL", f"jdbc:derby:memory:shop{next(_NUMBERS)};create=true")
    else:
        served: Postgres = request.getfixturevalue("postgresql_over_tcp")
        CONNINFO[:] = [served.url.render_as_string(hide_password=False)]
        for name, value in served.variables().items():
            monkeypatch.setenv(f"{prefix}__{name}", value)
    settings.cache_clear()
    DATABASES[request.param].run("CREATE SCHEMA shop")


def refused(*words: str) -> str:
    """Run a command that fails, and return its message."""
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 1
    return result.stderr
