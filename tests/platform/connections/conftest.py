"""A connection to each database that the tests can run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.connections.connection import connection
from headrace.connections.database import Database, opened
from tests.platform.connections.databases import NEEDS_DRIVER, configured, derby


@pytest.fixture(params=["derby", pytest.param("postgresql", marks=NEEDS_DRIVER)])
def database(
    request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    """An open connection named crm, with a schema of its own."""
    is_derby = request.param == "derby"
    toml = derby("crm") if is_derby else request.getfixturevalue("postgresql_over_tcp").settings("crm")
    with configured(monkeypatch, tmp_path, toml), opened(connection("crm"), spark) as found:
        found.execute("CREATE SCHEMA shop")
        yield found
        if not is_derby:
            found.execute("DROP SCHEMA shop CASCADE")
