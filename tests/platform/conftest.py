"""A small catalog for tests: raw/flights (daily) -> mart/delays -> mart/report, and drafts to publish into it."""

from collections.abc import Callable
from itertools import count
from typing import Any

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
from headrace.severity import Severity

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
