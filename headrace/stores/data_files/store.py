"""A store of data files: each version is written once to its own directory, and read from there.

The files store is one; the table formats add a commit that lists the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from headrace.catalog.records import Check, Column, Version
from headrace.files.filesystem import normalised
from headrace.files.formats import PARQUET, file_format
from headrace.files.opening import files_for
from headrace.spark.committer import require_committer
from headrace.spark.failures import explained
from headrace.stores.columns import schema_text
from headrace.stores.data_files.first_rows import first_rows
from headrace.stores.data_files.options import reader_options
from headrace.stores.data_files.reading import read_versions, require_complete
from headrace.stores.data_files.writing import write_version
from headrace.stores.protocol import Row, StoredTag
from headrace.stores.tags import begun, is_tag
from headrace.stores.writes import MAX_SEGMENTS, OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DataFileStore:
    """Writes and reads versions with one Spark session. Locations are Hadoop path strings, taken literally.

    A version is stored at `<warehouse>/<domain>/<name>/<folder>/<tag>`, for a partitioned dataset in `partition=<key>`
    below, and if rows can be quarantined in `rows=accepted` below that.
    """

    folder: ClassVar[str] = ""
    """Between the directory of a dataset and those of its tags; '' for none."""

    def __init__(self, session: SparkSession, warehouse_uri: str) -> None:
        self._session = session
        self._warehouse = normalised(warehouse_uri)
        files_for(self._warehouse, session)  # fails early, before the computation, if it cannot be reached
        self._inputs: dict[str, Version] = {}

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
        """Write the frame as a new version (one per partition key, in their order) and run the checks on it.

        columns: the declared ones, which the frame must have by name and type in any order; they are written in the
        declared order. Empty: the frame's own. Rows with other partition keys are not written; the check `partition`
        fails with their number. appended_to: see `AppendingStore`; its files are listed, and their footers read.
        Raises ValueError for an unknown format, SchemaMismatch, InvalidCheck, StoreUnavailable, CorruptInput (an input
        version's file) and SparkUnavailable; files written by then belong to no version and are never read.
        """
        stored = output or OutputFormat(PARQUET)
        file_format(stored.format)
        location = self.location(dataset, tag, stored.location)
        with self.explained(location):
            require_committer(self._session, location)
            files = files_for(location, self._session)
            files.require_writable(location)
            if appended_to is not None:
                require_complete(self._session, [appended_to])
            return write_version(
                self._session,
                files,
                df,
                dataset,
                location,
                stored,
                columns,
                checks,
                partition,
                () if appended_to is None else appended_to.segments,
            )

    def can_append(self, version: Version, output: OutputFormat, columns: Sequence[Column]) -> bool:
        """Return True for a version in the same place, format and columns, unless it has been appended to often.

        After `MAX_SEGMENTS` the rows are written together again.
        """
        return (
            len(version.segments) < MAX_SEGMENTS
            and version.location.startswith(self.location(version.dataset, version.tag, output.location))
            and (version.format, version.metadata.get("options"))
            == (output.format, reader_options(output, len(columns)))
            and [(each.name, each.type) for each in version.columns]
            == [(each.name, each.type) for each in columns]
        )

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of all the versions, which are of one dataset: one scan, however many partitions.

        The columns are those of the newest version, then those that only older ones have; columns that a version lacks
        are null.
        Raises SchemaMismatch if a column's types are incompatible, CorruptInput for a version without the published
        files and bytes. A file that turns out to be corrupt while it is read raises CorruptInput when the frame is
        written through this store, or within `explained`.
        """
        require_complete(self._session, versions)
        self._inputs.update((location, each) for each in versions for location in each.locations)
        return read_versions(self._session, versions)

    def set_aside(self, version: Version, location: str) -> DataFrame:
        """Return the version's quarantined rows, which are in a directory of their own."""
        reader = self._session.read.format(version.format).options(**version.metadata.get("options", {}))
        return reader.schema(schema_text(version.columns)).load(location)

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Return up to `count` rows as text, by column. Raises CorruptInput like `read`."""
        self._inputs[version.location] = version
        return first_rows(self._session, version, count)

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        """Convert Spark's and Java's exceptions to StoreUnavailable, CorruptInput, ... where applicable.

        target: the subject of the message; wholly: see `spark.failures.explained`.
        """
        with explained(target, self._inputs.values(), wholly=wholly):
            yield

    def location(self, dataset: str, tag: str, base_uri: str | None = None) -> str:
        """Return the directory of a dataset's tag; `base_uri` if it is not the configured warehouse."""
        root = normalised(base_uri) if base_uri else self._warehouse
        return f"{dataset_root(root, dataset, self.folder)}/{tag}"

    def tags(self, dataset: str, base_uri: str | None = None) -> list[str]:
        """Return the tags with files of the dataset, whether the catalog knows them or not."""
        folder = self.location(dataset, "", base_uri)
        return [name for name in files_for(folder, self._session).folders(folder) if is_tag(name)]

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        """Return the directory of a tag and the size of its files. Raises StoreUnavailable."""
        location = self.location(dataset, tag, base_uri)
        return StoredTag(location, sum(files_for(location, self._session).sizes(location)))

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        """Delete the files of a tag of the dataset. Raises ValueError for an invalid tag, StoreUnavailable."""
        begun(tag)
        location = self.location(dataset, tag, base_uri)
        files_for(location, self._session).delete(location)


def dataset_root(root: str, dataset: str, folder: str) -> str:
    """Return the directory with the tags of a dataset, below its normalised warehouse or base URI."""
    return "/".join(filter(None, [root, dataset, folder]))
