"""The Delta store as declarations see it; deltalake and Spark are imported when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.stores.capabilities import Capability
from headrace.stores.data_files.table_type import TableStoreType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.queries.rows import PublishedRow
    from headrace.stores.delta.store import DeltaStore
    from headrace.stores.protocol import LazySession, Reference


class DeltaStoreType(TableStoreType):
    """The Delta store: published versions are commits of a table in the dataset's directory."""

    capabilities = frozenset(
        {
            Capability.OBSERVED,
            Capability.ATOMIC_SWAP,
            Capability.TIME_TRAVEL,
            Capability.APPEND,
            Capability.PARTITION_OVERWRITE,
        }
    )

    def open(self, session: SparkSession, warehouse_uri: str) -> DeltaStore:
        """Open the store. Raises StoreUnavailable if deltalake is not installed, or the warehouse cannot be reached."""
        from headrace.stores.data_files.tables import require_package

        require_package("deltalake", extra="delta")
        from headrace.stores.delta.store import DeltaStore

        return DeltaStore(session, warehouse_uri)

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
