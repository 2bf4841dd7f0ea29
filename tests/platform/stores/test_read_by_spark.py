"""Spark 4.1 with the runtimes of Iceberg and Delta reads what Headrace publishes with its own Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.queries.pointers import newest
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.execution.growing import Feed
from tests.platform.projects import failure, load_project, write_project
from tests.platform.stores.conformance.outside import OUTSIDE, Iceberg, warehouse

_SPARK, _JARS = REPOSITORY / ".venv" / "spark-4.1.4", REPOSITORY / ".venv" / "readers"
_READ = """
import json, sys
from pyspark.sql import SparkSession
jars, plan = sys.argv[1], json.loads(sys.argv[2])
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", jars)
    .config("spark.ui.enabled", "false")
    .config(
        "spark.sql.extensions",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
        "io.delta.sql.DeltaSparkSessionExtension",
    )
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
print(json.dumps(default=str, obj=[
    [row.asDict() for row in spark.read.format(each["format"]).options(**each["options"]).load(each["path"]).collect()]
    for each in plan
]))
"""
_LEDGER = """
type: headrace.ExternalDataset
attributes: {key: shop/feed}
---
type: headrace.Dataset
attributes:
  key: shop/ledger
  sql: SELECT id, code, CAST(id AS DECIMAL(12,2)) AS amount FROM feed
  incremental: {mode: append, watermark: id}
  output: {store: STORE}
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _JARS.exists(), reason="no other Spark: `make readers` fetches one"),
]


def read(*plan: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Read with Spark 4.1 and return each one's rows, decimals as text."""
    jars = ",".join(str(jar) for jar in sorted(_JARS.glob("*.jar")))
    done = subprocess.run(
        [sys.executable, "-c", _READ, jars, json.dumps(plan)],
        env={**os.environ, "PYTHONPATH": str(_SPARK), "SPARK_HOME": str(_SPARK / "pyspark")},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows(count: int) -> list[dict[str, Any]]:
    return [{"id": id, "code": f"c{id}", "amount": f"{id}.00"} for id in range(count)]


def appended_twice(store: str, tmp_path: Path, engine: Engine) -> str:
    """Publish two versions, the second appended to the first; returns the first one's tag."""
    project = load_project(
        write_project(tmp_path / "project", "shop", _LEDGER.replace("STORE", store)), engine
    )
    feed = Feed(engine, tmp_path, "shop/feed", {"id": "bigint", "code": "string"})
    tags = []
    for count in (2, 5):
        feed.publish([{"id": id, "code": f"c{id}"} for id in range(count)])
        [result] = project.materialize("shop/ledger")
        assert result.success, failure(result)
        published = newest(engine, "shop/ledger")
        assert published is not None
        tags.append(published.tag)
    assert len(published.segments) == 2
    return tags[0]


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: int(row["id"]))


def test_icebergs_runtime_reads_the_published_version_and_an_earlier_one_by_its_tag(
    tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    first = appended_twice("iceberg", tmp_path, engine)
    outside = OUTSIDE["iceberg"]
    assert isinstance(outside, Iceberg)
    with closing(outside.catalog()) as catalog:
        metadata = catalog.load_table("shop.ledger").metadata_location

    published, earlier = read(
        {"format": "iceberg", "path": metadata, "options": {}},
        {"format": "iceberg", "path": metadata, "options": {"versionAsOf": first}},
    )

    assert in_order(published) == rows(5)
    assert in_order(earlier) == rows(2)


def test_deltas_runtime_reads_the_published_version_and_an_earlier_one_by_its_number(
    tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    appended_twice("delta", tmp_path, engine)
    table = str(warehouse() / "shop" / "ledger" / "delta")

    published, earlier = read(
        {"format": "delta", "path": table, "options": {}},
        {"format": "delta", "path": table, "options": {"versionAsOf": "0"}},
    )

    assert in_order(published) == rows(5)
    assert in_order(earlier) == rows(2)
