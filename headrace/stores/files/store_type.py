"""The files store as declarations see it; the store itself, with Arrow and Spark, is imported when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.stores.capabilities import Capability

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.stores.files.store import FilesStore


class FilesStoreType:
    """The files store: versions are directories of Parquet, CSV, JSON or ORC files in the warehouse."""

    capabilities = frozenset({Capability.ATOMIC_SWAP, Capability.TIME_TRAVEL, Capability.PARTITION_OVERWRITE})

    def open(self, session: SparkSession, warehouse_uri: str) -> FilesStore:
        """Open the store in the warehouse. Raises WarehouseUnavailable if it cannot be reached."""
        from headrace.stores.files.store import FilesStore  # imports Arrow

        return FilesStore(session, warehouse_uri)
