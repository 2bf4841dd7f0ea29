"""What Dagster loads: every dataset, job, schedule and sensor by name, and the resources that they need."""

import dagster as dg

from components.estate import known_estate
from components.loading import load
from jobs.archiving import catalog_retention, catalog_retention_nightly
from jobs.flights import flights_daily, flights_every_morning
from resources.spark import SparkResource
from sensors import sensors
from settings import PROJECT_ROOT

loaded = load(PROJECT_ROOT, known_estate())

defs = dg.Definitions.merge(
    loaded.definitions,
    dg.Definitions(
        resources={"spark": SparkResource()},
        jobs=[flights_daily, catalog_retention],
        schedules=[flights_every_morning, catalog_retention_nightly],
        sensors=sensors(loaded.plans),
        # One process for a run: its datasets share one Spark session.
        executor=dg.in_process_executor,
    ),
)
