"""Retention: 90 days in the tables, then Parquet in the archive, with daily roll-ups kept forever.

Alerts are kept for 400 days after they close.
"""

from headrace.retention.archiving import (
    HOT_RETENTION,
    Archived,
    Cold,
    archive,
    archive_everywhere,
    cold,
    cold_everywhere,
)
from headrace.retention.files import ArchiveUnavailable
from headrace.retention.history import PastEvent, PastRun, archived_events, events, runs
from headrace.retention.registry import ArchivingElsewhere, Kind

__all__ = [
    "HOT_RETENTION",
    "ArchiveUnavailable",
    "Archived",
    "ArchivingElsewhere",
    "Cold",
    "Kind",
    "PastEvent",
    "PastRun",
    "archive",
    "archive_everywhere",
    "archived_events",
    "cold",
    "cold_everywhere",
    "events",
    "runs",
]
