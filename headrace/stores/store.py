"""The protocol of a store: where versions are written to and read from, and what it can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import Check, Column, Version
from headrace.stores.capabilities import Capability
from headrace.stores.files.first_rows import Row
from headrace.stores.files.formats import OutputFormat
from headrace.stores.files.partitions import PartitionWrite
from headrace.stores.files.writing import WrittenVersion
from headrace.stores.registry import STORES

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


class OpenStores:
    """The stores that one run uses, each opened when it is first needed."""

    def __init__(self, session: SparkSession, warehouse_uri: str) -> None:
        self._session = session
        self._warehouse_uri = warehouse_uri
        self._open: dict[str, Store] = {}
        self.named(
            FILES_STORE
        )  # says at once, and not after the computation, when there is no way to the warehouse

    def named(self, name: str) -> Store:
        """The store of this name. Raises UnknownPlugin."""
        if name not in self._open:
            self._open[name] = STORES.get(name).open(self._session, self._warehouse_uri)
        return self._open[name]

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """The rows of the versions of one dataset, whatever stores they are in."""
        by_store: dict[str, list[Version]] = {}
        for version in versions:
            by_store.setdefault(version.store, []).append(version)
        frames = [self.named(name).read(some) for name, some in by_store.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        """Within it, the exceptions of every open store are explained."""
        with ExitStack() as stack:
            for store in self._open.values():
                stack.enter_context(store.explained(target, wholly=wholly))
            yield
