"""The Delta store as declarations see it; deltalake and Spark are imported when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.files.formats import FORMATS, PARQUET
from headrace.stores.capabilities import Capability
from headrace.stores.writes import VersionFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.catalog.records import Version
    from headrace.queries.rows import PublishedRow
    from headrace.stores.delta.store import DeltaStore
    from headrace.stores.protocol import JsonRow, LazySession, Reference


class DeltaStoreType:
    """The Delta store: published versions are commits of a table in the dataset's directory."""

    capabilities = frozenset({Capability.ATOMIC_SWAP, Capability.TIME_TRAVEL, Capability.PARTITION_OVERWRITE})
    formats = {PARQUET: VersionFormat(FORMATS[PARQUET].compressions)}

    def open(self, session: SparkSession, warehouse_uri: str) -> DeltaStore:
        """Open the store. Raises StoreUnavailable if deltalake is not installed, or the warehouse cannot be reached."""
        from headrace.stores.data_files.tables import require_package

        require_package("deltalake", extra="delta")
        from headrace.stores.delta.store import DeltaStore

        return DeltaStore(session, warehouse_uri)

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        """Return the first rows of local files; None for others, and for other programs' snapshots. Raises
        CorruptInput."""
        from headrace.stores.data_files.local_rows import local_rows
        from headrace.stores.data_files.tables import is_foreign

        return None if any(map(is_foreign, versions)) else local_rows(versions, names, hidden, count)

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: LazySession,
    ) -> list[Reference]:
        """Commit what is published. Raises ResourceError."""
        from headrace.stores.data_files.tables import require_package

        require_package("deltalake", extra="delta")
        from headrace.stores.delta.references import update_table

        return update_table(dataset, rows, withdrawn, warehouse_uri, session)
