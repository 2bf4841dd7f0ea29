"""A project on a cluster of Hadoop: Spark's executors on YARN, the warehouse on HDFS."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.database.connection import connect
from headrace.queries.versions import version
from tests.platform import children
from tests.platform.hadoop.servers import running
from tests.platform.projects import failure, load_project, write_project

pytestmark = pytest.mark.slow

ORDERS = """
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT id, id % 7 AS customer, CAST(id % 2 AS STRING) AS half FROM range(1000)
  partitions: {type: static, keys: ["0", "1"], column: half, ranges: true}
  checks: [{unique: [id]}]
---
type: headrace.Dataset
attributes:
  key: shop/customers
  python: customers.py:customers
  inputs: [shop/orders]
  checks: [{row_count: {min: 7, max: 7}}]
"""
CUSTOMERS = '''
def customers(orders):
    """Count the orders of customers by Python on the executors."""

    def counted(frame):
        return frame.groupby("customer", as_index=False).size()

    return orders.repartition(1).groupBy("customer").applyInPandas(counted, "customer bigint, size bigint")
'''


def materialized(root: str) -> int:
    results = load_project(Path(root), connect()).materialize(partitions=("0", "1"))
    for result in results:
        assert result.success, failure(result)
    print(SparkSession.active().sparkContext.applicationId)  # such as application_1796085979621_0001
    return 0


def test_a_project_runs_on_yarn_with_its_warehouse_on_hdfs(
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.yarn.am.memory": "512m",
        "spark.yarn.jars": f"local:{jars}/*",
        "spark.yarn.stagingDir": (tmp_path / "staging").as_uri(),
    }
    with (
        running("Hdfs", tmp_path_factory.mktemp("hdfs")) as hdfs,
        running("Yarn", configuration := tmp_path_factory.mktemp("yarn")),
    ):
        monkeypatch.setenv("HADOOP_CONF_DIR", str(configuration))
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        monkeypatch.setenv("HEADRACE_WAREHOUSE", f"{hdfs}/warehouse")
        monkeypatch.setenv("HEADRACE_SPARK__MASTER", "yarn")
        monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(conf))
        root = write_project(tmp_path, "shop", ORDERS, customers_py=CUSTOMERS)
        run = children.start(output := tmp_path / "output", materialized, str(root))
        assert children.exit_code(run) == 0, output.read_text()
        log = output.read_text()
    assert "\napplication_" in log
    found = version(engine, "shop/customers").version
    assert (found.row_count, found.location.startswith(f"{hdfs}/warehouse/")) == (7, True)
