"""The directories of one write: one per partition, with quarantined rows next to accepted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.catalog.records import Column
from headrace.checks.readback import PARTITION
from headrace.checks.summary import Summary
from headrace.files.filesystem import StoredFile
from headrace.spark.quoting import quoted
from headrace.stores.columns import schema_text
from headrace.stores.data_files.partitions import COLUMN
from headrace.stores.data_files.reading import loaded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "rows"
ACCEPTED = f"{ROWS}=accepted"
QUARANTINED = f"{ROWS}=quarantined"


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """A directory of one version: its files and their combined footers (None for formats without footers).

    appended_to: the directories before it, whose files and rows are the version's as well.
    """

    partition: str | None
    location: str
    files: Sequence[StoredFile] = ()
    footer: Summary | None = None
    appended_to: Sequence[str] = ()

    @property
    def measured(self) -> Summary:
        """The footer, once it is known."""
        if self.footer is None:
            raise AssertionError(f"{self.location} has not been measured")
        return self.footer


@dataclass(frozen=True, slots=True)
class OutputDirectories:
    """All directories of one write, and how to read them."""

    session: SparkSession
    root: str  # the tag's directory
    format: str
    columns: Sequence[Column]
    options: Mapping[str, str]
    accepted: Sequence[OutputDirectory]
    quarantined: Sequence[OutputDirectory] = field(default=())

    def frame(self, output_directories: Sequence[OutputDirectory]) -> DataFrame:
        """Return the rows of the directories with their partition key in the column PARTITION (null if
        unpartitioned)."""
        from pyspark.sql import functions as F

        schema = schema_text(self.columns)
        reader = self.session.read.format(self.format).options(**self.options)
        locations = [
            location
            for output_directory in output_directories
            for location in (*output_directory.appended_to, output_directory.location)
        ]
        if len(output_directories) == 1:
            key = F.lit(output_directories[0].partition).cast("string")
            return loaded(reader.schema(schema), locations).withColumn(PARTITION, key)
        reader = reader.schema(f"{schema}, {quoted(COLUMN)} string").option("basePath", self.root)
        names = [F.col(quoted(column.name)) for column in self.columns]
        return loaded(reader, locations).select(*names, F.col(COLUMN).alias(PARTITION))
