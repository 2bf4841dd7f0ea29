"""Aircraft rotations through New York: each departure with the aircraft's next one."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def aircraft_rotations(flights_enriched: DataFrame) -> DataFrame:
    """One row per flown departure of a known aircraft, with its next departure of the month if there is one.

    Only departures from New York are in the feed, so the time away holds the whole trip out and back. Where
    the next departure comes before this one's arrival, one of the two flights carries the wrong registration.
    """
    of_aircraft = Window.partitionBy("month", "tailnum").orderBy("departed_at", "flight")
    flown = flights_enriched.where("status = 'flown' and tailnum is not null").select(
        F.trunc("flight_date", "MM").alias("month"),
        "tailnum",
        "flight_date",
        "carrier",
        "flight",
        "origin",
        "destination",
        "departed_at",
        "arrived_at",
    )
    return (
        flown.withColumn("rotation", F.row_number().over(of_aircraft))
        .withColumn("next_origin", F.lead("origin").over(of_aircraft))
        .withColumn("next_departed_at", F.lead("departed_at").over(of_aircraft))
        .withColumn("minutes_away", _minutes_between("departed_at", "next_departed_at"))
    )


def _minutes_between(start: str, end: str) -> Column:
    return F.timestamp_diff("MINUTE", F.col(start), F.col(end))
