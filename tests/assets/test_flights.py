"""The domain's figures, compared with computations on the package's own files without Headrace's code."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Table = Callable[[str], DataFrame]

# Mean departure delays in minutes as R's nycflights13 gives them, rounded to one digit.
DEPARTURE_DELAYS = {
    "9E": 16.7, "AA": 8.6, "AS": 5.8, "B6": 13.0, "DL": 9.3, "EV": 20.0, "F9": 20.2, "FL": 18.7,
    "HA": 4.9, "MQ": 10.6, "OO": 12.6, "UA": 12.1, "US": 3.8, "VX": 12.9, "WN": 17.7, "YV": 19.0,
}  # fmt: skip


def scalar(frame: DataFrame, expression: str) -> Any:
    return frame.agg(F.expr(expression).alias("value")).first()["value"]


def pairs(frame: DataFrame, key: str, value: str) -> dict[Any, Any]:
    return {row[0]: row[1] for row in frame.selectExpr(key, value).collect()}


def test_every_flight_is_there_but_the_four_that_are_impossible(table: Table, flights: pd.DataFrame) -> None:
    assert len(flights) == 336_776
    assert table("raw_flights").count() == 336_776
    assert table("flights_clean").count() == 336_772
    assert table("flights_enriched").count() == 336_772
    assert scalar(table("daily_delays"), "sum(flights)") == 336_772
    assert scalar(table("carrier_monthly"), "sum(flights)") == 336_772
    assert scalar(table("airport_weather_impact"), "sum(flights)") == 336_772
    assert scalar(table("route_monthly"), "sum(flights)") == 336_772


def test_what_became_of_the_flights(table: Table, believed: pd.DataFrame) -> None:
    counted = pairs(table("flights_clean").groupBy("status").count(), "status", "count")
    cancelled = int(believed.dep_time.isna().sum())
    assert cancelled == 8_255
    assert counted == {
        "cancelled": cancelled,
        "diverted": int(believed.air_time.isna().sum()) - cancelled,
        "flown": int(believed.air_time.notna().sum()),
    }


def test_flights_of_each_day(table: Table, believed: pd.DataFrame) -> None:
    expected = believed.groupby(pd.to_datetime(believed[["year", "month", "day"]]).dt.date).size().to_dict()
    assert pairs(table("flights_clean").groupBy("flight_date").count(), "flight_date", "count") == expected


def test_mean_departure_delay_of_each_carrier(table: Table, believed: pd.DataFrame) -> None:
    by_carrier = table("daily_delays").groupBy("carrier")
    found = pairs(
        by_carrier.agg(F.expr("sum(departure_delay_total) / sum(departed)").alias("mean")), "carrier", "mean"
    )
    assert found == pytest.approx(believed.groupby("carrier").dep_delay.mean().to_dict())
    assert found == pytest.approx(DEPARTURE_DELAYS, abs=0.051)


def test_carriers_month_by_month(table: Table, believed: pd.DataFrame) -> None:
    departed = believed[believed.dep_delay.notna()]
    expected = pd.DataFrame(
        {
            "flights": believed.groupby(["month", "carrier"]).size(),
            "departure_delay_mean": departed.groupby(["month", "carrier"]).dep_delay.mean(),
            "arrival_delay_mean": believed.groupby(["month", "carrier"]).arr_delay.mean(),
            "punctuality": 1 - (departed.dep_delay >= 15).groupby([departed.month, departed.carrier]).mean(),
        }
    )
    found = (
        table("carrier_monthly")  # type: ignore[attr-defined]
        .withColumn("month", F.month("month"))
        .toPandas()
        .set_index(["month", "carrier"])
    )
    pd.testing.assert_frame_equal(
        found[list(expected)].sort_index(), expected.sort_index(), check_dtype=False, check_index_type=False
    )


def test_flights_that_have_weather(table: Table, believed: pd.DataFrame, weather: pd.DataFrame) -> None:
    hours = weather[~(weather.wind_speed > 231)]
    joined = believed.merge(hours, on=["origin", "time_hour"], how="left", suffixes=("", "_weather"))
    assert len(joined) == len(believed)
    enriched = table("flights_enriched")
    assert scalar(enriched, "count(visibility_miles)") == int(joined.visib.notna().sum()) == 335_216
    assert scalar(enriched, "avg(temperature_f)") == pytest.approx(joined.temp.mean())


def test_the_hour_that_comes_twice_in_november_is_two_hours(table: Table, weather: pd.DataFrame) -> None:
    night = table("weather_hourly").where("local_date = date'2013-11-03'")
    november = weather[(weather.month == 11) & (weather.day == 3)]
    assert night.count() == night.select("origin", "observed_at").distinct().count() == len(november)
    assert len(november) == len(november.drop_duplicates(["origin", "hour"])) + 3


def test_flights_whose_aircraft_is_known(
    table: Table, believed: pd.DataFrame, planes: pd.DataFrame, airports: pd.DataFrame
) -> None:
    enriched = table("flights_enriched")
    known = believed.merge(planes[["tailnum", "seats"]], on="tailnum")
    assert scalar(enriched, "count(aircraft_seats)") == len(known)
    assert scalar(enriched, "count_if(aircraft_seats < 20)") == int((known.seats < 20).sum())
    assert scalar(enriched, "count(destination_name)") == int(believed.dest.isin(airports.faa).sum())


def test_delay_in_poor_visibility(table: Table, believed: pd.DataFrame, weather: pd.DataFrame) -> None:
    january = believed[(believed.month == 1) & (believed.origin == "LGA")]
    joined = january.merge(weather, on=["origin", "time_hour"])
    below_a_mile = joined[joined.visib < 1]
    row = (
        table("airport_weather_impact")
        .where("month = '2013-01-01' AND origin = 'LGA' AND visibility = 'LIFR'")
        .first()
    )
    assert row["flights"] == len(below_a_mile) > 0
    assert row["cancelled"] == int(below_a_mile.dep_time.isna().sum())
    assert row["departure_delay_mean"] == pytest.approx(below_a_mile.dep_delay.mean())
    assert row["departed_late"] == int((below_a_mile.dep_delay >= 15).sum())


def test_carriers_compete_on_routes(table: Table, believed: pd.DataFrame) -> None:
    route = believed[(believed.month == 7) & (believed.origin == "JFK") & (believed.dest == "LAX")]
    expected = route.groupby("carrier").arr_delay.mean().sort_values()
    ranked = (
        table("route_carriers")
        .where("month = '2013-07-01' AND origin = 'JFK' AND destination = 'LAX'")
        .orderBy("punctuality_rank")
    )
    assert [row["carrier"] for row in ranked.collect()] == list(expected.index)
    assert [row["arrival_delay_mean"] for row in ranked.collect()] == pytest.approx(list(expected))
    monopolies = believed.groupby(["month", "origin", "dest"]).carrier.nunique() == 1
    routes = table("route_monthly")
    assert routes.where("carriers = 1").count() == int(monopolies.sum())
    assert routes.count() == len(monopolies)


def test_times_are_instants(table: Table) -> None:
    # Hawaiian 51 left New York at 8:57 on New Year's Day, 13:57 UTC; in Honolulu it was 15:16, 1:16 UTC.
    row = (
        table("flights_enriched")
        .where("flight_date = '2013-01-01' AND carrier = 'HA' AND flight = 51")
        .selectExpr(
            "unix_seconds(departed_at) AS departed", "unix_seconds(arrived_at) AS arrived", "air_minutes"
        )
        .first()
    )
    assert pd.Timestamp(row["departed"], unit="s") == pd.Timestamp("2013-01-01T13:57")
    assert pd.Timestamp(row["arrived"], unit="s") == pd.Timestamp("2013-01-02T01:16")
    assert row["air_minutes"] == 659
    # Departures that slipped past midnight are later than scheduled, not most of a day earlier.
    late = table("flights_clean").where("departure_delay > 0 AND departure_hhmm < scheduled_departure_hhmm")
    assert late.where("departed_at <= scheduled_departure_at").count() == 0
    assert late.count() > 1000


def test_each_aircraft_alternates_between_leaving_and_coming_back(
    table: Table, believed: pd.DataFrame
) -> None:
    rotations = table("aircraft_rotations")
    flown = believed[believed.air_time.notna() & believed.tailnum.notna()]
    assert rotations.count() == len(flown)
    assert rotations.where("next_departed_at IS NULL").count() == len(
        flown.drop_duplicates(["month", "tailnum"])
    )
    busiest = flown.groupby(["month", "tailnum"]).size().max()
    assert scalar(rotations, "max(rotation)") == busiest
    assert rotations.where("minutes_away < 0").count() == 0


def test_cancelled_flights_are_kept(table: Table, believed: pd.DataFrame) -> None:
    cancelled = believed[believed.dep_time.isna()]
    assert pairs(table("cancellations").groupBy("carrier").count(), "carrier", "count") == (
        cancelled.groupby("carrier").size().to_dict()
    )


def test_the_last_flight_of_each_aircraft_is_kept(table: Table, believed: pd.DataFrame) -> None:
    known = believed[believed.tailnum.notna() & believed.dep_time.notna()]
    departed = pd.to_datetime(known.time_hour, utc=True) + pd.to_timedelta(
        known.minute + known.dep_delay, unit="m"
    )
    last = departed.groupby(known.tailnum).max()
    found = pairs(table("aircraft_last_flown"), "tailnum", "unix_seconds(departed_at) AS departed")
    assert found == {tailnum: int(moment.timestamp()) for tailnum, moment in last.items()}


def test_the_history_of_contested_routes(table: Table, believed: pd.DataFrame) -> None:
    flown = believed.groupby(["origin", "dest", "carrier"]).month.agg(lambda months: set(months))
    contested = believed.groupby(["origin", "dest", "month"]).carrier.nunique() > 1
    expected = set()
    for (origin, destination, carrier), months in flown.items():
        there = [month in months and contested[origin, destination, month] for month in range(1, 13)]
        for first in (n for n in range(12) if there[n] and not (n and there[n - 1])):
            end = next((n for n in range(first, 12) if not there[n]), None)
            expected.add((origin, destination, carrier, first + 1, None if end is None else end + 1))
    rows = table("route_history").selectExpr(
        "origin", "destination", "carrier", "month(valid_from)", "month(valid_to)"
    )
    assert {tuple(row) for row in rows.collect()} == expected
