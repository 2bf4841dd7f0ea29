"""What tests of all rooms share: one PostgreSQL server and one Spark session a run, a new database a test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url

from catalog import database, embedded
from settings import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATABASES = count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that workers which share the tests end together."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a migrated database on a server of this test run; `engine` copies it for each test.

    Not below pytest's own folder: run as root, the server is another user's, and pytest closes its folder to others
    whenever a second run begins.
    """
    with TemporaryDirectory(prefix="headrace-tests-") as folder:
        yield from _server(Path(folder))


def _server(home: Path) -> Iterator[str]:
    url = embedded.start(home)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # no test pulls the plug
            connection.execute("SELECT pg_reload_conf()")
        engine = database.engine_for(url)
        database.migrate(engine)
        engine.dispose()
        yield url
    finally:
        embedded.stop(home)


@pytest.fixture
def engine(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The catalog in a new database, which the settings name: `catalog.database.connect` gives this very engine.

    HEADRACE_HOME is the test's own folder, so that the warehouse is there too.
    """
    name = f"test_{next(_DATABASES)}"
    server = make_url(postgres)
    with psycopg.connect(_text(server.set(database="postgres")), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {server.database}")
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEADRACE_DATABASE_URL", _text(server.set(database=name)))
    settings.cache_clear()
    database.disconnect()
    try:
        yield database.connect()
    finally:
        database.disconnect()
        settings.cache_clear()
        with psycopg.connect(_text(server.set(database="postgres")), autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local Spark."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("headrace-tests")
        .config("spark.driver.extraJavaOptions", "-Xss4m")  # Spark itself recurses over deep expressions
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
        .getOrCreate()
    )
    yield session
    session.stop()


def _text(url: URL) -> str:
    return url.render_as_string(hide_password=False)
