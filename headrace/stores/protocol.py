"""The protocol of a store: where versions are written to and read from, and what it can do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from headrace.catalog.records import Check, Column, Version
from headrace.stores.capabilities import Capability
from headrace.stores.files.first_rows import Row
from headrace.stores.files.formats import OutputFormat
from headrace.stores.files.partitions import PartitionWrite
from headrace.stores.files.writing import WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Store(Protocol):
    """An open store: one Spark session's access to the versions in it."""

    def tag(self) -> str:
        """A fresh version tag."""
        ...

    def write(
        self,
        df: DataFrame,
        *,
        dataset: str,
        tag: str,
        output: OutputFormat | None = None,
        columns: Sequence[Column] = (),
        checks: Sequence[Check] = (),
        partition: PartitionWrite | None = None,
    ) -> list[WrittenVersion]:
        """Write the frame where no reader sees it, one version for each partition key, and run the checks on it.

        columns: the declared ones, in the order in which they are written; empty: the frame's own. What a failed write
        leaves is in no version. Raises SchemaMismatch, InvalidCheck, WarehouseUnavailable, CorruptInput,
        SparkUnavailable.
        """
        ...

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """The rows of the versions, which are of one dataset and of this store. Raises SchemaMismatch, CorruptInput."""
        ...

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Up to `count` rows as text, by column. Raises CorruptInput."""
        ...

    def explained(self, target: str, *, wholly: bool = False) -> AbstractContextManager[None]:
        """Within it, the store's own exceptions are raised as those that `write` and `read` name."""
        ...


class StoreType(Protocol):
    """A kind of store, by the name that a declaration's `store` has."""

    capabilities: frozenset[Capability]

    def open(self, session: SparkSession, warehouse_uri: str) -> Store:
        """Open the store. Raises WarehouseUnavailable when there is no way to it."""
        ...
