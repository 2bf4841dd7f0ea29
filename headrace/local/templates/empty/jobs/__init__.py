"""This project's jobs and schedules: at first only the catalog's nightly retention."""

from headrace.orchestration.jobs.retention import catalog_retention, catalog_retention_nightly

JOBS = (catalog_retention,)
SCHEDULES = (catalog_retention_nightly,)
