"""The Iceberg store as declarations see it; pyiceberg and Spark are imported when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.stores.capabilities import Capability
from headrace.stores.data_files.table_type import TableStoreType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.queries.rows import PublishedRow
    from headrace.stores.iceberg.store import IcebergStore
    from headrace.stores.protocol import LazySession, Reference


class IcebergStoreType(TableStoreType):
    """The Iceberg store: versions are snapshots of a table in the catalog's database, or in an Iceberg REST catalog."""

    capabilities = frozenset(
        {
            Capability.OBSERVED,
            Capability.ATOMIC_SWAP,
            Capability.TIME_TRAVEL,
            Capability.BRANCHES,
            Capability.APPEND,
            Capability.PARTITION_OVERWRITE,
        }
    )

    def open(self, session: SparkSession, warehouse_uri: str) -> IcebergStore:
        """Open the store. Raises StoreUnavailable if pyiceberg is not installed, or the warehouse cannot be reached."""
        from headrace.stores.data_files.tables import require_package

        require_package("pyiceberg", extra="iceberg")
        from headrace.stores.iceberg.store import IcebergStore

        return IcebergStore(session, warehouse_uri)

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: LazySession,
    ) -> list[Reference]:
        """Set the table's `main` to what is published. Raises ResourceError."""
        from headrace.stores.data_files.tables import require_package

        require_package("pyiceberg", extra="iceberg")
        from headrace.stores.iceberg.references import update_main

        return update_main(dataset, rows, withdrawn, warehouse_uri, session)
