"""Completion files: read from a folder or bucket, ingested, and reported to Dagster as materializations."""
