"""Stores of table formats: data files that a table lists, and snapshots that other programs have written."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from importlib.util import find_spec
from typing import TYPE_CHECKING

from typing_extensions import override

from headrace.catalog.locators import SnapshotLocator
from headrace.catalog.records import Check, Column, Version
from headrace.files.filesystem import normalised
from headrace.files.formats import PARQUET
from headrace.spark.errors import StoreUnavailable
from headrace.spark.session import configured
from headrace.stores.columns import conformed, merged_columns, schema_text
from headrace.stores.data_files.first_rows import rows_as_text
from headrace.stores.data_files.options import reader_options
from headrace.stores.data_files.reading import scan
from headrace.stores.data_files.store import DataFileStore
from headrace.stores.protocol import Row
from headrace.stores.writes import OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Settings of Spark's by which every reader of the format finds the same values.
_OF_ANY_READER = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


class TableStore(DataFileStore, ABC):
    """A store of data files that a table format lists.

    The store's own versions are read by their directories, whatever has happened to the table since: their files never
    change, and are compared with what the catalog recorded. Snapshots that other programs have written are read by the
    files that their table lists.
    """

    @abstractmethod
    def require_storable(self, dataset: str, columns: Sequence[Column], location: str) -> None:
        """Raise SchemaMismatch for columns, and StoreUnavailable for a location, that the format does not have."""

    @abstractmethod
    def stage(
        self,
        dataset: str,
        tag: str,
        root: str,
        columns: Sequence[Column],
        written: Sequence[WrittenVersion],
        appended_to: Version | None,
    ) -> SnapshotLocator:
        """Commit the written files where readers of the table do not see them, if the format can; returns how to find
        them.

        root: the normalised warehouse or base URI. Raises StoreUnavailable.
        """

    @abstractmethod
    def planned_files(self, version: Version) -> list[str]:
        """Return the Parquet files of another program's snapshot.

        Raises CorruptInput if it does not exist, or reading its files as plain Parquet would give other rows.
        """

    @override
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
        base_uri = output.location if output is not None else None
        conforming = conformed(df, columns, dataset)
        self.require_storable(dataset, conforming, self.location(dataset, tag, base_uri))
        with configured(self._session, _OF_ANY_READER):
            written = super().write(
                df,
                dataset=dataset,
                tag=tag,
                output=output,
                columns=columns,
                checks=checks,
                partition=partition,
                appended_to=appended_to,
            )
        root = normalised(base_uri) if base_uri else self._warehouse
        locator = self.stage(dataset, tag, root, conforming, written, appended_to)
        return [dataclasses.replace(each, locator=locator) for each in written]

    @override
    def read(self, versions: Sequence[Version]) -> DataFrame:
        foreign = [version for version in versions if is_foreign(version)]
        if not foreign:
            return super().read(versions)
        columns = merged_columns(versions)
        own = [version for version in versions if not is_foreign(version)]
        frames = [super().read(own)] if own else []
        frames += [self._snapshot(version, columns) for version in foreign]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    @override
    def first_rows(self, version: Version, count: int) -> list[Row]:
        return (
            rows_as_text(self.read([version]), count)
            if is_foreign(version)
            else super().first_rows(version, count)
        )

    def _snapshot(self, version: Version, columns: Sequence[Column]) -> DataFrame:
        files = self.planned_files(version)
        with self.explained(f"reading {version.dataset}"):
            if not files:
                return self._session.createDataFrame([], schema_text(columns))
            options = reader_options(OutputFormat(PARQUET), len(columns))
            return scan(self._session, PARQUET, columns, options, files)


def is_foreign(version: Version) -> bool:
    """Return True for another program's snapshot, which has no directory of its own."""
    return version.location == str(version.locator)


def require_package(module: str, *, extra: str) -> None:
    """Raise StoreUnavailable naming the extra to install if a store's library is missing."""
    if find_spec(module) is None:
        raise StoreUnavailable(f"{module} is not installed: pip install 'headrace[{extra}]'")
