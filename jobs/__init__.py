"""This project's jobs and schedules: the morning's flights, and the catalog's nightly retention."""

from headrace.orchestration.jobs.retention import catalog_retention, catalog_retention_nightly
from jobs.flights import flights_daily, flights_every_morning

JOBS = (flights_daily, catalog_retention)
SCHEDULES = (flights_every_morning, catalog_retention_nightly)
