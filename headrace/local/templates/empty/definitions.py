"""What Dagster loads: every dataset, job, schedule and sensor of this project, and the resources that they need."""

import dagster as dg

from headrace.declarations.loading.project import load_project
from jobs import JOBS, SCHEDULES
from resources import RESOURCES
from sensors import sensors

loaded = load_project()

defs = dg.Definitions.merge(
    loaded.definitions,
    dg.Definitions(
        resources=RESOURCES,
        jobs=JOBS,
        schedules=SCHEDULES,
        sensors=sensors(loaded),
        # One process for a run: its datasets share one Spark session.
        executor=dg.in_process_executor,
    ),
)
