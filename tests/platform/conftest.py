"""A small catalog for tests: raw/flights (daily) -> mart/delays -> mart/report, and drafts to publish into it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import (
    Check,
    Column,
    DatasetRecord,
    ProcessRecord,
    Technology,
    VersionDraft,
)
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.severity import Severity
from tests.platform.connections.databases import Postgres, postgres_over_tcp
from tests.platform.s3 import client
from tests.platform.s3.server import Server, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUCKETS = count()

COLUMNS = (Column("id", "bigint", nullable=False), Column("delay", "double", description="minutes"))
DATASETS = (
    DatasetRecord("raw/flights", "parquet", columns=COLUMNS, partitions="daily", owners=("ops@example.com",)),
    DatasetRecord(
        "mart/delays",
        "parquet",
        description="Delays by day",
        columns=COLUMNS,
        checks=(
            Check("id_not_null", "not_null", "id"),
            Check("delay_sane", "in_range", "delay", {"min_value": -60, "max_value": 3000}, Severity.WARNING),
        ),
        sla={"maximum_age": "25h"},
        tags={"tier": "gold"},
    ),
    DatasetRecord("mart/report", "csv"),
)
PROCESSES = (
    ProcessRecord("mart/delays", Technology.SPARK, inputs=("raw/flights",), outputs=("mart/delays",)),
    ProcessRecord("mart/report", Technology.SPARK, inputs=("mart/delays",), outputs=("mart/report",)),
)

Draft = Callable[..., VersionDraft]


@pytest.fixture(scope="session")
def postgresql_over_tcp(postgres: str) -> Iterator[Postgres]:
    """A database for JDBC."""
    with postgres_over_tcp(postgres) as found:
        yield found


@pytest.fixture
def catalog(engine: Engine) -> Engine:
    register(engine, DATASETS, PROCESSES)
    return engine


@pytest.fixture
def draft() -> Draft:
    """Create drafts; each has its own tag and key unless given."""
    tags = count(1)

    def make(
        dataset: str = "mart/delays", partition: str | None = None, generation: int = 0, **given: Any
    ) -> VersionDraft:
        tag = given.pop("tag", f"v{next(tags)}")
        return VersionDraft(
            dataset=dataset,
            partition=partition,
            tag=tag,
            location=f"file:/warehouse/{dataset}/{tag}",
            format="parquet",
            columns=given.pop("columns", COLUMNS),
            row_count=given.pop("row_count", 10),
            byte_size=100,
            file_count=1,
            checksum="abc",
            idempotency_key=given.pop("key", f"{tag}/{dataset}/{partition or ''}"),
            expected_generation=generation,
            **given,
        )

    return make


@pytest.fixture(scope="session")
def s3() -> Iterator[Server]:
    """A server of the S3 protocol."""
    with running() as server:
        yield server


@pytest.fixture
def bucket(s3: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A new bucket, which the settings reach. Its name is never used again: Spark keeps a client for each."""
    name = f"lake-{os.getpid()}-{next(_BUCKETS)}"
    s3.create(name)
    monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(s3.conf))
    settings.cache_clear()
    s3.requests.clear()
    yield name
    settings.cache_clear()


@pytest.fixture
def s3a(bucket: str, s3: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URI of a new bucket for Spark. Skips the test without Spark's S3 client."""
    if not client.is_available():
        pytest.skip(client.MISSING)
    spark: SparkSession = request.getfixturevalue("spark")
    conf = {key.removeprefix("spark.hadoop."): value for key, value in s3.conf.items()}
    for key, value in conf.items():
        spark.conf.set(key, value)
    yield f"s3a://{bucket}"
    for key in conf:
        spark.conf.unset(key)
