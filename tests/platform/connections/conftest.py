"""A connection to each database that the tests can run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.connections.connection import connection
from headrace.connections.database import Database
from headrace.connections.opening import opened
from tests.platform.connections.databases import BY_JDBC, DATABASES, Postgres, configured, derby


@pytest.fixture(params=DATABASES)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    """An open connection named crm, with a schema of its own."""
    is_derby = request.param == "derby"
    if is_derby:
        toml = derby("crm")
    else:
        served: Postgres = request.getfixturevalue("postgresql_over_tcp")
        toml = served.settings("crm", jdbc=request.param == BY_JDBC)
    with configured(monkeypatch, tmp_path, toml), opened(connection("crm"), lambda: spark) as found:
        found.execute("CREATE SCHEMA shop")
        yield found
        if not is_derby:
            found.execute("DROP SCHEMA shop CASCADE")
