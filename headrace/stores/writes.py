"""A write: what is asked of a store, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headrace.catalog.locators import Locator
from headrace.catalog.records import CheckResult, Column, Segment, Version
from headrace.profiles.sketches import ColumnSketches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Of a version: every reader opens the files or tables of each, so that more than these are written together again.
MAX_SEGMENTS = 50


@dataclass(frozen=True, slots=True)
class VersionFormat:
    """A format in which a store writes versions.

    compressions: values of the writer's option `compression`. has_nested: it stores arrays, maps and structs.
    """

    compressions: tuple[str, ...] = ()
    has_nested: bool = True


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How a dataset is stored: one of its store's formats, and the writer's options (compression, sep, ...).

    location: the base URI of its versions, if different from the configured warehouse.
    """

    format: str
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    location: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionWrite:
    """The partitions to be written.

    key: an SQL expression of a row's partition key as a string; None: all rows belong to the only partition.
    """

    key: str | None
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys or not all(self.keys):
            raise ValueError("a partitioned write needs at least one partition key, and no empty one")
        if len(set(self.keys)) != len(self.keys):
            raise ValueError("a partition key occurs twice")
        if self.key is None and len(self.keys) > 1:
            raise ValueError("rows of several partitions need a key to separate them")


@dataclass(frozen=True, slots=True)
class MergedInto:
    """The version into which rows are merged. replaced: keys (columns) whose rows in it go, some repeatedly; null is a
    key like others."""

    version: Version
    replaced: DataFrame


@dataclass(frozen=True, slots=True)
class WrittenVersion:
    """A written version that is not published yet.

    location: where readers will read, as text: a directory of files, otherwise the locator's. statistics: column ->
    null_count, min, max as JSON values, each omitted if unknown, and only null_count for a sensitive column.
    read_options: Spark's reader options for it, stored in the version's metadata as `options`. quarantine_location: of
    quarantined rows, None if there are none. byte_size, file_count, checksum: 0 and '' if the store does not know them.
    locator: for a store whose versions are more than the files at `location`. appended_to: the segments before its own,
    which the counts, statistics and check results include. sketches: by column; stores leave them to the execution.
    """

    partition: str | None
    location: str
    row_count: int
    columns: tuple[Column, ...]
    statistics: Mapping[str, Mapping[str, Any]]
    check_results: tuple[CheckResult, ...]
    byte_size: int = 0
    file_count: int = 0
    checksum: str = ""
    read_options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    quarantine_location: str | None = None
    quarantine_rows: int = 0
    locator: Locator | None = None
    appended_to: tuple[Segment, ...] = ()
    sketches: Mapping[str, ColumnSketches] = field(default_factory=lambda: MappingProxyType({}))
