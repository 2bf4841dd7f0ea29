"""The partition of a completion."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.orchestration.business_dates import NoPartition, partition_of

NEW_YORK = "America/New_York"
MOMENT = datetime(2026, 11, 28, 4, 15, tzinfo=UTC)
DAYS = dg.DailyPartitionsDefinition(start_date="2013-01-01", timezone=NEW_YORK)
YEAR = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2014-01-01")
HOURS = dg.HourlyPartitionsDefinition(start_date="2026-01-01-00:00", timezone=NEW_YORK)
WEEKS = dg.WeeklyPartitionsDefinition(start_date="2013-01-01", timezone="Europe/London")
MONTHS = dg.MonthlyPartitionsDefinition(start_date="2013-01-01")
SITES = dg.StaticPartitionsDefinition(["east", "west"])


@pytest.mark.parametrize(
    ("definition", "stated", "key"),
    [
        (None, "2013-01-01", None),
        (DAYS, "2013-01-31", "2013-01-31"),
        (DAYS, "20130131", "2013-01-31"),
        (HOURS, "20260308033000", "2026-03-08-03:00"),
        (DAYS, "2013-02-01T03:00:00Z", "2013-01-31"),  # still the day before in New York
        (WEEKS, "2013-01-09", "2013-01-06"),
        (MONTHS, "2013-02-28", "2013-02-01"),
        (MONTHS, "2013-02-01", "2013-02-01"),
        (SITES, "west", "west"),
        (HOURS, "2026-03-08T03:30", "2026-03-08-03:00"),
        # An hour that comes twice, and one that its clocks leave out.
        (HOURS, "2026-11-01T05:30Z", "2026-11-01-01:00"),
        (HOURS, "2026-11-01T06:30Z", "2026-11-01-01:00-0500"),
        (HOURS, "2026-03-08T07:30Z", "2026-03-08-03:00"),
    ],
)
def test_what_is_stated(
    definition: dg.PartitionsDefinition[str] | None, stated: str, key: str | None
) -> None:
    assert partition_of(definition, stated, MOMENT) == key


@pytest.mark.parametrize(
    ("definition", "key"),
    [
        (DAYS, "2026-11-26"),  # at 23:15 of the 27th in New York
        (HOURS, "2026-11-27-22:00"),
        (MONTHS, "2026-10-01"),
        (dg.DailyPartitionsDefinition(start_date="2013-01-01", end_offset=1), "2026-11-28"),
    ],
)
def test_without_a_date_it_is_the_last_whole_partition(
    definition: dg.PartitionsDefinition[str], key: str
) -> None:
    assert partition_of(definition, None, MOMENT) == key


BUSINESS_DAYS = dg.DailyPartitionsDefinition(
    start_date="2013-01-01", exclusions=["0 0 * * 6,0", datetime(2026, 11, 26, tzinfo=UTC)]
)


@pytest.mark.parametrize(
    ("day", "key"),
    [(27, "2026-11-25"), (28, "2026-11-27"), (29, "2026-11-27"), (30, "2026-11-27")],
)
def test_without_a_date_on_a_day_that_is_left_out_it_is_the_last_before(day: int, key: str) -> None:
    assert partition_of(BUSINESS_DAYS, None, datetime(2026, 11, day, 4, 15, tzinfo=UTC)) == key


@pytest.mark.parametrize(
    ("definition", "stated", "why"),
    [
        (YEAR, "2014-01-01", "2014-01-01 is in none of its partitions, which are 2013-01-01 to 2013-12-31"),
        (YEAR, None, "2026-11-28 04:15 UTC is in none of its partitions"),
        (MONTHS, "2099-01-01", "`end_offset: 1`"),
        (DAYS, "yesterday", "'yesterday' is neither one of its partitions nor a date or time"),
        (DAYS, "2013013101150", "'2013013101150' is neither one of its partitions nor a date or time"),
        (HOURS, "2026-11-01", "is a day, and its partitions are hours"),
        (SITES, "north", "'north' is not one of its partitions"),
        (SITES, None, "states no partition"),
    ],
)
def test_dates_outside_the_partitions_are_reported(
    definition: dg.PartitionsDefinition[str], stated: str | None, why: str
) -> None:
    with pytest.raises(NoPartition) as raised:
        partition_of(definition, stated, MOMENT)
    assert why in str(raised.value)


@given(
    day=st.dates(min_value=date(2015, 1, 1), max_value=date(2025, 12, 31)),
    zone=st.sampled_from([NEW_YORK, "Europe/London", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia"]),
)
def test_each_day_of_any_zone_is_its_own_partition(day: date, zone: str) -> None:
    days = dg.DailyPartitionsDefinition(start_date="2013-01-01", timezone=zone)
    assert partition_of(days, f"{day:%Y%m%d}", MOMENT) == day.isoformat()
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    later = (midnight + timedelta(hours=2)).isoformat()
    assert partition_of(days, later, MOMENT) == day.isoformat()
