"""Shared fixtures: one PostgreSQL server, one database and one Spark session per worker."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import hypothesis
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url

from headrace.database import connection as database
from headrace.database import embedded
from headrace.settings import settings
from tests.jvm_archive import jvm_options
from tests.paths import POSTGRESQL_DRIVER
from tests.platform.s3 import client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATABASES = count()
os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options())  # for every JVM of this test run
if (
    client.is_available()
):  # at the end of the class path, where they do not change the archive of Spark's classes
    os.environ.setdefault("SPARK_DIST_CLASSPATH", f"{client.JARS}/*")
os.environ |= {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_EC2_METADATA_DISABLED": "true",
}
gc.set_threshold(20_000, 20, 20)  # the default, 700, walks Dagster's many live objects all the time
# A busy machine is no failure.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")


def pytest_xdist_auto_num_workers() -> int:
    """Return two workers more than CPUs, since tests of processes and pages wait; at most four, for the memory."""
    return min((os.cpu_count() or 1) + 2, 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files with slow tests first, then those with Spark, so that parallel workers finish together."""
    places: dict[Path, int] = {}
    for item in items:
        is_slow, has_spark = item.get_closest_marker("slow"), "spark" in getattr(item, "fixturenames", ())
        places[item.path] = min(places.get(item.path, 2), 0 if is_slow else 1 if has_spark else 2)
    items.sort(key=lambda item: places[item.path])


@pytest.fixture(autouse=True)
def _dagster_variables() -> Iterator[None]:
    """Leave no instance to the next test: commands set Dagster's variables for the rest of their process."""
    before = {name: value for name, value in os.environ.items() if name.startswith("DAGSTER_")}
    yield
    for name in [name for name in os.environ if name.startswith("DAGSTER_")]:
        del os.environ[name]
    os.environ.update(before)


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


@dataclass
class Databases:
    """The worker's database, which tests use one after another, and what it looked like when it was new.

    Its connection stays open: to open one costs more than to clean.
    """

    server: URL
    name: str = ""
    url: URL | None = None
    connection: psycopg.Connection | None = None
    seeded: tuple[str, ...] = ()
    shape: object = None

    def take(self) -> str:
        """The URL of a migrated database without rows."""
        if self.url is None:
            self.name = f"test_{next(_DATABASES)}"
            with self._admin() as admin:
                admin.execute(f"CREATE DATABASE {self.name} TEMPLATE {self.server.database}")
            self.url = self.server.set(database=self.name)
            self.connection = connection = psycopg.connect(_text(self.url), autocommit=True)
            connection.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
            self.shape = connection.execute(_SHAPE).fetchall()
            tables = [row[0] for row in connection.execute(_TABLES)]
            filled = [
                table
                for table in tables
                if connection.execute(
                    sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.SQL(table))
                ).fetchone()
                == (True,)
            ]
            self.seeded = tuple(filled)
        return _text(self.url)

    def give_back(self) -> None:
        """Delete every row; drop a database whose tables the test has changed, or whose sessions it has ended."""
        assert self.connection is not None
        connection = self.connection
        try:
            changed = connection.execute(_SHAPE).fetchall() != self.shape
        except (psycopg.errors.UndefinedTable, psycopg.OperationalError):
            changed = True
        if changed:
            self.drop()
        else:
            tables = [row[0] for row in connection.execute(_TABLES) if row[0] not in self.seeded]
            deletes = [sql.SQL("DELETE FROM {}").format(sql.SQL(table)) for table in tables]
            connection.execute(sql.SQL("; ").join(deletes))
            connection.execute(_RESTART)

    def drop(self) -> None:
        """Forget the database: the next test gets a new one."""
        database.disconnect()
        if self.connection is not None:
            self.connection.close()
            with self._admin() as admin:
                admin.execute(f"DROP DATABASE {self.name} WITH (FORCE)")
            self.connection = self.url = None

    @contextmanager
    def created(self, name: str, template: str = "template0") -> Iterator[str]:
        """The URL of one more database, a copy of `template`; dropped at the end of the block."""
        with self._admin() as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield _text(self.server.set(database=name))
        finally:
            with self._admin() as admin:
                admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _admin(self) -> psycopg.Connection:
        return psycopg.connect(_text(self.server.set(database="postgres")), autocommit=True)


# Relations, functions, columns and grants: what DELETE does not bring back.
_SHAPE = """
SELECT 'relation', count(*), max(oid)::bigint, sum(hashtext(relname || coalesce(relacl::text, '')))::bigint
FROM pg_class WHERE relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
UNION ALL SELECT 'function', count(*), max(oid)::bigint, sum(hashtext(prosrc))::bigint FROM pg_proc
UNION ALL SELECT 'column', count(*), NULL, sum(hashtext(attname || attnotnull::text))::bigint
FROM pg_attribute WHERE attrelid > 16384 AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'schema', count(*), max(oid)::bigint, NULL FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
UNION ALL SELECT 'role', count(*), max(oid)::bigint, NULL FROM pg_roles
UNION ALL SELECT 'revision ' || version_num, 0, NULL, NULL FROM catalog.alembic_version
UNION ALL SELECT 'scripts of ' || max(platform_version), count(*), NULL, sum(hashtext(digest))::bigint
FROM catalog.repeatable_script
"""
_TABLES = """
SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename <> 'alembic_version'
  AND NOT EXISTS (
      SELECT FROM pg_inherits WHERE inhrelid = format('%I.%I', schemaname, tablename)::regclass
  )
"""
_RESTART = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE last_value IS NOT NULL
"""


@pytest.fixture(scope="session")
def databases(postgres: str) -> Iterator[Databases]:
    """The databases of this worker. One that is cleaned costs a sixth of one that is created and dropped."""
    made = Databases(make_url(postgres))
    yield made
    made.drop()


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """The catalog in a database without rows, which the settings name, so that `connect` gives this very engine.

    HEADRACE_HOME is the test's own folder, so that the warehouse is there too. Its connections outlive the test, since
    a new one plans every statement again.
    """
    if request.node.get_closest_marker("new_database"):
        databases.drop()
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEADRACE_DATABASE_URL", databases.take())
    settings.cache_clear()
    try:
        yield database.connect()
    finally:
        settings.cache_clear()
        databases.give_back()


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
        .config("spark.jars", POSTGRESQL_DRIVER.as_uri() if POSTGRESQL_DRIVER.exists() else "")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
        .getOrCreate()
    )
    yield session
    session.stop()


def _text(url: URL) -> str:
    return url.render_as_string(hide_password=False)
