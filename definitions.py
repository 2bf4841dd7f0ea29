"""What Dagster loads: every dataset, job, schedule and sensor by name, and the resources that they need."""

import dagster as dg

from components.loading import load
from jobs import JOBS, SCHEDULES
from resources.spark import SparkResource
from sensors import sensors
from settings import PROJECT_ROOT

loaded = load(PROJECT_ROOT)

defs = dg.Definitions.merge(
    loaded.definitions,
    dg.Definitions(
        resources={"spark": SparkResource()},
        jobs=JOBS,
        schedules=SCHEDULES,
        sensors=sensors(loaded.plans),
        # One process for a run: its datasets share one Spark session.
        executor=dg.in_process_executor,
    ),
)
