"""The protocol of a store: where versions are written to and read from, and its capabilities."""

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
        """Generate a version tag."""
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
        """Write the frame where readers do not see it, one version per partition key, and run the checks on it.

        columns: the declared ones, in the order in which they are written; empty: the frame's own. Files of a failed
        write belong to no version. Raises SchemaMismatch, InvalidCheck, WarehouseUnavailable, CorruptInput,
        SparkUnavailable.
        """
        ...

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of the versions, which are of one dataset and of this store. Raises SchemaMismatch,
        CorruptInput."""
        ...

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Return up to `count` rows as text, by column. Raises CorruptInput."""
        ...

    def explained(self, target: str, *, wholly: bool = False) -> AbstractContextManager[None]:
        """Convert exceptions of the store to those that `write` and `read` document."""
        ...


class StoreType(Protocol):
    """A kind of store, by its name in a declaration's `store`."""

    capabilities: frozenset[Capability]

    def open(self, session: SparkSession, warehouse_uri: str) -> Store:
        """Open the store. Raises WarehouseUnavailable if it cannot be reached."""
        ...
