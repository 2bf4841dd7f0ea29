"""Settings alone move the work: to a standalone master with two workers, and to Spark Connect."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Version
from headrace.queries import published
from headrace.settings import settings
from jobs.landing import flights_file, land
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.projects import write_project

pytestmark = pytest.mark.slow

SPARK_BIN = Path(pyspark.__file__).parent / "bin"
LOOPBACK = "127.0.0.1"
DAYS = (date(2013, 3, 1), date(2013, 3, 2), date(2013, 3, 3))
START_SECONDS = WAIT_SECONDS
EXECUTORS = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": os.environ["SPARK_SUBMIT_OPTS"],
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.ui.enabled": "false",
    "spark.log.level": "INFO",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}

PROJECT = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT id, date_add(DATE '2026-01-01', CAST(id % 3 AS int)) AS day, id * 2 AS amount FROM range({rows})
  partitions: {{type: daily, start: "2026-01-01", end: "2026-01-04", column: day, ranges: true}}
  schema:
    columns:
      id: {{type: bigint}}
      day: {{type: date}}
      amount: {{type: bigint, checks: [{{less_than: 1000}}]}}
  checks:
    - {{unique: [id]}}
    - {{name: not_the_fourth, sql: id <> 4, quarantine: true}}
---
type: headrace.Dataset
attributes:
  key: shop/totals
  inputs: [sales]
  python: totals.py:totals
"""
TOTALS = """
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def totals(sales: DataFrame) -> DataFrame:
    return sales.groupBy("day").agg(F.count("id").alias("sales"), F.sum("amount").alias("amount"))
"""
MATERIALIZE = """
import sys
from pathlib import Path
from headrace.database.connection import connect
from tests.platform.projects import failure, load_project
for result in load_project(Path(sys.argv[1]), connect()).materialize():
    if not result.success:
        sys.exit(failure(result))
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


@contextmanager
def service(folder: Path, name: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A part of Spark, its log in the folder, ended with all that it started."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SPARK_BIN / command[0]), *command[1:]],
            cwd=folder,
            env=os.environ
            | {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_JAVA_OPTS": os.environ["SPARK_SUBMIT_OPTS"]},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.terminate()  # a worker ends its executors
            try:
                process.wait(timeout=WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until(ready: Callable[[], bool], *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), "a part of Spark ended while it started"
        try:
            if ready():
                return
        except (OSError, json.JSONDecodeError):  # at first Spark answers every address with its front page
            pass
        time.sleep(0.5)
    pytest.fail(f"Spark is not ready after {START_SECONDS} s")


def answers(port: int) -> bool:
    with socket.create_connection((LOOPBACK, port), timeout=1):
        return True


def page(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/json/", timeout=5) as answer:
        return dict(json.load(answer))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a standalone master with two workers of one core and 1 GB each."""
    folder = tmp_path_factory.mktemp("cluster")
    port, pages = free_port(), free_port()
    address = f"spark://{LOOPBACK}:{port}"
    with ExitStack() as stack:
        first = service(
            folder,
            "master",
            *("spark-class", "org.apache.spark.deploy.master.Master"),
            *("--host", LOOPBACK, "--port", str(port), "--webui-port", str(pages)),
        )
        processes = [stack.enter_context(first)]
        for name in ("worker-1", "worker-2"):
            worker = service(
                folder,
                name,
                *("spark-class", "org.apache.spark.deploy.worker.Worker"),
                *("--host", LOOPBACK, "--webui-port", str(free_port()), "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(folder / name), address),
            )
            processes.append(stack.enter_context(worker))
        wait_until(lambda: page(pages)["aliveworkers"] == 2, *processes)
        yield address


@pytest.fixture
def connect_server(tmp_path: Path) -> Iterator[str]:
    """The address of a Spark Connect server."""
    port = free_port()
    with service(
        tmp_path,
        "connect",
        *("spark-submit", "--master", "local[2]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", f"spark.connect.grpc.binding.address={LOOPBACK}"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2", "spark-internal"),
    ) as process:
        wait_until(lambda: answers(port), process)
        yield f"sc://{LOOPBACK}:{port}"


def headrace(*arguments: str, code: int = 0) -> Any:
    """Return a command's JSON output, run as a user runs it; the settings come from the environment."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("headrace")), *arguments, "--json"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def versions(engine: Engine, dataset: str) -> dict[str | None, Version]:
    """Return the published versions of a dataset, by partition."""
    return {row.version.partition: row.version for row in published(engine, [dataset])}


def landed(day: date) -> list[dict[str, str]]:
    """A day of the raw feed, read without Spark."""
    with (settings().home / "landing/flights" / flights_file(day)).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.timeout(1800)
def test_the_demo_on_a_standalone_cluster(
    master: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    conf = EXECUTORS | {"spark.eventLog.dir": events.as_uri()}
    monkeypatch.setenv("HEADRACE_SPARK__MASTER", master)
    monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(conf))
    land(settings().home / "landing/flights", days=DAYS)
    headrace("observe")
    first, last = DAYS[0].isoformat(), DAYS[-1].isoformat()

    # The dimensions have no partitions, so they and the days go together in one command and one application.
    runs = headrace(
        "materialize",
        *(f"flights/{name}" for name in ("airlines", "airports", "planes", "weather_hourly")),
        *(f"flights/{name}" for name in ("flights_clean", "flights_enriched", "daily_delays")),
        *("--partitions", f"{first}...{last}"),
    )["runs"]

    assert [run["ending"] for run in runs] == ["SUCCESS", "SUCCESS"]
    for day in DAYS:
        flights = landed(day)
        possible = [
            f for f in flights if f["air_time"] == "NA" or int(f["distance"]) <= int(f["air_time"]) * 10
        ]
        groups = {(flight["origin"], flight["carrier"]) for flight in possible}
        for name, rows in (
            ("flights_clean", possible),
            ("flights_enriched", possible),
            ("daily_delays", groups),
        ):
            assert versions(engine, f"flights/{name}")[day.isoformat()].row_count == len(rows)
    assert _tasks_by_executor(events).keys() == {"0", "1"}
    assert all(_captured(run["dagster_run_id"]).count(" INFO ") > 10 for run in runs)


def _tasks_by_executor(events: Path) -> dict[str, int]:
    """Return the number of tasks finished by each executor, from Spark's own record of its applications."""
    tasks: dict[str, int] = {}
    for log in events.rglob("events_*"):
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                executor = event["Task Info"]["Executor ID"]
                tasks[executor] = tasks.get(executor, 0) + 1
    return tasks


def _captured(run_id: str) -> str:
    """Return the stderr of a run as captured by Dagster."""
    logs = settings().home / "dagster/storage" / run_id / "compute_logs"
    return "".join(file.read_text() for file in logs.glob("*.err"))


def test_a_project_behind_spark_connect(
    connect_server: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SPARK__REMOTE", connect_server)
    tags = []
    for rows in (300, 330):
        project = write_project(tmp_path / "project", "shop", PROJECT.format(rows=rows), totals_py=TOTALS)
        done = subprocess.run(
            [sys.executable, "-c", MATERIALIZE, str(project)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        sales = versions(engine, "shop/sales")
        assert [sales[f"2026-01-0{day}"].row_count for day in (1, 2, 3)] == [
            rows // 3,
            rows // 3 - 1,
            rows // 3,
        ]
        aside = sales["2026-01-02"].location.replace("rows=accepted", "rows=quarantined")
        assert pq.read_table(aside.removeprefix("file:"))["id"].to_pylist() == [4]
        tags.append(sales["2026-01-02"].tag)

    totals = headrace("read", "shop/totals")["rows"]
    assert sorted((row["day"], row["sales"]) for row in totals) == [
        ("2026-01-01", 110),
        ("2026-01-02", 109),
        ("2026-01-03", 110),
    ]
    difference = headrace("diff", "shop/sales", *tags)
    assert difference["key"] == ["id"]
    assert [difference[kind] for kind in ("added", "removed", "changed")] == [30, 0, 0]
    assert sorted(row["id"] for row in difference["samples"]["added"])[0] == 300


def test_a_master_that_is_not_there(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"spark://{LOOPBACK}:{free_port()}"
    monkeypatch.setenv("HEADRACE_SPARK__MASTER", address)
    land(settings().home / "landing/flights", days=())
    headrace("observe", "flights/raw_airlines")

    (run,) = headrace("materialize", "flights/airlines", code=1)["runs"]

    assert run["ending"] == "FAILED"
    assert run["seconds"] < 30
    (reason,) = run["reasons"]
    assert f"No response from {address}" in reason
    assert "HEADRACE_SPARK__MASTER" in reason
    (reported,) = headrace("why", run["dagster_run_id"])["runs"]
    assert reported["state"] == "FAILED"
    assert f"No response from {address}" in reported["attempts"][-1]["reason"]
    assert versions(engine, "flights/airlines") == {}
