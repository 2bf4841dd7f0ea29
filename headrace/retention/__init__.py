"""How long things stay: 90 days in the tables, then in the archive's Parquet files, and their daily sums for ever.

Alerts stay for 400 days after they are over.
"""

from headrace.retention.archiving import (
    HOT,
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
    "HOT",
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
