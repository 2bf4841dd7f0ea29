"""Partition keys: Dagster's and Spark's agree, parameters bound them, and an input's keys follow from a run's."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from catalog.records import ProcessRecord, Technology
from components.declaration import Multi, Offset, Static, Time, Window
from components.partitions import (
    NoUpstreamPartition,
    definition,
    partition_column,
    partition_mapping,
    partition_plan,
    sql_parameters,
    upstream_keys,
)
from components.plan import InputPlan, ProcessPlan
from components.transform import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAILY = Time(type="daily", start="2013-01-01", column="day")
HOURLY = Time(type="hourly", start="2013-01-01-00:00", column="at")
WEEKLY = Time(type="weekly", start="2013-01-06", column="day")
MONTHLY = Time(type="monthly", start="2013-01-01", column="day")
COUNTRY = Static(type="static", keys=["de", "us"], column="country")
BOTH = Multi(type="multi", dimensions={"when": DAILY, "country": COUNTRY})


def reader(partitions: Time | Static | Multi | None) -> ProcessPlan:
    return ProcessPlan(
        record=ProcessRecord("shop/reader", Technology.SPARK),
        inputs=(),
        outputs=(),
        transform=Pipeline((), {}),
        partitions=partition_plan(partitions) if partitions else None,
    )


def keys_read(
    output: Time | Static | Multi | None,
    upstream: Time | Static | Multi | None,
    which: object,
    *keys: str | None,
) -> dict[str | None, tuple[str | None, ...]]:
    spec = dg.AssetSpec(["shop", "source"], partitions_def=definition(upstream) if upstream else None)
    graph = dg.Definitions(assets=[spec]).resolve_asset_graph()
    item = InputPlan("shop/source", "source", mapping=partition_mapping(which))  # type: ignore[arg-type]
    with dg.DagsterInstance.ephemeral() as instance:
        return upstream_keys(graph, instance, reader(output), item, keys)


def test_an_input_without_partitions_is_read_whole() -> None:
    assert keys_read(DAILY, None, "same", "2013-01-05") == {"2013-01-05": (None,)}
    assert keys_read(None, None, "same", None) == {None: (None,)}


def test_the_same_partition_is_read_by_default() -> None:
    assert keys_read(DAILY, DAILY, "same", "2013-01-05") == {"2013-01-05": ("2013-01-05",)}
    assert keys_read(COUNTRY, COUNTRY, "same", "de") == {"de": ("de",)}


def test_a_longer_partition_reads_all_that_it_covers_and_a_shorter_one_what_it_lies_in() -> None:
    month = keys_read(MONTHLY, DAILY, "same", "2013-02-01")["2013-02-01"]
    assert (len(month), month[0], month[-1]) == (28, "2013-02-01", "2013-02-28")
    assert keys_read(DAILY, MONTHLY, "same", "2013-02-14") == {"2013-02-14": ("2013-02-01",)}


def test_other_partitions_can_be_chosen() -> None:
    assert keys_read(DAILY, DAILY, "previous", "2013-01-05") == {"2013-01-05": ("2013-01-04",)}
    assert keys_read(DAILY, DAILY, Offset(offset=-2), "2013-01-05") == {"2013-01-05": ("2013-01-03",)}
    assert keys_read(DAILY, DAILY, Window(window=3), "2013-01-05") == {
        "2013-01-05": ("2013-01-03", "2013-01-04", "2013-01-05")
    }
    assert keys_read(DAILY, COUNTRY, "last", "2013-01-05") == {"2013-01-05": ("us",)}


def test_all_means_every_partition_that_is_published() -> None:
    assert keys_read(DAILY, COUNTRY, "all", "2013-01-05") == {"2013-01-05": ()}
    assert keys_read(None, DAILY, "same", None) == {None: ()}


def test_a_window_takes_what_there_is_and_the_previous_of_the_first_is_an_error() -> None:
    assert keys_read(DAILY, DAILY, Window(window=3), "2013-01-01") == {"2013-01-01": ("2013-01-01",)}
    with pytest.raises(NoUpstreamPartition, match=r"shop/reader, partition 2013-01-01, reads a partition of"):
        keys_read(DAILY, DAILY, "previous", "2013-01-01")


def test_a_year_of_keys_is_mapped_in_well_under_a_second() -> None:
    days = [(date(2013, 1, 2) + timedelta(days=index)).isoformat() for index in range(365)]
    started = time.process_time()
    same = keys_read(DAILY, DAILY, "same", *days)
    previous = keys_read(DAILY, DAILY, "previous", *days)
    assert time.process_time() - started < 1
    assert same[days[-1]] == (days[-1],)
    assert previous[days[-1]] == (days[-2],)


def test_parameters_are_dates_and_the_end_is_excluded() -> None:
    plan = partition_plan(DAILY)
    assert sql_parameters(plan, ["2013-01-05"]) == {
        "partition_keys": ["2013-01-05"],
        "partition_key": "2013-01-05",
        "partition_start": date(2013, 1, 5),
        "partition_end": date(2013, 1, 6),
    }
    assert sql_parameters(None, [None]) == {}


def test_the_parameters_of_a_range_span_it_and_have_no_single_key() -> None:
    found = sql_parameters(partition_plan(MONTHLY), ["2013-03-01", "2013-02-01"])
    assert (found["partition_start"], found["partition_end"]) == (date(2013, 2, 1), date(2013, 4, 1))
    assert "partition_key" not in found


def test_hours_are_instants_and_two_dimensions_take_the_time_of_one() -> None:
    zoned = Time(type="hourly", start="2013-01-01-00:00", timezone="America/New_York")
    found = sql_parameters(partition_plan(zoned), ["2013-01-05-07:00"])
    assert found["partition_start"].astimezone(UTC) == datetime(2013, 1, 5, 12, tzinfo=UTC)
    both = sql_parameters(partition_plan(BOTH), ["de|2013-01-05"])
    assert (both["partition_key"], both["partition_end"]) == ("de|2013-01-05", date(2013, 1, 6))


def test_ranges_need_a_column_and_no_single_key() -> None:
    assert partition_plan(DAILY).ranges
    assert not partition_plan(Time(type="daily", start="2013-01-01")).ranges
    assert not partition_plan(DAILY, single_key_only=True).ranges
    assert partition_plan(BOTH).ranges


moments = st.datetimes(datetime(2013, 1, 7), datetime(2014, 12, 31))  # noqa: DTZ001


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("length", ["hourly", "daily", "weekly", "monthly"])
@hypothesis_settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_spark_gives_each_instant_the_key_of_dagsters_window(
    spark: SparkSession, length: str, zone: str, data: st.DataObject
) -> None:
    start = {"hourly": "2013-01-01-00:00", "weekly": "2013-01-06"}.get(length, "2013-01-01")
    partitions = Time(type=length, start=start, timezone=zone, column="at")  # type: ignore[arg-type]
    known = definition(partitions)
    column = partition_column(partitions)
    assert column is not None
    assert isinstance(known, dg.TimeWindowPartitionsDefinition)
    # Clocks that are turned back show an hour twice; that hour belongs to both windows.
    instants = [
        moment.replace(tzinfo=ZoneInfo(zone))
        for moment in data.draw(st.lists(moments, min_size=5, max_size=5))
        if moment.month not in (3, 11)
    ]
    frame = spark.createDataFrame([(instant,) for instant in instants], "at timestamp")
    for instant, row in zip(instants, frame.select(column().alias("key")).collect(), strict=True):
        window = known.time_window_for_partition_key(row["key"])
        assert window.start <= instant < window.end


def test_dates_texts_and_two_dimensions_have_keys_too(spark: SparkSession) -> None:
    frame = spark.sql("SELECT DATE'2013-02-14' AS day, 'de' AS country, '2013-02-14' AS text")
    for partitions, key in (
        (DAILY, "2013-02-14"),
        (WEEKLY, "2013-02-10"),
        (MONTHLY, "2013-02-01"),
        (COUNTRY, "de"),
    ):
        column = partition_column(partitions)
        assert column is not None
        assert frame.select(column()).first()[0] == key
    text = partition_column(Time(type="daily", start="2013-01-01", column="text"))
    both = partition_column(BOTH)
    assert text is not None
    assert both is not None
    assert frame.select(text()).first()[0] == "2013-02-14"
    key = frame.select(both()).first()[0]
    assert key == "de|2013-02-14"
    assert definition(BOTH).has_partition_key(key)
