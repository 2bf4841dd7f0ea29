"""The stores of a run, opened on first use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import TYPE_CHECKING

from headrace.catalog.records import Version
from headrace.spark.failures import explained
from headrace.stores.protocol import Store
from headrace.stores.registry import STORES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class OpenStores:
    """The stores of one run, each opened on first use."""

    def __init__(self, session: SparkSession, warehouse_uri: str) -> None:
        self._session = session
        self._warehouse_uri = warehouse_uri
        self._open: dict[str, Store] = {}

    @property
    def session(self) -> SparkSession:
        """The run's session."""
        return self._session

    def named(self, name: str) -> Store:
        """Return the store of this name. Raises UnknownPlugin, StoreUnavailable."""
        if name not in self._open:
            self._open[name] = STORES.get(name).open(self._session, self._warehouse_uri)
        return self._open[name]

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of the versions of one dataset, in any stores. Raises VersionExpired."""
        by_store: dict[str, list[Version]] = {}
        for version in versions:
            version.require_rows()
            by_store.setdefault(version.store, []).append(version)
        frames = [self.named(name).read(some) for name, some in by_store.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        """Convert the exceptions of Spark, and of every store that is open when they are raised."""
        try:
            yield
        except Exception:
            with ExitStack() as stack:
                stack.enter_context(explained(target, wholly=wholly))
                for store in self._open.values():
                    stack.enter_context(store.explained(target, wholly=wholly))
                raise
