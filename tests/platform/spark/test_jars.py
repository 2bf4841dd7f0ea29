"""Jars of table formats for another Spark."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from headrace.spark.errors import SparkUnavailable
from headrace.spark.jars import require_matching_jars

HERE = ".".join(pyspark.__version__.split(".")[:2])


@pytest.mark.parametrize(
    ("jars", "made_for"),
    [
        ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.12.0", "3.5"),
        ("io.delta:delta-spark_3.5_2.13:4.4.0", "3.5"),
        ("/opt/jars/other.jar,/opt/jars/delta-spark_2.13-4.0.0.jar", "4.0"),
    ],
)
def test_a_jar_for_another_spark_is_refused(jars: str, made_for: str) -> None:
    with pytest.raises(SparkUnavailable, match=rf"spark\.jars\.packages has .* made for Spark {made_for}"):
        require_matching_jars({"spark.jars.packages": jars})


def test_a_jar_in_sparks_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    require_matching_jars({})
    (tmp_path / "jars" / "iceberg-spark-runtime-3.5_2.13-1.12.0.jar").touch()
    with pytest.raises(SparkUnavailable, match=str(tmp_path)):
        require_matching_jars({})


def test_other_jars_and_those_for_this_spark_are_accepted() -> None:
    for jars in (
        f"delta-spark_{HERE}_2.13-9.0.0.jar",
        "org.postgresql:postgresql:42.7.8",
        "delta-storage-4.4.0.jar",
    ):
        require_matching_jars({"spark.jars": jars})
