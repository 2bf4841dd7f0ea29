"""Jars of Spark's sessions: those of databases' drivers are added, and table formats' for another Spark refused.

Delta's jar for 4.2 writes a table with 4.3 and then cannot read it; Iceberg's for 4.1 fails at every statement.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.settings import ConnectionSettings
from headrace.spark.errors import SparkUnavailable

_SETTINGS = (
    "spark.jars",
    "spark.jars.packages",
    "spark.driver.extraClassPath",
    "spark.executor.extraClassPath",
)
# Before Spark 4.1, Delta's names had no Spark version.
_RUNTIME = re.compile(
    r"(?:iceberg-spark-runtime-(?P<iceberg>\d+\.\d+)|delta-spark(?:_(?P<delta>\d+\.\d+))?)_2\.\d+"
)
_DELTA_WITHOUT_SPARK = "4.0"


def with_driver_jars(
    conf: Mapping[str, str], connections: Mapping[str, ConnectionSettings]
) -> Mapping[str, str]:
    """Return the settings with the drivers of the connections, which Spark also sends to its executors.

    Raises SparkUnavailable for a jar that does not exist.
    """
    jars = dict.fromkeys(filter(None, conf.get("spark.jars", "").split(",")))
    for name, connection in connections.items():
        for jar in connection.jars:
            if not jar.is_file():
                raise SparkUnavailable(
                    f"The driver {jar} of the connection {name} does not exist. Correct `jars` of "
                    f"[connections.{name}] in headrace.toml."
                )
            jars[jar.resolve().as_uri()] = None
    return {**conf, "spark.jars": ",".join(jars)} if jars else conf


def require_matching_jars(conf: Mapping[str, str]) -> None:
    """Raise SparkUnavailable for an Iceberg or Delta jar, in the settings or in Spark's own folder, that is made for
    another minor version of Spark."""
    import pyspark

    here = ".".join(pyspark.__version__.split(".")[:2])
    for place, text in _places(conf, Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)):
        for jar in _RUNTIME.finditer(text):
            made_for = jar["iceberg"] or jar["delta"] or _DELTA_WITHOUT_SPARK
            if made_for != here:
                raise SparkUnavailable(
                    f"{place} has {jar[0]}, made for Spark {made_for}. With this Spark, {pyspark.__version__}, it may "
                    "write tables that it cannot read. Remove it: the stores `iceberg` and `delta` need no jar."
                )


def _places(conf: Mapping[str, str], home: Path) -> Iterator[tuple[str, str]]:
    yield from ((key, conf[key]) for key in _SETTINGS if key in conf)
    folder = home / "jars"
    yield str(folder), " ".join(file.name for file in folder.iterdir()) if folder.is_dir() else ""
