"""Write one frame as one version, or as versions of many partitions, with the audit in the same pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check, CheckResult, Column, Segment
from headrace.catalog.schema import sensitive
from headrace.checks.audit import Audit, plan
from headrace.checks.partition import belonging, partition_counts
from headrace.checks.readback import PARTITION, summary_aggregates, summary_of
from headrace.checks.summary import statistics
from headrace.files.filesystem import Files, StoredFile
from headrace.files.formats import PARQUET
from headrace.files.sizes import size_of
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted
from headrace.stores.columns import conformed
from headrace.stores.data_files import audit as auditing
from headrace.stores.data_files.commits import require_committed
from headrace.stores.data_files.directories import (
    ACCEPTED,
    QUARANTINED,
    ROWS,
    OutputDirectories,
    OutputDirectory,
)
from headrace.stores.data_files.fidelity import lossy_counts, require_kept, require_names
from headrace.stores.data_files.footers import read_footers
from headrace.stores.data_files.options import reader_options, writer_options
from headrace.stores.data_files.partitions import COLUMN, directory
from headrace.stores.writes import OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


def write_version(
    session: SparkSession,
    files: Files,
    df: DataFrame,
    dataset: str,
    root: str,
    output: OutputFormat,
    declared: Sequence[Column],
    checks: Sequence[Check],
    partition: PartitionWrite | None,
    appended_to: Sequence[Segment],
) -> list[WrittenVersion]:
    """Write the frame below `root`; see DataFileStore.write."""
    columns = conformed(df, declared, dataset)
    require_names(dataset, output, columns, df.schema)
    audit = plan(checks, columns)
    reserved = {
        PARTITION,
        *([COLUMN] if partition else []),
        *([ROWS] if audit.quarantined is not None else []),
    }
    clash = [column.name for column in columns if column.name.lower() in reserved]
    if clash:
        raise SchemaMismatch(
            f"{dataset}: the column name {clash[0]!r} is reserved for a directory level or the audit. Rename the "
            "column."
        )
    names = [column.name for column in columns]
    frame = df if df.columns == names else df.select(*map(quoted, names))
    audit.require_valid(frame)
    observed = _write(frame, root, output, audit, partition)
    require_kept(dataset, output, names, observed)
    output_directories = _output_directories(
        session, files, root, output, columns, audit, partition, observed, appended_to
    )
    results = auditing.results(output_directories, audit, partition, observed)
    return [
        _written(
            output_directory,
            set_aside,
            output_directories,
            results[output_directory.partition],
            appended_to,
        )
        for output_directory, set_aside in zip_longest(
            output_directories.accepted, output_directories.quarantined
        )
    ]


def _write(
    frame: DataFrame, root: str, output: OutputFormat, audit: Audit, partition: PartitionWrite | None
) -> dict[str, Any]:
    """Write the files in one Spark job; returns the counts made meanwhile.

    Keys of the result: those of checks.partition and `failed_counts`; the names of fidelity.lossy_counts, and, for
    formats without footers, of readback.summary_aggregates.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    names, directories = frame.columns, []
    written = "TRUE"
    counts: list[SparkColumn] = []
    if partition is not None and partition.key is not None:
        key = f"({partition.key})"
        if len(partition.keys) > 1:
            frame = frame.withColumn(COLUMN, F.expr(key))
            key = quoted(COLUMN)
            directories.append(COLUMN)
            # Each partition's rows go to few tasks, and small partitions share one: not one file per task and
            # partition.
            frame = frame.hint("rebalance", COLUMN)
        written = belonging(key, partition.keys)
        counts = partition_counts(key, partition.keys)
    quarantined = audit.quarantined
    scope = F.expr(written)
    accepted = scope if quarantined is None else scope & ~quarantined
    footers = output.format == PARQUET
    # Values that options such as a marker for null may change when read back: then the files themselves are read.
    faithful = footers or not output.options
    if faithful:
        counts += audit.counts(scope, accepted, footers)
    if not footers and faithful and not directories:
        counts += [count.alias(name) for name, count in summary_aggregates(audit.types, accepted).items()]
    counts += lossy_counts(output, audit.types, scope)
    if quarantined is not None:
        frame = frame.withColumn(ROWS, F.when(quarantined, F.lit("quarantined")).otherwise(F.lit("accepted")))
        directories.append(ROWS)
    observation = Observation() if counts else None
    if observation is not None:
        frame = frame.observe(observation, *counts)
    if partition is not None and partition.key is not None:
        frame = frame.where(written)
    kept = [*names, *directories]
    if frame.columns != kept:
        frame = frame.select(*map(quoted, kept))
    writer = frame.write.format(output.format).mode("error")
    writer = writer.options(**writer_options(output, len(names)))
    (writer.partitionBy(*directories) if directories else writer).save(_target(root, partition))
    return dict(observation.get) if observation is not None else {}


def _target(root: str, partition: PartitionWrite | None) -> str:
    """Return the directory in which Spark writes; a partition that is written alone is not one of its columns."""
    return f"{root}/{directory(partition.keys[0])}" if partition and len(partition.keys) == 1 else root


def _output_directories(
    session: SparkSession,
    files: Files,
    root: str,
    output: OutputFormat,
    columns: Sequence[Column],
    audit: Audit,
    partition: PartitionWrite | None,
    observed: Mapping[str, Any],
    appended_to: Sequence[Segment],
) -> OutputDirectories:
    """Return the written directories with their files and footers; missing directories are created empty.

    appended_to: segments, which only a write without partitions and quarantine has.
    """
    keys: Sequence[str | None] = partition.keys if partition else (None,)
    bases = {key: root if key is None else f"{root}/{directory(key)}" for key in keys}
    stored = files.data_files(root)
    require_committed(files, _target(root, partition), stored)
    by_folder: dict[str, list[StoredFile]] = {}
    for file in stored:
        by_folder.setdefault(file.name.rpartition("/")[0], []).append(file)
    names = [column.name for column in columns]

    def output_directory(key: str | None, location: str, earlier: Sequence[str] = ()) -> OutputDirectory:
        found = by_folder.get(location[len(root) + 1 :], [])
        if not found:
            files.make_directory(location)
        found = [*(file for each in earlier for file in files.data_files(each)), *found]
        footers = read_footers(files, found, names) if output.format == PARQUET else None
        return OutputDirectory(key, location, found, footers, earlier)

    aside = audit.quarantined is not None
    earlier = [each.location for each in appended_to]
    output_directories = OutputDirectories(
        session,
        root,
        output.format,
        columns,
        reader_options(output, len(columns)),
        [
            output_directory(key, f"{base}/{ACCEPTED}" if aside else base, earlier)
            for key, base in bases.items()
        ],
        [output_directory(key, f"{base}/{QUARANTINED}") for key, base in bases.items()] if aside else (),
    )
    files.sync(root)
    counted = "rows" in observed and not appended_to
    return auditing.with_footers(
        output_directories, audit.types, summary_of(observed, audit.types) if counted else None
    )


def _written(
    output_directory: OutputDirectory,
    set_aside: OutputDirectory | None,
    output_directories: OutputDirectories,
    results: Sequence[CheckResult],
    appended_to: Sequence[Segment],
) -> WrittenVersion:
    size, footer = size_of(output_directory.files), output_directory.measured
    aside = set_aside.measured.row_count if set_aside is not None else 0
    return WrittenVersion(
        partition=output_directory.partition,
        location=output_directory.location,
        row_count=footer.row_count,
        byte_size=size.byte_size,
        file_count=size.file_count,
        checksum=size.checksum,
        columns=tuple(output_directories.columns),
        statistics=statistics(footer, sensitive(output_directories.columns)),
        check_results=tuple(results),
        read_options=output_directories.options,
        quarantine_location=set_aside.location if set_aside is not None and aside else None,
        quarantine_rows=aside,
        appended_to=tuple(appended_to),
    )
