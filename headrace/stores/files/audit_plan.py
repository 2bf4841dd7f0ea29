"""Results of every check on every version of a write: from counts, footers, or the files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.catalog.records import Check, CheckResult
from headrace.stores.files import readback
from headrace.stores.files.audit import Audit, RowCheck, result, row_count_result, unique_columns
from headrace.stores.files.directories import OutputDirectories, OutputDirectory
from headrace.stores.files.footers import Bounds, Footer
from headrace.stores.files.formats import PARQUET
from headrace.stores.files.opening import files_for
from headrace.stores.files.partitions import PartitionWrite
from headrace.stores.files.proofs import column_scans
from headrace.stores.files.proofs.dictionaries import known_values


def with_footers(
    output_directories: OutputDirectories, types: Mapping[str, str], single: Footer | None
) -> OutputDirectories:
    """Return the directories with computed footers, for formats without footers.

    single: the counts of a write of one version; the partitions of a range and quarantined rows are counted now.
    """

    def measured(side: Sequence[OutputDirectory], known: Footer | None) -> list[OutputDirectory]:
        if all(output_directory.footer is not None for output_directory in side):
            return list(side)
        if known is not None:
            return [dataclasses.replace(output_directory, footer=known) for output_directory in side]
        found = readback.summaries(output_directories.frame(side), types)
        empty = Footer(0, {name: Bounds(0, 0) for name in types})
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
        for output_directory in output_directories.accepted:
            count, examples = failed.get((row.check.name, output_directory.partition), (0, []))
            detail: dict[str, Any] = {"examples": examples} if examples else {}
            if count and row.check.quarantine:
                detail["location"] = aside[output_directory.partition].location
            found[output_directory.partition].append(result(row.check, count, count == 0, detail))
    repeated = _repeated(output_directories, audit)
    for check in audit.whole:
        for key, outcome in _whole(output_directories, audit, check, repeated).items():
            found[key].append(outcome)
    if partition is not None:
        outcome = _partition(audit, observed)
        for outcomes in found.values():
            outcomes.append(outcome)
    return found


def _failures(
    output_directories: OutputDirectories, audit: Audit, observed: Mapping[str, Any]
) -> dict[tuple[str, str | None], readback.Failures]:
    """Return failing rows and examples by check and partition, for checks not proven to pass; one job per side."""
    counts = {
        name.removeprefix("check:"): int(n) for name, n in observed.items() if name.startswith("check:")
    }
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
        return _unique(output_directories, audit, check, repeated[check.name])
    return {
        output_directory.partition: _one(output_directories, output_directory, audit, check)
        for output_directory in output_directories.accepted
    }


def _unique(
    output_directories: OutputDirectories, audit: Audit, check: Check, repeated: Sequence[OutputDirectory]
) -> dict[str | None, CheckResult]:
    columns = unique_columns(check)
    shown = [name for name in columns if name not in audit.sensitive]
    failed: dict[str | None, readback.Failures] = {}
    if repeated:
        frame = output_directories.frame(repeated)
        types = [audit.types[name] for name in columns]
        if readback.may_repeat(frame, columns, types):
            failed = readback.duplicates(frame, columns, shown)
    outcomes = {}
    for output_directory in output_directories.accepted:
        count, examples = failed.get(output_directory.partition, (0, []))
        detail: dict[str, Any] = {"columns": list(columns), **({"examples": examples} if examples else {})}
        outcomes[output_directory.partition] = result(check, count, count == 0, detail)
    return outcomes


def _one(
    output_directories: OutputDirectories, output_directory: OutputDirectory, audit: Audit, check: Check
) -> CheckResult:
    """Run a check that needs a separate frame of the version."""
    frame = output_directories.frame([output_directory]).drop(readback.PARTITION)
    if check.kind == "pandera":
        from headrace.stores.files.models import passes

        passed, error = passes(check, frame)
        return result(check, None, passed, _raised(error, audit) if error is not None else {})
    expected = set(check.parameters["values"])
    found = readback.distinct_values(frame, str(check.column), len(expected) + 1)
    return result(
        check,
        None,
        found == expected,
        {"missing": len(expected - found), "unexpected": len(found - expected)},
    )


def _raised(error: Exception, audit: Audit) -> dict[str, Any]:
    """Describe the exception of a custom check; only its class if the message may contain a sensitive value."""
    kind, words = type(error).__name__, str(error).splitlines()
    return {"error": kind if audit.sensitive or not words else f"{kind}: {words[0]}"}


def _partition(audit: Audit, observed: Mapping[str, Any]) -> CheckResult:
    count = int(observed.get("partition", 0))  # not counted if all rows are of the only partition
    hidden = audit.sensitive.intersection(audit.partition.parameters.get("columns", ()))
    examples = dict.fromkeys(
        observed[name]
        for name in ("partition_low", "partition_high")
        if observed.get(name) is not None and not hidden
    )
    return result(audit.partition, count, count == 0, {"examples": list(examples)} if examples else {})
