"""Statements analysed but not executed, and tables to analyse them against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def analysed(spark: SparkSession) -> Callable[[str], Any]:
    """Makes the analysed plan of a statement, which is not run."""
    state = spark._jsparkSession.sessionState()

    def plan(sql: str) -> Any:
        found = state.analyzer().execute(state.sqlParser().parsePlan(sql))
        state.analyzer().checkAnalysis(found)
        return found

    return plan


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[Callable[..., None]]:
    """Makes tables of columns such as `a int`, and databases where their names have one; all go at the end."""
    made: list[str] = []

    def make(columns: Mapping[str, Sequence[str]], partitioned: str | None = None) -> None:
        for name, each in columns.items():
            database, _, _ = name.rpartition(".")
            if database:
                spark.sql(f"CREATE DATABASE IF NOT EXISTS `{database}`")
            quoted = ".".join(f"`{part}`" for part in name.split("."))
            spark.sql(f"DROP TABLE IF EXISTS {quoted}")
            by = f" PARTITIONED BY ({partitioned})" if partitioned else ""
            spark.sql(f"CREATE TABLE {quoted} ({', '.join(each)}) USING parquet{by}")
            made.append(quoted)

    yield make
    for name in made:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
