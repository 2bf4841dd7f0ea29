"""The files store on HDFS, with a namenode and a datanode of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.files.hadoop import HadoopFiles
from headrace.files.opening import files_for
from headrace.settings import settings
from tests.platform.hadoop.servers import running
from tests.platform.projects import load_project, write_project
from tests.platform.stores.conformance.conftest import ask

ORDERS = "shop/orders"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of the namenode."""
    with running("Hdfs", tmp_path_factory.mktemp("hdfs")) as uri:
        yield uri


def test_versions_are_published_rolled_back_and_deleted(
    engine: Engine, spark: SparkSession, hdfs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = f"{hdfs}/warehouse"
    monkeypatch.setenv("HEADRACE_WAREHOUSE", warehouse)
    settings.cache_clear()
    files = files_for(warehouse, spark)
    assert isinstance(files, HadoopFiles)

    def publish(count: int) -> None:
        attributes = {
            "key": ORDERS,
            "sql": f"SELECT id, CAST(id % 2 AS STRING) AS half FROM range({count})",  # noqa: S608
            "partitions": {"type": "static", "keys": ["0", "1"], "column": "half", "ranges": True},
        }
        declaration = json.dumps({"type": "headrace.Dataset", "attributes": attributes})
        project = load_project(write_project(tmp_path, "shop", declaration), engine)
        [result] = project.materialize(ORDERS, partitions=("0", "1"))
        assert result.success

    def published() -> list[int]:
        found = sorted(row["id"] for row in ask("read", ORDERS)["rows"])
        manifests = [files.read_text(f"{warehouse}/{ORDERS}/_published/{half}.json") for half in ("0", "1")]
        assert sum(json.loads(each.text)["row_count"] for each in manifests if each) == len(found)
        return found

    publish(3)
    assert published() == [0, 1, 2]
    publish(5)
    assert published() == [0, 1, 2, 3, 4]
    ask("rollback", ORDERS, "--partition", "0", "--reason", "wrong")
    assert published() == [0, 1, 2, 3]
    folder = f"{warehouse}/{ORDERS}"
    [first, second] = [name for name in files.folders(folder) if name.startswith("20")]
    assert not [
        each.name for each in files.entries(f"{folder}/{second}") if each.name.startswith("_temporary")
    ]
    assert sum(files.sizes(f"{folder}/{first}")) > 0
    files.delete(f"{folder}/{first}")
    assert not files.exists(f"{folder}/{first}")
