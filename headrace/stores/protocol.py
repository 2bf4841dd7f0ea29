"""The protocol of a store: where versions are written to and read from, and its capabilities.

`stores/files/`, `stores/iceberg/`, `stores/delta/` and `stores/jdbc/` implement it; a store is a folder beside them, or
a separate package. Those that keep files share `stores/data_files/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.catalog.records import Check, Column, Version
from headrace.queries.rows import PublishedRow
from headrace.stores.capabilities import Capability
from headrace.stores.writes import MergedInto, OutputFormat, PartitionWrite, VersionFormat, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, str | None]  # column to text
JsonRow = dict[str, Any]  # column to JSON value
LazySession = Callable[[], "SparkSession"]


@dataclass(frozen=True, slots=True)
class StoredTag:
    """The place and size of a tag's rows in a store, whether published or not."""

    location: str
    byte_size: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A store's own reference to a published version, now current. changed: it was out of date."""

    dataset: str
    partition: str | None
    tag: str
    location: str
    changed: bool


class Store(Protocol):
    """An open store: one Spark session's access to the versions in it.

    base_uri: of a dataset's versions, if it is not the configured warehouse.
    """

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

        columns: the declared ones, in the order in which they are written; empty: the frame's own. What a failed write
        leaves belongs to no version. Raises SchemaMismatch, InvalidCheck, StoreUnavailable, CorruptInput,
        SparkUnavailable.
        """
        ...

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of the versions, which are of one dataset and of this store. Raises SchemaMismatch,
        CorruptInput."""
        ...

    def set_aside(self, version: Version, location: str) -> DataFrame:
        """Return the version's quarantined rows. location: their place, as `write` returned it."""
        ...

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Return up to `count` rows as text, by column. Raises CorruptInput."""
        ...

    def explained(self, target: str, *, wholly: bool = False) -> AbstractContextManager[None]:
        """Convert exceptions of the store to those that `write` and `read` document."""
        ...

    def tags(self, dataset: str, base_uri: str | None = None) -> list[str]:
        """Return the generated tags under which the store holds rows of the dataset, published or not.

        Raises StoreUnavailable.
        """
        ...

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        """Return the place and size of one of the dataset's `tags`. Raises StoreUnavailable."""
        ...

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        """Delete what the store holds under a tag, which no version has. Raises ValueError for a name that is not a
        generated tag, StoreUnavailable."""
        ...


class AppendingStore(Store, Protocol):
    """An open store with the capability APPEND."""

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
        appended_to: Version | None = None,
    ) -> list[WrittenVersion]:
        """Write the frame as `Store.write` does, as rows after those of another version, which are not written again.

        The new version has both, and its checks are of both. appended_to: the other version, to which the store
        `can_append`; only without partitions, and without checks that set rows aside.
        """
        ...

    def can_append(self, version: Version, output: OutputFormat, columns: Sequence[Column]) -> bool:
        """Return True if `write` can append rows of these columns to the version."""
        ...


class MergingStore(AppendingStore, Protocol):
    """An open store with the capabilities APPEND and MERGE."""

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
        appended_to: Version | None = None,
        merged_into: MergedInto | None = None,
    ) -> list[WrittenVersion]:
        """Write the frame as `AppendingStore.write` does, or with the rows of another version whose keys are not
        replaced.

        merged_into: that version, with which the store `can_merge`; only without partitions, and without checks that
        set rows aside.
        """
        ...

    def can_merge(self, version: Version, output: OutputFormat, columns: Sequence[Column]) -> bool:
        """Return True if `write` can merge rows of these columns into the version."""
        ...


class StoreType(Protocol):
    """A kind of store, by its name in a declaration's `store`. Nothing here starts Spark, unless it has to."""

    capabilities: frozenset[Capability]
    formats: Mapping[str, VersionFormat]
    """The formats of its versions by name; the first is the default."""

    def open(self, session: SparkSession, warehouse_uri: str) -> Store:
        """Open the store. Raises StoreUnavailable if it cannot be reached."""
        ...

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        """Return up to `count` rows with the columns `names` without Spark, in the form of `display.rows`, with
        `hidden` ones masked; None if that needs Spark. Raises CorruptInput."""
        ...

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: LazySession,
    ) -> list[Reference]:
        """Bring the store's own references for external readers (a manifest, a branch, a view) up to date.

        The catalog's pointers are the truth, and are read while no other process updates references of the dataset.
        rows: those to versions in this store; withdrawn: partitions that no longer have one here, whose references are
        removed. A store without references does nothing and returns []. Raises ResourceError for a reference that
        cannot be updated, after all others are.
        """
        ...
