"""A version store over a temporary warehouse, and versions of what it wrote."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.records import Outcome, Version
from headrace.stores.files.store import FilesStore
from headrace.stores.writes import WrittenVersion


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Iterator[FilesStore]:
    """A store in tmp_path/warehouse, with the session set up as SparkResource does it."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    yield FilesStore(spark, (tmp_path / "warehouse").as_uri())
    spark.conf.unset("spark.sql.parquet.outputTimestampType")


@pytest.fixture
def version() -> Callable[..., Version]:
    """Makes the version that the catalog would keep of a written one; keywords replace fields."""

    def made(written: WrittenVersion, format: str = "parquet", **changes: Any) -> Version:
        kept = Version(
            version_id=uuid4(),
            dataset="shop/orders",
            partition=written.partition,
            tag="20260101T000000Z-00000000",
            location=written.location,
            format=format,
            columns=written.columns,
            row_count=written.row_count,
            byte_size=written.byte_size,
            file_count=written.file_count,
            checksum=written.checksum,
            schema_hash="",
            code_version=None,
            fingerprint=None,
            run_id=None,
            outcome=Outcome.PUBLISHED,
            created_at=dt.datetime.now(dt.UTC),
            metadata={"options": dict(written.read_options)},
        )
        return dataclasses.replace(kept, **changes)

    return made
