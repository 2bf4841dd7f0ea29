"""One frame over the files of many versions, with the catalog's schemas: no inference pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from headrace.catalog.records import Column, Version
from headrace.catalog.schema import sensitive
from headrace.files.filesystem import Entry, file_locations
from headrace.files.formats import foreign_reader_options, reads_as
from headrace.files.opening import files_for
from headrace.spark.errors import CorruptInput, ReaderFailed, StoreUnavailable
from headrace.spark.failures import NOTHING, corrupt, explained
from headrace.spark.quoting import quoted
from headrace.spark.readers import READER, frame_of, message_of, with_columns
from headrace.stores.columns import converted, merged_columns, schema_text, type_text
from headrace.stores.data_files.options import reader_options
from headrace.stores.protocol import LazySession
from headrace.stores.writes import OutputFormat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_BY_POSITION = "csv"
_PATTERN = re.compile(r"[{}\[\]*?\\]")  # by which Hadoop recognises one
_MAX_CONCURRENT_LISTINGS = 16  # listing an object store is mostly waiting


def read_versions(session: SparkSession, versions: Sequence[Version]) -> DataFrame:
    """Return the rows of the versions; see DataFileStore.read."""
    if not versions:
        raise ValueError("no versions to read")
    columns = merged_columns(versions)
    groups: dict[tuple[object, ...], list[Version]] = {}
    for version in versions:
        layout = () if _reads_as(version, columns) else tuple((c.name, c.type) for c in version.columns)
        options = tuple(sorted(_options(version).items()))
        reader = version.metadata.get(READER)
        groups.setdefault((version.format, reader, options, layout), []).append(version)
    frames = [_scan(session, group, columns) for group in groups.values()]
    return reduce(lambda one, other: one.unionByName(other), frames)


def require_complete(session: SparkSession | LazySession | None, versions: Sequence[Version]) -> None:
    """Raise CorruptInput for a version whose files differ in number or size from when it was written.

    So a listing is never trusted. `session` is only called for filesystems that Hadoop reads; None if there is none.
    Spark reads an empty file as no rows, and a text file cut at the end of a line as complete.
    """

    def check(version: Version) -> None:
        if not version.location:
            raise CorruptInput(
                f"{version.dataset} version {version.tag} has no files to read: it was registered without a location. "
                "Register it with one, or declare the dataset's `location`."
            )
        try:
            sizes = [
                size
                for location in version.locations
                for size in files_for(location, session).sizes(location)
            ]
        except StoreUnavailable as error:
            if not str(error).startswith(
                NOTHING
            ):  # wrong credentials, say, of which the version is not to blame
                raise
            raise corrupt(version, version.location, str(error).partition(". ")[0]) from error
        require_sizes(version, sizes)

    with ThreadPoolExecutor(_MAX_CONCURRENT_LISTINGS) as listings:
        list(listings.map(check, versions))


def stored_files(locations: Sequence[str], session: SparkSession | LazySession | None) -> list[Entry]:
    """Return the files at the locations, unread, each with its whole path as its name. session: see `files_for`."""
    return [
        replace(entry, name=f"{location}/{entry.name}")
        for location in locations
        for entry in files_for(location, session).listing(location)
    ]


def require_sizes(version: Version, sizes: Sequence[int]) -> None:
    """Raise CorruptInput unless these are the sizes of the version's files, as far as its writer reported them."""
    if version.byte_size is None:
        return
    if (len(sizes), sum(sizes)) != (version.file_count, version.byte_size):
        raise corrupt(
            version,
            version.location,
            f"it has {sum(sizes)} bytes in {len(sizes)} files, and had {version.byte_size} in {version.file_count}"
            + (
                f", of {len(version.segments)} versions to which it was appended; `headrace materialize "
                f"{version.dataset} --full-refresh` writes all of them again"
                if len(version.segments) > 1
                else ""
            ),
        )


def _reads_as(version: Version, columns: Sequence[Column]) -> bool:
    """Return True if the version's files can be read with these columns; otherwise they are converted afterwards."""
    types = {c.name: c.type for c in columns}
    if READER in version.metadata:
        return False
    return version.format != _BY_POSITION and all(
        types[c.name] == c.type or reads_as(c.type, types[c.name]) for c in version.columns
    )


def scan(
    session: SparkSession,
    format: str,
    columns: Sequence[Column],
    options: Mapping[str, str],
    locations: Sequence[str],
) -> DataFrame:
    """Return a frame over all files at the locations, which are taken literally even if they look like patterns."""
    # The DDL is parsed locally once; a schema object would need a round trip with Spark Connect.
    return loaded(session.read.format(format).schema(schema_text(columns)).options(**options), locations)


def loaded(reader: DataFrameReader, locations: Sequence[str]) -> DataFrame:
    """Load the locations, which are taken literally even if they look like patterns.

    Of several locations at once, Spark 4.3 reads each as often as there are some that look like patterns.
    """
    literal = reader.option("__globPaths__", "false")
    together = not any(map(_PATTERN.search, locations))
    parts = [list(locations)] if together else [[location] for location in locations]
    return reduce(lambda one, other: one.unionAll(other), map(literal.load, parts))


def _scan(session: SparkSession, versions: Sequence[Version], columns: Sequence[Column]) -> DataFrame:
    from pyspark.sql import functions as F

    first = versions[0]
    read = columns if _reads_as(first, columns) else first.columns
    with explained(f"reading {first.dataset}", versions):
        if READER in first.metadata:
            frame = _read_by_reader(session, versions)
        else:
            locations = [location for version in versions for location in version.locations]
            frame = scan(session, first.format, read, _options(first), locations)
        present = frame.columns
    if tuple(c.name for c in columns) == tuple(present) and read is columns:
        return frame
    types = {c.name: c.type for c in read}
    return frame.select(
        *(
            (
                F.col(quoted(c.name))
                if types[c.name] == c.type
                else converted(F.col(quoted(c.name)), types[c.name], c.type).alias(c.name)
            )
            if c.name in types
            else F.lit(None).cast(type_text(c.type)).alias(c.name)
            for c in columns
        )
    )


def _read_by_reader(session: SparkSession, versions: Sequence[Version]) -> DataFrame:
    """Return the frame of the project's own reader over the files of the versions."""
    first = versions[0]
    files = [
        file for each in versions for file in file_locations(files_for(each.location, session), each.location)
    ]
    try:
        frame = frame_of(session, first.metadata[READER], files, _options(first))
    except ReaderFailed as error:
        reason = message_of(error, shown=not sensitive(first.columns))
        raise corrupt(first, first.location, reason) from error
    return with_columns(frame, first.columns)


def _options(version: Version) -> dict[str, str]:
    """Return the reader's options: those stored with the version, otherwise those of Headrace's own files."""
    kept = version.metadata.get("options")
    if kept is None:
        return reader_options(OutputFormat(version.format), len(version.columns))
    if READER in version.metadata:
        return {name: str(value) for name, value in kept.items()}
    return foreign_reader_options(version.format, {name: str(value) for name, value in kept.items()})
