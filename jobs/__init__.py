"""What is launched on purpose: asset jobs and their schedules, and the delivery of the demo's feed."""

from jobs.flights import flights_daily, flights_every_morning

JOBS = (flights_daily,)
SCHEDULES = (flights_every_morning,)

__all__ = ["JOBS", "SCHEDULES"]
