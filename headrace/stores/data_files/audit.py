"""Results of every check on every version of a write: from counts, footers, or the files.

A check is evaluated by the first of these methods that can:
1. by the footers of the written Parquet files, which have bounds for every column at no cost: `not_null`, ranges,
   prefixes and comparisons hold for all rows if they hold for the bounds, which is true of most data;
2. by the dictionaries of these files, which contain all values of a text column with few values: lists, patterns
   and lengths;
3. by reading only the column of these checks, or the columns of a unique key, with Arrow (`column_scans`);
4. by a count of failing rows that Spark makes while it writes (an Observation), one per remaining row check.
   A count of zero applies to every partition of a range;
5. by reading the written, still unpublished files once more with Spark, for all remaining checks: those that are not
   proven or whose count is not zero (to separate partitions and to show examples), and custom checks.

So Spark reads a valid write back only for `unique_values_eq`, custom pandera checks, columns too large for this
process, patterns that RE2 and Java may understand differently, and unique keys with floating-point or nested columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.catalog.records import Check, CheckResult
from headrace.checks import readback
from headrace.checks.audit import Audit, RowCheck, failed_counts, row_count_result, unique_columns
from headrace.checks.evaluation import frame_result, repeated_keys, row_result, unique_result
from headrace.checks.partition import partition_result
from headrace.checks.summary import Bounds, Summary
from headrace.files.formats import PARQUET
from headrace.files.opening import files_for
from headrace.stores.data_files.directories import OutputDirectories, OutputDirectory
from headrace.stores.data_files.proofs import column_scans
from headrace.stores.data_files.proofs.dictionaries import known_values
from headrace.stores.writes import PartitionWrite


def with_footers(
    output_directories: OutputDirectories, types: Mapping[str, str], single: Summary | None
) -> OutputDirectories:
    """Return the directories with computed footers, for formats without footers.

    single: the counts of a write of one version; the partitions of a range and quarantined rows are counted now.
    """

    def measured(side: Sequence[OutputDirectory], known: Summary | None) -> list[OutputDirectory]:
        if all(output_directory.footer is not None for output_directory in side):
            return list(side)
        if known is not None:
            return [dataclasses.replace(output_directory, footer=known) for output_directory in side]
        found = readback.summaries(output_directories.frame(side), types)
        empty = Summary(0, {name: Bounds(0, 0) for name in types})
        return [
            dataclasses.replace(output_directory, footer=found.get(output_directory.partition, empty))
            for output_directory in side
        ]

    return dataclasses.replace(
        output_directories,
        accepted=measured(output_directories.accepted, single),
        quarantined=measured(output_directories.quarantined, None),
    )


def results(
    output_directories: OutputDirectories,
    audit: Audit,
    partition: PartitionWrite | None,
    observed: Mapping[str, Any],
) -> dict[str | None, list[CheckResult]]:
    """Return the check results of each partition, in the order of the checks, `partition` last."""
    found: dict[str | None, list[CheckResult]] = {
        output_directory.partition: [] for output_directory in output_directories.accepted
    }
    aside = {
        output_directory.partition: output_directory for output_directory in output_directories.quarantined
    }
    failed = _failures(output_directories, audit, observed)
    for row in audit.rows:
        for key, outcomes in found.items():
            place = aside[key].location if row.check.quarantine else None
            outcomes.append(row_result(row, failed.get((row.check.name, key)), place))
    repeated = _repeated(output_directories, audit)
    for check in audit.whole:
        for key, outcome in _whole(output_directories, audit, check, repeated).items():
            found[key].append(outcome)
    if partition is not None:
        outcome = partition_result(audit, observed)
        for outcomes in found.values():
            outcomes.append(outcome)
    return found


def _failures(
    output_directories: OutputDirectories, audit: Audit, observed: Mapping[str, Any]
) -> dict[tuple[str, str | None], readback.Failures]:
    """Return failing rows and examples by check and partition, for checks not proven to pass; one job per side."""
    is_appended = any(each.appended_to for each in output_directories.accepted)
    counts = {} if is_appended else failed_counts(observed)  # which are of the new rows only
    failed: dict[tuple[str, str | None], readback.Failures] = {}
    for side, aside in ((output_directories.accepted, False), (output_directories.quarantined, True)):
        rows = [row for row in audit.rows if row.check.quarantine is aside]
        filled = [output_directory for output_directory in side if output_directory.files]
        doubtful = [
            r
            for r in rows
            if not all(audit.proven(r, counts, output_directory.footer) for output_directory in filled)
        ]
        doubtful = _beyond_values(output_directories, filled, doubtful)
        doubtful = _beyond_columns(output_directories, filled, doubtful)
        if not doubtful:
            continue
        read = [
            output_directory
            for output_directory in filled
            if not all(audit.proven(r, counts, output_directory.footer) for r in doubtful)
        ]
        for key, by_check in readback.failures(output_directories.frame(read), doubtful).items():
            failed.update({(name, key): answer for name, answer in by_check.items()})
    return failed


def _beyond_values(
    output_directories: OutputDirectories, filled: Sequence[OutputDirectory], rows: Sequence[RowCheck]
) -> list[RowCheck]:
    """Return the row checks that are not proven by the distinct values of their columns."""
    asked = {str(row.check.column) for row in rows if row.valued}
    if output_directories.format != PARQUET or not asked:
        return list(rows)
    files = files_for(output_directories.root, output_directories.session)
    values = known_values(
        files, (file for output_directory in filled for file in output_directory.files), asked
    )
    provable = [row for row in rows if row.valued and row.check.column in values]
    if not readback.none_fails(output_directories.session, values, [row.failing for row in provable]):
        return list(rows)
    return [row for row in rows if row not in provable]


def _beyond_columns(
    output_directories: OutputDirectories, filled: Sequence[OutputDirectory], rows: Sequence[RowCheck]
) -> list[RowCheck]:
    """Return the row checks that are not proven by reading their columns."""
    valued = [row for row in rows if row.valued]
    if output_directories.format != PARQUET or not valued:
        return list(rows)
    files = files_for(output_directories.root, output_directories.session)
    stored = [file for output_directory in filled for file in output_directory.files]
    proven: set[str] = set()
    for column in {str(row.check.column) for row in valued}:
        checks = [row.check for row in valued if row.check.column == column]
        proven |= column_scans.none_fails(files, stored, column, checks)
    return [row for row in rows if not (row.valued and row.check.name in proven)]


def _repeated(output_directories: OutputDirectories, audit: Audit) -> dict[str, list[OutputDirectory]]:
    """Return, by `unique` check, the directories in which a key may occur twice."""
    files = files_for(output_directories.root, output_directories.session)
    doubtful: dict[str, list[OutputDirectory]] = {}
    for check in audit.whole:
        if check.kind == "unique":
            doubtful[check.name] = [
                output_directory
                for output_directory in output_directories.accepted
                if output_directory.files
                and not (
                    output_directories.format == PARQUET
                    and column_scans.is_unique(
                        files, output_directory.files, unique_columns(check), audit.types
                    )
                )
            ]
    return doubtful


def _whole(
    output_directories: OutputDirectories,
    audit: Audit,
    check: Check,
    repeated: Mapping[str, Sequence[OutputDirectory]],
) -> dict[str | None, CheckResult]:
    """Return the results of a dataset check, by partition."""
    if check.kind == "row_count":
        return {
            output_directory.partition: row_count_result(check, output_directory.measured.row_count)
            for output_directory in output_directories.accepted
        }
    if check.kind == "unique":
        doubtful = repeated[check.name]
        failed = repeated_keys(output_directories.frame(doubtful), audit, check) if doubtful else {}
        return {
            output_directory.partition: unique_result(check, failed.get(output_directory.partition))
            for output_directory in output_directories.accepted
        }
    return {
        output_directory.partition: frame_result(
            check, audit, output_directories.frame([output_directory]).drop(readback.PARTITION)
        )
        for output_directory in output_directories.accepted
    }
