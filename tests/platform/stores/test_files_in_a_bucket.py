"""The files store in a bucket of S3: commits without copies, and what a failure of the service leaves."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars
import psycopg
import pyarrow as pa
import pyarrow.dataset as arrow
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from s3fs import S3FileSystem
from sqlalchemy import Engine

from headrace.declarations.loading.project import load
from headrace.execution.plan import ExternalPlan
from headrace.files.objects import ObjectFiles
from headrace.landed.observation import observe
from headrace.orchestration.garbage import garbage
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from headrace.stores.files.store import FilesStore
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat, PartitionWrite
from tests.platform.children import kill_at
from tests.platform.projects import Project, failure, load_project, project_of, write_project
from tests.platform.s3.server import REGION, Fault, Request, Server, cutting, losing, refusing
from tests.platform.stores.conformance.conftest import ask

pytestmark = pytest.mark.slow
ORDERS = "shop/orders"


@pytest.fixture
def warehouse(engine: Engine, s3a: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The warehouse that the settings name, in a new bucket."""
    monkeypatch.setenv("HEADRACE_WAREHOUSE", f"{s3a}/warehouse")
    settings.cache_clear()
    return f"{s3a}/warehouse"


def orders(engine: Engine, root: Path, count: int) -> Project:
    """A project with the dataset shop/orders of so many rows."""
    attributes = {"key": ORDERS, "sql": f"SELECT id FROM range({count})"}  # noqa: S608
    declaration = json.dumps({"type": "headrace.Dataset", "attributes": attributes})
    return load_project(write_project(root, "shop", declaration), engine)


def publish(engine: Engine, root: Path, count: int) -> None:
    [result] = orders(engine, root, count).materialize()
    assert result.success


def read() -> list[int]:
    return sorted(row["id"] for row in ask("read", ORDERS)["rows"])


def data_keys(s3: Server, bucket: str) -> list[str]:
    return [key for key in s3.keys(bucket) if "/part-" in key]


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json"])
def test_no_object_is_copied(spark: SparkSession, s3a: str, bucket: str, s3: Server, format: str) -> None:
    store = FilesStore(spark, f"{s3a}/warehouse")
    frame = spark.range(10).selectExpr("id", "CAST(id % 2 AS STRING) AS half").repartition(2)
    written = store.write(
        frame,
        dataset=ORDERS,
        tag=new_tag(),
        output=OutputFormat(format),
        partition=PartitionWrite("half", ("0", "1")),
    )
    assert [each.row_count for each in written] == [5, 5]
    methods = Counter(request.method for request in s3.requests)
    assert methods["COPY"] == 0
    uploads = [
        request.key for request in s3.requests if request.method == "POST" and "uploadId" in request.query
    ]
    assert sorted(uploads) == sorted(data_keys(s3, bucket))
    assert not [key for key in s3.keys(bucket) if "__magic" in key or "_temporary" in key]


def test_a_committer_that_renames_is_refused(spark: SparkSession, s3a: str, bucket: str, s3: Server) -> None:
    setting = "spark.sql.sources.commitProtocolClass"
    own = str(spark.conf.get(setting))
    spark.conf.unset(setting)
    try:
        with pytest.raises(StoreUnavailable, match="Spark lacks the module hadoop-cloud"):
            FilesStore(spark, s3a).write(spark.range(1), dataset=ORDERS, tag=new_tag())
    finally:
        spark.conf.set(setting, own)
    assert s3.keys(bucket) == []


def test_readers_start_no_spark(
    engine: Engine, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(engine, tmp_path, 3)
    monkeypatch.setattr("headrace.spark.session.SparkResource._start", lambda _: pytest.fail("Spark starts"))
    monkeypatch.setattr("headrace.spark.session._living_session", lambda: pytest.fail("Spark is used"))
    assert read() == [0, 1, 2]
    assert ask("manifests", ORDERS)["problems"] == []


def test_other_programs_read_what_the_manifest_lists(
    engine: Engine, warehouse: str, tmp_path: Path, s3: Server
) -> None:
    publish(engine, tmp_path, 3)
    service = S3FileSystem(endpoint_url=s3.url)
    manifest = json.loads(service.cat_file(f"{warehouse}/{ORDERS}/_published/current.json"))
    files = [file["path"].replace("s3a:", "s3:") for file in manifest["files"]]
    storage = {"aws_endpoint_url": s3.url, "aws_allow_http": "true", "aws_region": REGION}
    assert sorted(polars.read_parquet(files, storage_options=storage)["id"]) == [0, 1, 2]
    dataset = arrow.dataset([service._strip_protocol(file) for file in files], filesystem=service)
    assert sorted(dataset.to_table()["id"].to_pylist()) == [0, 1, 2]


def test_an_incomplete_listing_is_refused(
    spark: SparkSession, s3a: str, bucket: str, s3: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FilesStore(spark, f"{s3a}/warehouse")
    listed = ObjectFiles._found
    monkeypatch.setattr(ObjectFiles, "_found", lambda files, location: listed(files, location)[1:])
    with pytest.raises(StoreUnavailable, match=r"was committed with 2 files of \d+ bytes, and 1 files"):
        store.write(spark.range(4).repartition(2), dataset=ORDERS, tag=new_tag())


def is_completion(request: Request) -> bool:
    return request.method == "POST" and "uploadId" in request.query


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (refusing("403 Forbidden", "InvalidAccessKeyId"), "The credentials for s3a://.* are missing, wrong or expired"),
        (refusing("403 Forbidden", "AccessDenied"), "No permission at s3a://"),
        (refusing("404 Not Found", "NoSuchBucket"), "There is no bucket for s3a://"),
        (refusing("501 Not Implemented", "NotImplemented"), "does not have conditional writes"),
        (cutting(is_completion), "Cannot reach s3a://"),
        (refusing("403 Forbidden", "AccessDenied", is_completion), "No permission at s3a://"),
    ],
)  # fmt: skip
def test_a_failure_of_the_service_publishes_nothing(
    engine: Engine, warehouse: str, tmp_path: Path, s3: Server, bucket: str, fault: Fault, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    publish(engine, tmp_path, 3)
    before = data_keys(s3, bucket)
    monkeypatch.setattr("headrace.files.objects._conditional", set())
    with s3.failing(fault):
        [result] = orders(engine, tmp_path, 5).materialize()
        assert re.search(message, failure(result)), failure(result)
    assert data_keys(s3, bucket) == before
    assert read() == [0, 1, 2]


def test_a_manifest_whose_answers_are_lost_is_the_new_one(
    engine: Engine, warehouse: str, tmp_path: Path, s3: Server, bucket: str
) -> None:
    publish(engine, tmp_path, 3)
    lost = iter([True])
    with s3.failing(
        losing(lambda request: request.key.endswith("current.json") and request.writes and next(lost, False))
    ):
        publish(engine, tmp_path, 5)
    manifest = f"warehouse/{ORDERS}/_published/current.json"
    found = json.loads(s3.client.get_object(Bucket=bucket, Key=manifest)["Body"].read())
    assert found["row_count"] == 5
    assert ask("manifests", ORDERS)["rewritten"] == []


def test_a_run_killed_before_its_publish_leaves_garbage(
    engine: Engine, spark: SparkSession, warehouse: str, tmp_path: Path
) -> None:
    publish(engine, tmp_path, 3)
    orders(engine, tmp_path, 5)
    kill_at("headrace.execution.materialization._publish", tmp_path, tmp_path / "output")
    assert read() == [0, 1, 2]
    stores = OpenStores(spark, settings().warehouse_uri)
    [left] = garbage(engine, stores, now=datetime.now(UTC) + timedelta(days=2))
    stores.named("files").delete(ORDERS, left.tag)
    publish(engine, tmp_path, 7)
    assert len(stores.named("files").tags(ORDERS)) == 2


LANDED = """
type: headrace.ExternalDataset
attributes:
  key: shop/arrivals
  location: BUCKET/feed/day={partition}
  marker: _SUCCESS
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-04"}
  schema: {columns: {id: bigint}}
---
type: headrace.Dataset
attributes: {key: shop/orders, sql: SELECT id FROM shop.arrivals}
"""


def test_landed_objects_are_observed_without_spark_and_read(
    engine: Engine,
    warehouse: str,
    s3a: str,
    tmp_path: Path,
    bucket: str,
    s3: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), rows)
    for day in ("2026-01-01", "2026-01-02"):
        key = f"feed/day={day}/part-0.parquet"
        s3.client.put_object(Bucket=bucket, Key=key, Body=rows.getvalue().to_pybytes())
    s3.client.put_object(Bucket=bucket, Key="feed/day=2026-01-01/_SUCCESS", Body=b"")
    loaded = load(write_project(tmp_path, "shop", LANDED.replace("BUCKET", s3a)))
    project = project_of(loaded, engine)
    landing = [plan for plan in loaded.plans if isinstance(plan, ExternalPlan)]
    with monkeypatch.context() as without_spark:
        without_spark.setattr("headrace.spark.session.file_session", lambda: pytest.fail("Spark starts"))
        observation = observe(engine, landing)
        assert [(found.partition, found.row_count) for found in observation.new] == [("2026-01-01", 2)]
        assert observe(engine, landing).new == ()
    [result] = project.materialize(ORDERS)
    assert result.success
    assert read() == [1, 2]


def test_keys_are_kept_out_of_the_catalog(
    engine: Engine,
    warehouse: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    secret = "wJalrXUtnFEMI"  # noqa: S105
    conf = json.loads(os.environ["HEADRACE_SPARK__CONF"])
    conf |= {"spark.hadoop.fs.s3a.access.key": "AKIA-TESTS", "spark.hadoop.fs.s3a.secret.key": secret}
    monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(conf))
    settings.cache_clear()
    [result] = orders(engine, tmp_path, 3).materialize()
    assert result.success
    assert secret not in "".join(map(str, result.all_events)) + "".join(capfd.readouterr())
    with psycopg.connect(str(settings().database_url)) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'catalog'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f"SELECT t::text FROM {table} t").fetchall()  # noqa: S608
            assert not [row for row in rows if secret in str(row)], table
