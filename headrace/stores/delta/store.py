"""The Delta store: Spark writes and audits Parquet files in the table's directory, which no commit lists yet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from typing_extensions import override

from headrace.catalog.locators import SnapshotLocator
from headrace.catalog.records import Column, Version
from headrace.spark.errors import StoreUnavailable
from headrace.spark.failures import corrupt
from headrace.stores.data_files.store import dataset_root
from headrace.stores.data_files.tables import TableStore
from headrace.stores.delta.schemas import delta_schema
from headrace.stores.delta.table import FOLDER, explained, listed_files, storage_options
from headrace.stores.writes import WrittenVersion

_DECODED = re.compile(r"%[0-9A-Fa-f]{2}|\\")


class DeltaStore(TableStore):
    """Writes versions to `<warehouse>/<domain>/<name>/delta/<tag>`, in the directory of the dataset's table."""

    folder = FOLDER

    @override
    def require_storable(self, dataset: str, columns: Sequence[Column], location: str) -> None:
        delta_schema(dataset, columns)
        if _DECODED.search(location):
            raise StoreUnavailable(
                f"Delta cannot use {location}: deltalake decodes '%' and '\\' in a path. Set HEADRACE_WAREHOUSE to "
                "another place."
            )

    @override
    def stage(
        self,
        dataset: str,
        tag: str,
        root: str,
        columns: Sequence[Column],
        written: Sequence[WrittenVersion],
        appended_to: Version | None,
    ) -> SnapshotLocator:
        return SnapshotLocator(dataset_root(root, dataset, FOLDER), tag)

    @override
    def planned_files(self, version: Version) -> list[str]:
        locator = version.locator
        assert isinstance(locator, SnapshotLocator)  # noqa: S101 - as its location says
        with explained(locator.table):
            try:
                options = storage_options(locator.table)
                table = DeltaTable(locator.table, version=int(locator.snapshot), storage_options=options)
            except TableNotFoundError as error:
                raise corrupt(version, locator.table, "its Delta table does not exist") from error
            except DeltaError as error:
                raise corrupt(
                    version, locator.table, f"the table version {locator.snapshot} has expired"
                ) from error
        if (obstacle := _obstacle(table)) is not None:
            raise corrupt(
                version,
                locator.table,
                f"{obstacle}, and Spark reads its files as plain Parquet; have its owner rewrite the table without",
            )
        root = locator.table.rstrip("/")
        return [path if ":/" in path else f"{root}/{path}" for path in sorted(listed_files(table))]


def _obstacle(table: DeltaTable) -> str | None:
    """Return why the rows are not simply those of the table's files."""
    metadata = table.metadata()
    if metadata.partition_columns:
        return f"its files lack the partition columns {', '.join(metadata.partition_columns)}"
    if metadata.configuration.get("delta.columnMapping.mode", "none") != "none":
        return "it maps columns to other names (delta.columnMapping.mode)"
    if "deletionVectors" in (table.protocol().reader_features or ()):
        return "deletion vectors may mark some of its rows as deleted"
    return None
