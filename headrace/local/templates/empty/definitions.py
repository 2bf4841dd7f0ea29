"""What Dagster loads: every dataset, job, schedule and sensor of this project, and the resources that they need."""

import dagster as dg

from headrace.declarations.estate.assets import known_estate
from headrace.declarations.loading.project import load
from headrace.project import project_root
from jobs import JOBS, SCHEDULES
from resources import RESOURCES
from sensors import sensors

loaded = load(project_root(), known_estate())

defs = dg.Definitions.merge(
    loaded.definitions,
    dg.Definitions(
        resources=RESOURCES,
        jobs=JOBS,
        schedules=SCHEDULES,
        sensors=sensors(loaded.plans),
        # One process for a run: its datasets share one Spark session.
        executor=dg.in_process_executor,
    ),
)
