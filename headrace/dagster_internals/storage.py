"""The private names of Dagster's storage that Headrace uses."""

from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager

__all__ = [
    "AssetCheckExecutionsTable",
    "AssetEventTagsTable",
    "LocalComputeLogManager",
    "SqlEventLogStorage",
    "SqlEventLogStorageTable",
]
