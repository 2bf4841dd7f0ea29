"""The version store: each version is written once to its own directory, and read from there."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.catalog.records import Check, Column, Version
from headrace.spark.failures import explained
from headrace.stores.capabilities import Capability
from headrace.stores.files.filesystem import normalised
from headrace.stores.files.first_rows import Row, first_rows
from headrace.stores.files.formats import OutputFormat
from headrace.stores.files.opening import files_for
from headrace.stores.files.partitions import PartitionWrite
from headrace.stores.files.reading import read_versions, require_complete
from headrace.stores.files.sizes import Size, size_of
from headrace.stores.files.writing import WrittenVersion, write_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAG = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{8}")


class FilesStoreType:
    """The files store: versions are directories of Parquet, CSV, JSON or ORC files in the warehouse."""

    capabilities = frozenset({Capability.ATOMIC_SWAP, Capability.TIME_TRAVEL, Capability.PARTITION_OVERWRITE})

    def open(self, session: SparkSession, warehouse_uri: str) -> FilesStore:
        """The store in the warehouse. Raises WarehouseUnavailable when there is no way to it."""
        return FilesStore(session, warehouse_uri)


class FilesStore:
    """Writes and reads versions with one Spark session. Locations are Hadoop path strings, taken literally.

    A version lies at `<warehouse>/<domain>/<name>/<tag>`, of a partitioned dataset in `partition=<key>`
    below, and when rows can be set aside in `rows=accepted` below that.
    """

    def __init__(self, session: SparkSession, warehouse_uri: str) -> None:
        self._session = session
        self._warehouse = normalised(warehouse_uri)
        files_for(
            self._warehouse, session
        )  # says at once, and not after the computation, when there is no way to it
        self._inputs: dict[str, Version] = {}

    @staticmethod
    def tag() -> str:
        """A fresh version tag: the time in UTC to the second, and eight random hex digits."""
        return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"

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
        """Write the frame as a new version (one per partition key, in their order) and run the checks on it.

        columns: the declared ones, which the frame must have by name and type in any order; they are written
        in the declared order. Empty: the frame's own. Rows whose partition key was not asked for are not
        written; the check `partition` fails with their number.
        Raises SchemaMismatch, InvalidCheck, WarehouseUnavailable, CorruptInput (an input version's file) and
        SparkUnavailable; what was written by then is in no version and is never read.
        """
        stored = output or OutputFormat()
        location = self.location(dataset, tag, stored.warehouse)
        with self.explained(location):
            return write_version(
                self._session,
                files_for(location, self._session),
                df,
                dataset,
                location,
                stored,
                columns,
                checks,
                partition,
            )

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """The rows of all the versions, which are of one dataset: one scan, however many partitions.

        The columns are those of the newest version, then those that only older ones have; what a version
        lacks is null.
        Raises SchemaMismatch when a column's types do not fit each other, CorruptInput for a version that
        does not have the files and bytes that were published. A file that turns out to be corrupt while it is
        read raises CorruptInput when the frame is written through this store, or within `explained`.
        """
        require_complete(self._session, versions)
        self._inputs.update((version.location, version) for version in versions)
        return read_versions(self._session, versions)

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Up to `count` rows as text, by column. Raises CorruptInput as `read` does."""
        self._inputs[version.location] = version
        return first_rows(self._session, version, count)

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        """Raise Spark's and Java's exceptions within as WarehouseUnavailable, CorruptInput, ... where they mean that.

        target: what is being worked on, for the message; wholly: see resources.failures.explained.
        """
        with explained(target, self._inputs.values(), wholly=wholly):
            yield

    def sizes(self, location: str) -> Size:
        """Bytes, files and checksum of whatever lies at a location, a directory or a file.

        Raises WarehouseUnavailable when nothing does.
        """
        return size_of(files_for(location, self._session).data_files(location))

    def exists(self, location: str) -> bool:
        """Whether anything lies at a location."""
        return files_for(location, self._session).exists(location)

    def location(self, dataset: str, tag: str, warehouse: str | None = None) -> str:
        """The directory below which everything of a dataset's tag lies; `warehouse` when it is not the settings'."""
        return f"{normalised(warehouse) if warehouse else self._warehouse}/{dataset}/{tag}"

    def tags(self, dataset: str, warehouse: str | None = None) -> list[str]:
        """The tags below which something of the dataset lies, whether the catalog knows it or not."""
        folder = self.location(dataset, "", warehouse)
        return [name for name in files_for(folder, self._session).folders(folder) if TAG.fullmatch(name)]

    def delete(self, dataset: str, tag: str, warehouse: str | None = None) -> None:
        """Delete what lies below a tag of the dataset. Raises ValueError for what is not a tag."""
        if not TAG.fullmatch(tag):
            raise ValueError(f"{tag!r} is not a version tag")
        location = self.location(dataset, tag, warehouse)
        files_for(location, self._session).delete(location)
