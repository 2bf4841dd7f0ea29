"""The flights' daily job, over the datasets that are computed each day, and the schedule that replays the year."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

FEED_YEAR = 2013

flights_daily = dg.define_asset_job(
    "flights_daily",
    selection=dg.AssetSelection.assets(
        "flights/flights_clean", "flights/flights_enriched", "flights/daily_delays"
    ),
    description="Clean, enrich and add up one day of flights.",
)


@dg.schedule(
    cron_schedule="30 4 * * *",
    execution_timezone="America/New_York",
    job=flights_daily,
    description="Each morning, the day before, of the year that the feed has: 28 November replays 27 November 2013.",
)
def flights_every_morning(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """A run for yesterday's date in the feed's year. The 29th of February is skipped: 2013 had none."""
    yesterday = context.scheduled_execution_time.date() - timedelta(days=1)
    if (yesterday.month, yesterday.day) == (2, 29):
        return dg.SkipReason(f"{FEED_YEAR} has no 29 February")
    day = yesterday.replace(year=FEED_YEAR).isoformat()
    return dg.RunRequest(run_key=f"{yesterday.isoformat()}", partition_key=day)
