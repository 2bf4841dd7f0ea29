"""An Autosys estate as described by its files: jobs, calendars, dependencies, and the files that jobs use.

Everything here is a pure function of its input: no Dagster, no Spark, no database. Start with `read_estate`; `census`,
`lint`, `starts` and `compare` each answer one question about its result.
"""

from headrace.autosys.calendars import Calendars, read_calendars
from headrace.autosys.census import Census, census
from headrace.autosys.diff import Change, Difference, compare
from headrace.autosys.estate import Estate, EstateObject, read_estate, resolve
from headrace.autosys.findings import Finding
from headrace.autosys.jobs import Edge, Job, Trigger
from headrace.autosys.lint import lint
from headrace.autosys.schedules import Schedule
from headrace.autosys.starts import Clock, NoStartError, Start, next_start, starts
from headrace.autosys.wording import condition_in_words, start_in_words

__all__ = [
    "Calendars",
    "Census",
    "Change",
    "Clock",
    "Difference",
    "Edge",
    "Estate",
    "EstateObject",
    "Finding",
    "Job",
    "NoStartError",
    "Schedule",
    "Start",
    "Trigger",
    "census",
    "compare",
    "condition_in_words",
    "lint",
    "next_start",
    "read_calendars",
    "read_estate",
    "resolve",
    "start_in_words",
    "starts",
]
