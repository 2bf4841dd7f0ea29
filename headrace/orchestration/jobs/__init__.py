"""Dagster jobs and schedules that projects use.

Nothing is imported here, since a scan has no use for Dagster.
"""
