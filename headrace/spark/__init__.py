"""Spark: engines and sessions, progress, errors, column lineage from plans.

Nothing is imported here, so that loading declarations does not import Spark.
"""
