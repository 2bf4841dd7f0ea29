"""The Iceberg store: Spark writes and audits Parquet files, and a staged snapshot lists them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyiceberg.exceptions import NoSuchTableError
from typing_extensions import override

from headrace.catalog.locators import SnapshotLocator
from headrace.catalog.records import Column, Version
from headrace.spark.errors import StoreUnavailable
from headrace.spark.failures import corrupt
from headrace.stores.data_files.reading import stored_files
from headrace.stores.data_files.tables import TableStore
from headrace.stores.iceberg.catalog import (
    DATA_FOLDER,
    dataset_table,
    existing_table,
    identifier,
    opened,
    table_location,
)
from headrace.stores.iceberg.foreign import plain_files
from headrace.stores.iceberg.schemas import FieldIds, iceberg_schema
from headrace.stores.iceberg.snapshots import Staged, committed, forget, stage
from headrace.stores.writes import WrittenVersion


class IcebergStore(TableStore):
    """Writes versions below `<warehouse>/<domain>/<name>/iceberg/data/<tag>`, and stages them in the table."""

    folder = DATA_FOLDER

    @override
    def require_storable(self, dataset: str, columns: Sequence[Column], location: str) -> None:
        iceberg_schema(dataset, columns, FieldIds())
        if {"#", "?"} & set(location):
            raise StoreUnavailable(
                f"Iceberg cannot use {location}: '#' and '?' end the path of a URI. Set HEADRACE_WAREHOUSE to another "
                "place."
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
        def paths(locations: Sequence[str]) -> list[str]:
            return [file.name for file in stored_files(locations, self._session)]

        files, before = paths([each.location for each in written]), None
        if appended_to is not None:
            before = Staged(appended_to.tag, partial(paths, appended_to.locations))
        location = table_location(root, dataset)
        with opened(location) as catalog:
            snapshot = committed(
                lambda: dataset_table(catalog, dataset, location),
                lambda table: stage(table, tag, columns, files, before),
            )
        return SnapshotLocator(".".join(identifier(dataset)), str(snapshot))

    @override
    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        """Forget the staged snapshot of a tag, and delete its files. Raises like DataFileStore.delete."""
        with opened() as catalog:
            if existing_table(catalog, dataset) is not None:
                committed(lambda: catalog.load_table(identifier(dataset)), lambda table: forget(table, tag))
        super().delete(dataset, tag, base_uri)

    @override
    def planned_files(self, version: Version) -> list[str]:
        locator = version.locator
        assert isinstance(locator, SnapshotLocator)  # noqa: S101 - as its location says
        with opened() as catalog:
            try:
                table = catalog.load_table(tuple(locator.table.split(".")))
            except NoSuchTableError as error:
                raise corrupt(version, str(locator), "its Iceberg table does not exist") from error
            return plain_files(table, version, int(locator.snapshot))
