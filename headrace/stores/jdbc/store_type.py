"""The store of databases as declarations see it; Spark is imported when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.stores.capabilities import Capability
from headrace.stores.writes import VersionFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.catalog.records import Version
    from headrace.queries.rows import PublishedRow
    from headrace.stores.jdbc.store import JdbcStore
    from headrace.stores.protocol import JsonRow, LazySession, Reference


class JdbcStoreType:
    """Databases: versions are tables beside a view, which shows the published one."""

    capabilities = frozenset(
        {
            Capability.OBSERVED,
            Capability.APPEND,
            Capability.MERGE,
            Capability.ATOMIC_SWAP,
            Capability.TIME_TRAVEL,
            Capability.PARTITION_OVERWRITE,
            Capability.SHARED_REFERENCE,
            Capability.CONNECTION,
        }
    )
    formats = {"table": VersionFormat(has_nested=False)}

    def open(self, session: SparkSession, warehouse_uri: str) -> JdbcStore:
        """Open the store; a database is connected to when a dataset names it."""
        from headrace.stores.jdbc.store import JdbcStore

        return JdbcStore(session)

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        """Return the first rows of PostgreSQL; None where Spark's JVM has the driver, and for other programs' tables.

        Raises StoreUnavailable, StatementFailed.
        """
        from headrace.stores.jdbc.local_rows import local_rows

        return local_rows(versions, names, hidden, count)

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: LazySession,
    ) -> list[Reference]:
        """Let the view show what is published. Raises ResourceError."""
        from headrace.stores.jdbc.references import update_view

        return update_view(dataset, rows, withdrawn, warehouse_uri, session)
