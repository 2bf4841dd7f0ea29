"""The result of every check on every version of a write, from counts, from footers, or else from the files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.catalog.records import Check, CheckResult
from headrace.stores.files import readback
from headrace.stores.files.audit import Audit, RowCheck, result, row_count_result, unique_columns
from headrace.stores.files.dictionaries import known_values
from headrace.stores.files.directories import Leaf, Leaves
from headrace.stores.files.filesystem import files_for
from headrace.stores.files.footers import Bounds, Footer
from headrace.stores.files.formats import PARQUET
from headrace.stores.files.partitions import PartitionWrite


def with_footers(leaves: Leaves, types: Mapping[str, str], single: Footer | None) -> Leaves:
    """The leaves with what Parquet's footers would say, for formats that have none.

    single: what was counted while one version was written; the partitions of a range and rows that were set
    aside are counted now.
    """

    def measured(side: Sequence[Leaf], known: Footer | None) -> list[Leaf]:
        if all(leaf.footer is not None for leaf in side):
            return list(side)
        if known is not None:
            return [dataclasses.replace(leaf, footer=known) for leaf in side]
        found = readback.summaries(leaves.frame(side), types)
        empty = Footer(0, {name: Bounds(0, 0) for name in types})
        return [dataclasses.replace(leaf, footer=found.get(leaf.partition, empty)) for leaf in side]

    return dataclasses.replace(
        leaves, accepted=measured(leaves.accepted, single), quarantined=measured(leaves.quarantined, None)
    )


def results(
    leaves: Leaves, audit: Audit, partition: PartitionWrite | None, observed: Mapping[str, Any]
) -> dict[str | None, list[CheckResult]]:
    """The check results of each partition, in the order of the checks, `partition` last."""
    found: dict[str | None, list[CheckResult]] = {leaf.partition: [] for leaf in leaves.accepted}
    aside = {leaf.partition: leaf for leaf in leaves.quarantined}
    failed = _failures(leaves, audit, observed)
    for row in audit.rows:
        for leaf in leaves.accepted:
            count, examples = failed.get((row.check.name, leaf.partition), (0, []))
            detail: dict[str, Any] = {"examples": examples} if examples else {}
            if count and row.check.quarantine:
                detail["location"] = aside[leaf.partition].location
            found[leaf.partition].append(result(row.check, count, count == 0, detail))
    for check in audit.whole:
        for key, outcome in _whole(leaves, audit, check).items():
            found[key].append(outcome)
    if partition is not None:
        outcome = _partition(audit, observed)
        for outcomes in found.values():
            outcomes.append(outcome)
    return found


def _failures(
    leaves: Leaves, audit: Audit, observed: Mapping[str, Any]
) -> dict[tuple[str, str | None], readback.Failures]:
    """Failing rows and examples by check and partition, for those that are not known to have none; one job a side."""
    counts = {
        name.removeprefix("check:"): int(n) for name, n in observed.items() if name.startswith("check:")
    }
    failed: dict[tuple[str, str | None], readback.Failures] = {}
    for side, aside in ((leaves.accepted, False), (leaves.quarantined, True)):
        rows = [row for row in audit.rows if row.check.quarantine is aside]
        filled = [leaf for leaf in side if leaf.files]
        doubtful = [r for r in rows if not all(audit.proven(r, counts, leaf.footer) for leaf in filled)]
        doubtful = _beyond_values(leaves, filled, doubtful)
        if not doubtful:
            continue
        read = [leaf for leaf in filled if not all(audit.proven(r, counts, leaf.footer) for r in doubtful)]
        for key, by_check in readback.failures(leaves.frame(read), doubtful).items():
            failed.update({(name, key): answer for name, answer in by_check.items()})
    return failed


def _beyond_values(leaves: Leaves, filled: Sequence[Leaf], rows: Sequence[RowCheck]) -> list[RowCheck]:
    """The row checks that are not shown to hold by the few values that their columns have."""
    asked = {str(row.check.column) for row in rows if row.valued}
    if leaves.format != PARQUET or not asked:
        return list(rows)
    files = files_for(leaves.root, leaves.session)
    values = known_values(files, (file for leaf in filled for file in leaf.files), asked)
    told = [row for row in rows if row.valued and row.check.column in values]
    if not readback.none_fails(leaves.session, values, [row.failing for row in told]):
        return list(rows)
    return [row for row in rows if row not in told]


def _whole(leaves: Leaves, audit: Audit, check: Check) -> dict[str | None, CheckResult]:
    """The results of a check that judges a version as a whole, by partition."""
    if check.kind == "row_count":
        return {leaf.partition: row_count_result(check, leaf.measured.row_count) for leaf in leaves.accepted}
    if check.kind == "unique":
        return _unique(leaves, audit, check)
    return {leaf.partition: _one(leaves, leaf, audit, check) for leaf in leaves.accepted}


def _unique(leaves: Leaves, audit: Audit, check: Check) -> dict[str | None, CheckResult]:
    columns = unique_columns(check)
    shown = [name for name in columns if name not in audit.sensitive]
    filled = [leaf for leaf in leaves.accepted if leaf.files]
    failed = readback.duplicates(leaves.frame(filled), columns, shown) if filled else {}
    outcomes = {}
    for leaf in leaves.accepted:
        count, examples = failed.get(leaf.partition, (0, []))
        detail: dict[str, Any] = {"columns": list(columns), **({"examples": examples} if examples else {})}
        outcomes[leaf.partition] = result(check, count, count == 0, detail)
    return outcomes


def _one(leaves: Leaves, leaf: Leaf, audit: Audit, check: Check) -> CheckResult:
    """A check that needs a version's frame of its own."""
    frame = leaves.frame([leaf]).drop(readback.PARTITION)
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
    """What a custom check raised; only its kind where the words may hold a value that nobody is shown."""
    kind, words = type(error).__name__, str(error).splitlines()
    return {"error": kind if audit.sensitive or not words else f"{kind}: {words[0]}"}


def _partition(audit: Audit, observed: Mapping[str, Any]) -> CheckResult:
    count = int(observed.get("partition", 0))  # not counted where all rows are of the one partition
    hidden = audit.sensitive.intersection(audit.partition.parameters.get("columns", ()))
    examples = dict.fromkeys(
        observed[name]
        for name in ("partition_low", "partition_high")
        if observed.get(name) is not None and not hidden
    )
    return result(audit.partition, count, count == 0, {"examples": list(examples)} if examples else {})
