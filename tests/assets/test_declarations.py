"""The domain's declarations, checked against the whole year: columns, checks and owners."""

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.catalog.records import Check, DatasetRecord
from headrace.checks.predicates import KINDS, failing
from headrace.declarations.loading.project import load, records
from headrace.execution.plan import ProcessPlan, TransformContext
from headrace.severity import Severity

Table = Callable[[str], DataFrame]

DATASETS = (
    "airlines",
    "airports",
    "planes",
    "weather_hourly",
    "flights_clean",
    "flights_enriched",
    "daily_delays",
    "carrier_monthly",
    "airport_weather_impact",
    "aircraft_rotations",
    "route_monthly",
    "route_carriers",
    "cancellations",
    "aircraft_last_flown",
    "route_history",
)
EXTERNAL = ("raw_flights", "raw_weather", "raw_planes", "raw_airports", "raw_airlines")

# Rows of 2013 that fail a check; every other check passes. Quarantined rows are gone from `table`.
FAILING = {
    ("airports", "lies_in_the_united_states"): 3,
    ("flights_clean", "tailnum_is_american"): 4,
    ("flights_enriched", "destination_is_known"): 7_602,
    ("flights_enriched", "aircraft_is_an_airliner"): 2_421,
    ("aircraft_rotations", "arrived_before_it_left_again"): 126,
}
QUARANTINED = {("weather_hourly", "wind_is_possible"): 1, ("flights_clean", "speed_is_possible"): 4}


@cache
def declared() -> dict[str, DatasetRecord]:
    loaded = load(Path(__file__).parents[2])
    assert loaded.problems == ()
    datasets, _ = records(loaded.plans)
    return {
        record.key.removeprefix("flights/"): record
        for record in datasets
        if record.key.startswith("flights/")
    }


def failing_rows(frame: DataFrame, checks: list[Check]) -> dict[str, int]:
    """Failing rows of each check that looks at single rows, in one pass."""
    types = dict(frame.dtypes)
    counts = [F.count_if(failing(check, types)).alias(check.name) for check in checks]
    return frame.agg(*counts).first().asDict() if counts else {}


def test_the_domain_is_whole() -> None:
    assert set(declared()) == {*DATASETS, *EXTERNAL}


@pytest.mark.parametrize("name", [*DATASETS, *EXTERNAL])
def test_owner_description_and_every_column_explained(name: str) -> None:
    record = declared()[name]
    assert len(record.owners) == 2
    assert record.description
    assert record.tags["layer"]
    assert [column.name for column in record.columns if not column.description] == []
    assert record.sla is not None or name in EXTERNAL


@pytest.mark.parametrize("name", DATASETS)
def test_transform_returns_the_declared_columns(name: str, table: Table) -> None:
    assert dict(table(name).dtypes) == {column.name: column.type for column in declared()[name].columns}


@pytest.mark.parametrize("name", DATASETS)
def test_checks_find_what_is_wrong_in_2013_and_nothing_else(name: str, table: Table) -> None:
    record = declared()[name]
    by_row = [check for check in record.checks if check.kind in KINDS]
    expected = {(name, check.name): FAILING.get((name, check.name), 0) for check in by_row}
    found = failing_rows(table(name), by_row)
    assert {(name, check): count for check, count in found.items()} == expected
    warnings = {check.name for check in by_row if check.severity is Severity.WARNING}
    assert warnings == {check for dataset, check in FAILING if dataset == name}


@pytest.mark.parametrize("name", DATASETS)
def test_declared_keys_are_unique(name: str, table: Table) -> None:
    unique = [check for check in declared()[name].checks if check.kind == "unique"]
    assert unique
    for check in unique:
        assert table(name).groupBy(*check.parameters["columns"]).count().where("count > 1").count() == 0


def test_quarantined_rows(table: Table) -> None:
    clean = {check.name: check for check in declared()["flights_clean"].checks}["speed_is_possible"]
    raw = table("raw_flights").selectExpr("distance AS distance_miles", "air_time AS air_minutes")
    wind = {check.name: check for check in declared()["weather_hourly"].checks}["wind_is_possible"]
    hours = table("raw_weather").selectExpr("wind_speed AS wind_mph")
    assert clean.quarantine
    assert wind.quarantine
    assert {
        ("flights_clean", clean.name): failing_rows(raw, [clean])[clean.name],
        ("weather_hourly", wind.name): failing_rows(hours, [wind])[wind.name],
    } == QUARANTINED


def test_every_day_has_as_many_flights_as_the_check_asks_for(table: Table) -> None:
    check = next(check for check in declared()["flights_clean"].checks if check.kind == "row_count")
    days = table("flights_clean").groupBy("flight_date").count()
    assert days.count() == 365
    assert days.agg(F.min("count")).first()[0] >= check.parameters["min"] > 0


DAY, MONTH = "flight_date = '2013-02-03'", "month = '2013-02-01'"
IN_MONTH = "trunc(flight_date, 'MM') = '2013-02-01'"
# For each dataset with range runs: the partitioned input, its rows for a partition, the partition.
RANGES = {
    "flights_clean": ("raw_flights", "month = 2 AND day = 3", DAY),
    "flights_enriched": ("flights_clean", DAY, DAY),
    "daily_delays": ("flights_enriched", DAY, DAY),
    "carrier_monthly": ("daily_delays", IN_MONTH, MONTH),
    "airport_weather_impact": ("flights_enriched", IN_MONTH, MONTH),
    "aircraft_rotations": ("flights_enriched", IN_MONTH, MONTH),
    "route_monthly": ("flights_enriched", IN_MONTH, MONTH),
    "route_carriers": ("flights_enriched", IN_MONTH, MONTH),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_partition_comes_out_the_same_alone_as_within_the_year(
    name: str, table: Table, spark: SparkSession
) -> None:
    key = f"flights/{name}"
    plans = load(Path(__file__).parents[2]).plans
    plan = next(plan for plan in plans if isinstance(plan, ProcessPlan) and key in plan.record.outputs)
    assert plan.partitions is not None
    assert plan.partitions.ranges
    divided, rows, partition = RANGES[name]
    inputs = {item.alias: table(item.alias) for item in plan.inputs}
    inputs[divided] = inputs[divided].where(rows)
    context = TransformContext(spark, logging.getLogger(__name__), (), {})
    alone, within = plan.transform(context, inputs)[key], table(name).where(partition)
    assert within.count() > 0
    assert alone.exceptAll(within.select(alone.columns)).count() == 0
    assert within.select(alone.columns).exceptAll(alone).count() == 0


def test_registrations_are_never_shown() -> None:
    for record in declared().values():
        for column in record.columns:
            assert ("sensitive" in column.tags) == (column.name == "tailnum")
    assert "pii" in {c.name: c.tags for c in declared()["planes"].columns}["manufacturer"]
