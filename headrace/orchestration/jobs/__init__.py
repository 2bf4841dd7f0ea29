"""Dagster jobs and schedules that projects use.

Nothing is imported here, since scans do not need Dagster.
"""
