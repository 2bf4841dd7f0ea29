"""Locations on other filesystems, through Hadoop: viewfs://, whose mount leads to a local folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import dagster as dg
import pyarrow as pa
import pytest
from sqlalchemy import Engine

from headrace.declarations.loading.project import load
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.orchestration.sensors.landing import landing_sensor
from headrace.queries import published
from headrace.queries.pointers import newest
from headrace.settings import settings
from tests.platform.landed.test_formats import write
from tests.platform.projects import load_project, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Plans = Callable[..., ExternalPlan]
ROWS = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]})
COLUMNS = {"id": "int", "name": "string"}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A filesystem of Hadoop's own, and the folder where its files are. Hadoop keeps one for each name."""
    name, folder = f"lake{uuid4().hex}", tmp_path / "lake"
    folder.mkdir()
    mount = f"fs.viewfs.mounttable.{name}.link./feed"
    spark.conf.set(mount, folder.as_uri())
    yield f"viewfs://{name}/feed", folder
    spark.conf.unset(mount)


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv"])
def test_each_format_on_another_filesystem(
    engine: Engine, external: Plans, lake: tuple[str, Path], format: str
) -> None:
    uri, folder = lake
    options = {"header": "true"} if format == "csv" else {}
    write(folder / "one", format, ROWS)
    for day in ("2013-01-01", "2013-01-02"):
        write(folder / f"day={day}" / f"part-0.{format}", format, ROWS)
    (folder / "day=2013-01-01" / "_SUCCESS").touch()
    plans = [
        external("one", f"{uri}/one", format, COLUMNS, options=options),
        external(
            "daily",
            f"{uri}/day={{partition}}/",
            format,
            COLUMNS,
            daily=True,
            marker="_SUCCESS",
            options=options,
        ),
    ]
    observation = observe(engine, plans)
    assert observation.problems == ()
    one, daily = observation.new
    assert (one.row_count, one.location, one.byte_size) == (2, f"{uri}/one", (folder / "one").stat().st_size)
    assert (daily.partition, daily.row_count, daily.location) == ("2013-01-01", 2, f"{uri}/day=2013-01-01")
    assert observation.waiting == (f"landed/daily: {uri}/day=2013-01-02 has no _SUCCESS yet",)
    assert observe(engine, plans).new == ()
    write(folder / "one", format, ROWS.slice(0, 1))
    assert [found.row_count for found in observe(engine, plans).new] == [1]


def test_an_unreachable_location_is_reported_and_others_are_read(
    engine: Engine, external: Plans, lake: tuple[str, Path]
) -> None:
    uri, folder = lake
    write(folder / "one", "parquet", ROWS)
    plans = [
        external("nowhere", "nofs://feed/day={partition}", "parquet", COLUMNS, daily=True),
        external("broken", "viewfs://not a host/feed", "parquet", COLUMNS),
        external("one", f"{uri}/one", "parquet", COLUMNS),
    ]
    observation = observe(engine, plans)
    assert [found.dataset for found in observation.new] == ["landed/one"]
    nowhere, broken = observation.problems
    assert nowhere.startswith("landed/nowhere could not be observed: ")
    assert "nofs" in nowhere
    assert "assets/landed/defs.yaml:1" in nowhere
    assert broken.startswith("landed/broken could not be observed: java.")


def test_spark_connect_without_plan_access_is_reported(
    engine: Engine, external: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SPARK__REMOTE", "sc://localhost:1")
    settings.cache_clear()
    (problem,) = observe(engine, [external("one", "hdfs://feed/one", "parquet", COLUMNS)]).problems
    assert "Spark Connect has no access" in problem


def test_local_places_start_no_spark(
    engine: Engine, external: Plans, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.spark.session.file_session", lambda: pytest.fail("Spark starts"))
    for format in ("parquet", "orc", "json"):
        write(landing / format / "part-0", format, ROWS)
    plans = [external(format, f"landing/{format}", format, COLUMNS) for format in ("parquet", "orc", "json")]
    plans.append(external("uri", f"file:{landing.resolve()}/parquet", "parquet", COLUMNS))
    assert len(observe(engine, plans).new) == 4


def test_the_sensor_says_what_it_does_not_look_at(engine: Engine, external: Plans) -> None:
    plans = [external("people", None, "parquet"), external("orders", "PROD.ORDERS", "db2")]
    message = landing_sensor(plans).description
    assert message is not None
    assert "landed/people (no location), landed/orders (format db2)" in message
    assert observe(engine, plans).problems == ()
    assert "Not observed" not in str(landing_sensor([external("a", "a", "csv")]).description)


def test_loading_brings_neither_spark_nor_arrow() -> None:
    code = "import sys, sensors; sys.exit(bool({'pyspark', 'pyarrow'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False)
    assert run.returncode == 0


PROJECT = """
type: headrace.ExternalDataset
attributes:
  key: shop/orders
  location: {uri}/day={{partition}}
  marker: _SUCCESS
  partitions: {{type: daily, start: "2026-01-01", end: "2026-01-04"}}
  schema: {{columns: {{id: int, name: string}}}}
---
type: headrace.ExternalDataset
attributes:
  key: shop/shops
  format: orc
  location: {folder}/shops
---
type: headrace.ExternalDataset
attributes:
  key: shop/prices
  format: json
  location: {uri}/prices.json
  schema: {{columns: {{id: int, price: "decimal(9,2)"}}}}
---
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: >-
    SELECT orders.name, shops.name AS shop, prices.price
    FROM orders JOIN shops USING (id) JOIN prices USING (id) WHERE orders.id = 2
"""


def test_a_dataset_is_made_from_what_landed_anywhere(
    engine: Engine, spark: SparkSession, lake: tuple[str, Path], tmp_path: Path
) -> None:
    uri, folder = lake
    for day in ("2026-01-01", "2026-01-02"):
        write(folder / f"day={day}" / "part-0.snappy.parquet", "parquet", ROWS)
        (folder / f"day={day}" / "_SUCCESS").touch()
    write(folder / "shops" / "000000_0", "orc", ROWS)
    (folder / "prices.json").write_text(
        "".join(json.dumps({"id": n, "price": n + 0.5}) + "\n" for n in (1, 2))
    )
    root = write_project(tmp_path / "project", "shop", PROJECT.format(uri=uri, folder=folder))
    project = load_project(root, engine)
    landed = [plan for plan in load(root).plans if isinstance(plan, ExternalPlan)]

    observation = observe(engine, landed)
    (result,) = project.materialize()

    assert observation.problems == ()
    assert len(observation.new) == 4
    assert result.success
    sales = newest(engine, "shop/sales")
    assert sales is not None
    rows = [row.asDict() for row in spark.read.parquet(sales.location).collect()]
    assert [{**row, "price": str(row["price"])} for row in rows] == [
        {"name": "b", "shop": "b", "price": "2.50"}
    ] * 2


def test_dagster_gets_landed_files(engine: Engine, external: Plans, lake: tuple[str, Path]) -> None:
    uri, folder = lake
    write(folder / "one" / "part-0", "parquet", ROWS)
    instance = dg.DagsterInstance.ephemeral()
    sensor = landing_sensor([external("one", f"{uri}/one", "parquet", COLUMNS)])
    result = sensor(dg.build_sensor_context(instance=instance))
    assert isinstance(result, dg.SensorResult)
    (event,) = result.asset_events
    assert isinstance(event, dg.AssetMaterialization)
    assert event.metadata["dagster/row_count"].value == 2
    assert [row.version.location for row in published(engine, ["landed/one"])] == [f"{uri}/one"]
