"""Checks hold for unusual data: odd years, calendars, names, and lossy options."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.records import Check, CheckStatus, Column
from headrace.spark.errors import InvalidCheck, SchemaMismatch
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat


def _written(store: Any, frame: Any, *checks: Any, output: Any = None, columns: Any = ()) -> Any:
    [written] = store.write(
        frame, dataset="shop/odd", tag=new_tag(), checks=checks, output=output, columns=columns
    )
    return written, {result.name: result for result in written.check_results}


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json"])
def test_a_year_after_9999_is_found_and_shown(spark: SparkSession, store: Any, format: Any) -> None:
    frame = spark.sql("SELECT date'2013-01-01' AS day UNION ALL SELECT CAST('+12013-01-01' AS DATE)")
    check = Check("past", "less_than", "day", {"max_value": "2100-01-01"})
    written, results = _written(store, frame, check, output=OutputFormat(format))
    assert (results["past"].status, results["past"].failed_rows) == (CheckStatus.FAIL, 1)
    assert results["past"].detail["examples"] == ["+12013-01-01"]
    assert "max" not in written.statistics["day"]


def test_days_of_the_julian_calendar_are_judged_as_spark_reads_them(spark: SparkSession, store: Any) -> None:
    setting = "spark.sql.parquet.datetimeRebaseModeInWrite"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "LEGACY")
    try:
        check = Check("late", "greater_than_or_equal_to", "day", {"min_value": "1500-01-05"})
        written, results = _written(store, spark.sql("SELECT date'1500-01-01' AS day"), check)
    finally:
        spark.conf.set(setting, before)  # type: ignore[arg-type]
    assert (results["late"].status, results["late"].failed_rows) == (CheckStatus.FAIL, 1)
    assert written.statistics["day"] == {"null_count": 0}


def test_a_column_is_not_taken_for_a_field_of_another(spark: SparkSession, store: Any) -> None:
    frame = spark.sql(
        "SELECT 500 AS `a.b`, 'bad' AS `c.d`, named_struct('b', 1) AS a, named_struct('d', 'ok') AS c"
    )
    few = Check("few", "less_than", "a.b", {"max_value": 10})
    known = Check("known", "isin", "c.d", {"allowed_values": ["ok"]})
    written, results = _written(store, frame, few, known)
    assert {name: result.status for name, result in results.items()} == {
        "few": CheckStatus.FAIL,
        "known": CheckStatus.FAIL,
    }
    assert written.statistics["a.b"] == {}


def test_what_is_checked_is_what_will_be_read(spark: SparkSession, store: Any) -> None:
    """A word for null in a CSV file makes a null of that word."""
    output = OutputFormat("csv", {"nullValue": "NA"})
    written, results = _written(
        store, spark.sql("SELECT 'NA' AS code, 1 AS n"), Check("code", "not_null", "code"), output=output
    )
    assert (results["code"].status, results["code"].failed_rows) == (CheckStatus.FAIL, 1)
    assert written.statistics["code"]["null_count"] == 1


def test_the_audit_column_cannot_collide(spark: SparkSession, store: Any) -> None:
    with pytest.raises(SchemaMismatch, match="'__partition' is reserved"):
        _written(store, spark.sql("SELECT 1 AS __partition"))


@pytest.mark.parametrize(
    ("type", "check", "reported"),
    [
        ("string", Check("c", "isin", "x", {"allowed_values": [False, "DE"]}), "must be text"),
        ("string", Check("c", "equal_to", "x", {"value": 1}), "must be text"),
        ("date", Check("c", "less_than", "x", {"max_value": "2013-02-30"}), "must be a date"),
        ("timestamp", Check("c", "less_than", "x", {"max_value": "2014 or so"}), "must be a date"),
        ("int", Check("c", "greater_than", "x", {"min_value": True}), "must be a number"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_before_anything_is_written(
    spark: SparkSession, store: Any, type: Any, check: Any, reported: Any
) -> None:
    with pytest.raises(InvalidCheck, match=reported):
        _written(store, spark.sql(f"SELECT CAST(NULL AS {type}) AS x"), check, columns=[Column("x", type)])
