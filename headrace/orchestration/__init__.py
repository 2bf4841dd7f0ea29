"""Dagster sensors, jobs and schedules that projects use, and the launching of runs."""
