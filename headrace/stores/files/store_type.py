"""The files store as declarations see it; the store itself, with Arrow and Spark, is imported when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.files.formats import FORMATS
from headrace.stores.capabilities import Capability
from headrace.stores.writes import VersionFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.catalog.records import Version
    from headrace.queries.rows import PublishedRow
    from headrace.stores.files.store import FilesStore
    from headrace.stores.protocol import JsonRow, LazySession, Reference


class FilesStoreType:
    """The files store: versions are directories of Parquet, CSV, JSON or ORC files in the warehouse."""

    capabilities = frozenset(
        {
            Capability.OBSERVED,
            Capability.ATOMIC_SWAP,
            Capability.TIME_TRAVEL,
            Capability.APPEND,
            Capability.PARTITION_OVERWRITE,
        }
    )
    formats = {name: VersionFormat(each.compressions, each.has_nested) for name, each in FORMATS.items()}

    def open(self, session: SparkSession, warehouse_uri: str) -> FilesStore:
        """Open the store in the warehouse. Raises StoreUnavailable if it cannot be reached."""
        from headrace.stores.files.store import FilesStore  # imports Arrow

        return FilesStore(session, warehouse_uri)

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        """Return the first rows of local Parquet files; None for others. Raises CorruptInput."""
        from headrace.stores.data_files.local_rows import local_rows

        return local_rows(versions, names, hidden, count)

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: LazySession,
    ) -> list[Reference]:
        """Update the manifests. Raises ResourceError."""
        from headrace.stores.files.manifests import update_manifests

        return update_manifests(dataset, rows, withdrawn, warehouse_uri, session)
