"""Partition keys: Dagster's and Spark's agree, parameters limit them, and an input's keys follow from a run's."""

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

from headrace.catalog.records import ProcessRecord, Technology
from headrace.declarations.declaration import Multi, Offset, Static, Time, Window
from headrace.declarations.partitions import definition, joint_mapping, partition_mapping, partition_plan
from headrace.declarations.row_key import partition_column
from headrace.execution.partitions import NoUpstreamPartition, RangeRefused, sql_parameters, upstream_keys
from headrace.execution.plan import InputPlan, ProcessPlan
from headrace.execution.problems import UnknownParameter
from headrace.execution.transform import Pipeline

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
    item = InputPlan("shop/source", "source", mapping=partition_mapping(which))
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
    assert keys_read(COUNTRY, COUNTRY, "last", "de") == {"de": ("us",)}


def test_all_means_every_partition_that_is_published() -> None:
    assert keys_read(DAILY, COUNTRY, "all", "2013-01-05") == {"2013-01-05": ()}
    assert keys_read(None, DAILY, "same", None) == {None: ()}


def test_a_window_takes_what_there_is_and_the_previous_of_the_first_is_an_error() -> None:
    assert keys_read(DAILY, DAILY, Window(window=3), "2013-01-01") == {"2013-01-01": ("2013-01-01",)}
    with pytest.raises(NoUpstreamPartition, match=r"shop/reader, partition 2013-01-01, reads a partition of"):
        keys_read(DAILY, DAILY, "previous", "2013-01-01")
    short = DAILY.model_copy(update={"end": "2013-01-03"})
    with pytest.raises(NoUpstreamPartition, match="its partitions are 2013-01-01 to 2013-01-02") as refused:
        keys_read(DAILY, short, "same", "2013-01-05")
    assert "to the partitions of its input" in str(refused.value)


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
    ranges = partition_plan(MONTHLY.model_copy(update={"ranges": True}))
    found = sql_parameters(ranges, ["2013-03-01", "2013-02-01"])
    assert (found["partition_start"], found["partition_end"]) == (date(2013, 2, 1), date(2013, 4, 1))
    for keys in (["2013-03-01", "2013-02-01"], ["2013-03-01"]):
        with pytest.raises(UnknownParameter, match=r"'partition_key', as `ranges: true` .*partition_start"):
            sql_parameters(ranges, keys)["partition_key"]


def test_a_range_run_without_ranges_is_refused() -> None:
    with pytest.raises(RangeRefused, match=r"2 partitions.*`ranges: true`"):
        sql_parameters(partition_plan(MONTHLY), ["2013-03-01", "2013-02-01"])


def test_hours_are_instants_and_two_dimensions_take_the_time_of_one() -> None:
    zoned = Time(type="hourly", start="2013-01-01-00:00", timezone="America/New_York")
    found = sql_parameters(partition_plan(zoned), ["2013-01-05-07:00"])
    assert found["partition_start"].astimezone(UTC) == datetime(2013, 1, 5, 12, tzinfo=UTC)
    both = sql_parameters(partition_plan(BOTH), ["de|2013-01-05"])
    assert (both["partition_key"], both["partition_end"]) == ("de|2013-01-05", date(2013, 1, 6))


def test_ranges_are_the_authors_word() -> None:
    for partitions in (DAILY, COUNTRY, BOTH):
        assert not partition_plan(partitions).ranges
        assert partition_plan(partitions.model_copy(update={"ranges": True})).ranges


def offsets(*mappings: object) -> tuple[int, int, bool]:
    joint = joint_mapping([partition_mapping(which) for which in mappings])
    assert isinstance(joint, dg.TimeWindowPartitionMapping)
    return joint.start_offset, joint.end_offset, joint.allow_nonexistent_upstream_partitions


def test_what_is_read_in_several_ways_is_one_stretch_of_time_or_all() -> None:
    assert offsets("same", "previous") == (-1, 0, False)
    assert offsets("previous", "same") == (-1, 0, False)
    assert offsets(Offset(offset=2), Window(window=7)) == (-6, 2, True)
    for others in (["all"], ["last"], ["last", "previous"]):
        joint = joint_mapping([partition_mapping(which) for which in ("same", *others)])
        assert isinstance(joint, dg.AllPartitionMapping)
    assert isinstance(
        joint_mapping([dg.LastPartitionMapping(), dg.AllPartitionMapping()]), dg.AllPartitionMapping
    )
    assert joint_mapping([None, None]) is None
    assert isinstance(joint_mapping([dg.LastPartitionMapping()] * 2), dg.LastPartitionMapping)


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
    instants = [
        moment.replace(tzinfo=ZoneInfo(zone))
        for moment in data.draw(st.lists(moments, min_size=5, max_size=5))
    ]
    frame = spark.createDataFrame([(instant,) for instant in instants], "at timestamp")
    for instant, row in zip(instants, frame.selectExpr(f"{column(frame)} AS key").collect(), strict=True):
        window = known.time_window_for_partition_key(row["key"])
        # As numbers: times of one zone compare by the clock, which shows an hour twice.
        assert window.start.timestamp() <= instant.timestamp() < window.end.timestamp()


# Zones whose clocks change by an hour, at midnight, or never, ahead of UTC and behind, by whole hours and not.
CHANGES = {
    "America/New_York": ["2013-03-10", "2013-11-03"],
    "Europe/Berlin": ["2013-03-31", "2013-10-27"],
    "America/Sao_Paulo": ["2013-10-20", "2013-02-16", "2013-02-17"],
    "America/St_Johns": ["2013-03-10", "2013-11-03"],
    "Australia/Sydney": ["2013-04-07", "2013-10-06"],
    "Asia/Kolkata": ["2013-03-10"],
    "UTC": ["2013-03-10"],
}


@pytest.mark.parametrize("session_zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("zone", CHANGES)
def test_hours_have_dagsters_keys_all_through_the_days_when_clocks_change(
    spark: SparkSession, zone: str, session_zone: str
) -> None:
    partitions = Time(
        type="hourly", start="2013-01-01-00:00", end="2014-01-01-00:00", timezone=zone, column="at"
    )
    known, column = definition(partitions), partition_column(partitions)
    assert isinstance(known, dg.TimeWindowPartitionsDefinition)
    assert column is not None
    keys = [key for key in known.get_partition_keys() if key[:10] in CHANGES[zone]]
    starts = [known.time_window_for_partition_key(key).start.astimezone(UTC) for key in keys]
    instants = [start + timedelta(minutes=minutes) for start in starts for minutes in (0, 59)]
    spark.conf.set("spark.sql.session.timeZone", session_zone)
    try:
        frame = spark.createDataFrame([(instant,) for instant in instants], "at timestamp")
        found = [row[0] for row in frame.selectExpr(column(frame)).collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found == [key for key in keys for _ in (0, 59)]


def test_the_second_of_two_equal_hours_is_named_by_its_distance_from_utc(spark: SparkSession) -> None:
    partitions = Time(type="hourly", start="2013-01-01-00:00", timezone="America/New_York", column="at")
    column = partition_column(partitions)
    assert column is not None
    frame = spark.sql(
        "SELECT explode(array(TIMESTAMP'2013-11-03T05:30:00Z', TIMESTAMP'2013-11-03T06:30:00Z')) AS at"
    )
    found = [row[0] for row in frame.selectExpr(column(frame)).collect()]
    assert found == ["2013-11-03-01:00", "2013-11-03-01:00-0500"]
    local = spark.sql("SELECT TIMESTAMP_NTZ'2013-11-03 01:30:00' AS at")
    assert local.selectExpr(column(local)).first()[0] == "2013-11-03-01:00"


def test_a_row_without_a_time_has_no_key(spark: SparkSession) -> None:
    column = partition_column(HOURLY)
    assert column is not None
    for type_ in ("timestamp", "timestamp_ntz"):
        frame = spark.sql(f"SELECT CAST(null AS {type_}) AS at")
        assert frame.selectExpr(column(frame)).first()[0] is None


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
        assert frame.selectExpr(column(frame)).first()[0] == key
    text = partition_column(Time(type="daily", start="2013-01-01", column="text"))
    odd = partition_column(Time(type="daily", start="2013-01-01", column="the day's.`end`"))
    both = partition_column(BOTH)
    assert text is not None
    assert both is not None
    assert odd is not None
    renamed = frame.withColumnRenamed("day", "the day's.`end`")
    assert renamed.selectExpr(odd(renamed)).first()[0] == "2013-02-14"
    assert frame.selectExpr(text(frame)).first()[0] == "2013-02-14"
    key = frame.selectExpr(both(frame)).first()[0]
    assert key == "de|2013-02-14"
    assert definition(BOTH).has_partition_key(key)
