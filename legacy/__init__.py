"""The old world, as its own files describe it: jobs, calendars, what waits for what, and which files they touch.

Everything here is a pure function of what was read: no Dagster, no Spark, no database. `read_estate` is the way in;
`census`, `lint`, `candidates`, `Forecast` and `compare` each answer one question about what it returns.
"""

from legacy.calendars import Calendars, read_calendars
from legacy.candidates import Candidate, Evidence, candidates
from legacy.census import Census, census
from legacy.diff import Change, Difference, compare
from legacy.estate import Estate, Thing, read_estate, resolve
from legacy.expected import Expected, Forecast
from legacy.findings import Finding, Gravity
from legacy.jobs import Edge, Job, Trigger
from legacy.lint import lint
from legacy.schedules import Schedule
from legacy.starts import Clock, NoStartError, Start, next_start, starts
from legacy.tools import Direction
from legacy.wording import start_in_words

__all__ = [
    "Calendars",
    "Candidate",
    "Census",
    "Change",
    "Clock",
    "Difference",
    "Direction",
    "Edge",
    "Estate",
    "Evidence",
    "Expected",
    "Finding",
    "Forecast",
    "Gravity",
    "Job",
    "NoStartError",
    "Schedule",
    "Start",
    "Thing",
    "Trigger",
    "candidates",
    "census",
    "compare",
    "lint",
    "next_start",
    "read_calendars",
    "read_estate",
    "resolve",
    "start_in_words",
    "starts",
]
