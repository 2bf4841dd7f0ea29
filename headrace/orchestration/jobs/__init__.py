"""What is launched on purpose: asset jobs and their schedules, scans of estates, the delivery of the demo's feed.

Nothing is imported here, since a scan has no use for Dagster.
"""
