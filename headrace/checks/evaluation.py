"""Evaluate the checks of a write by reading its rows with Spark.

A store without a cheaper way evaluates all of them here; the files store only those that its files do not prove.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check, CheckResult
from headrace.checks import readback
from headrace.checks.audit import Audit, RowCheck, result, row_count_result, unique_columns
from headrace.checks.readback import PARTITION, Failures, Key
from headrace.checks.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def evaluated(
    audit: Audit,
    summaries: Mapping[Key, Summary],
    accepted: DataFrame,
    quarantined: DataFrame | None = None,
    quarantine_location: str | None = None,
    counts: Mapping[str, int] | None = None,
) -> dict[Key, list[CheckResult]]:
    """Return the check results of each partition, in the order of the checks.

    accepted, quarantined: the written rows, with their partition key in the column PARTITION (null if unpartitioned);
    summaries: of the accepted rows, by partition. counts: of failing rows by check, if the write made them; checks
    without failing rows are not evaluated again. Raises InvalidCheck, InvalidModel.
    """
    from pyspark.sql import functions as F

    failed: dict[str, dict[Key, Failures]] = {}
    for frame, aside in ((accepted, False), (quarantined, True)):
        rows = [
            row
            for row in audit.rows
            if row.check.quarantine is aside and not audit.proven(row, counts or {}, None)
        ]
        if rows and frame is not None:
            for key, by_check in readback.failures(frame, rows).items():
                for name, failures in by_check.items():
                    failed.setdefault(name, {})[key] = failures
    repeated = {
        check.name: repeated_keys(accepted, audit, check) for check in audit.whole if check.kind == "unique"
    }
    found: dict[Key, list[CheckResult]] = {}
    for key, summary in summaries.items():
        found[key] = [
            row_result(row, failed.get(row.check.name, {}).get(key), quarantine_location)
            for row in audit.rows
        ]
        for check in audit.whole:
            if check.kind == "row_count":
                found[key].append(row_count_result(check, summary.row_count))
            elif check.kind == "unique":
                found[key].append(unique_result(check, repeated[check.name].get(key)))
            else:
                rows_of_key = accepted.where(accepted[PARTITION].eqNullSafe(F.lit(key))).drop(PARTITION)
                found[key].append(frame_result(check, audit, rows_of_key))
    return found


def row_result(row: RowCheck, failures: Failures | None, quarantine_location: str | None) -> CheckResult:
    """Create the result of a row check. quarantine_location: of the failing rows, if the check sets them aside."""
    count, examples = failures or (0, [])
    detail: dict[str, Any] = {"examples": examples} if examples else {}
    if count and row.check.quarantine:
        detail["location"] = quarantine_location
    return result(row.check, count, count == 0, detail)


def repeated_keys(frame: DataFrame, audit: Audit, check: Check) -> dict[Key, Failures]:
    """Return, per partition, the rows whose key is not unique, with example keys."""
    columns = unique_columns(check)
    if not readback.may_repeat(frame, columns, [audit.types[name] for name in columns]):
        return {}
    return readback.duplicates(frame, columns, [name for name in columns if name not in audit.sensitive])


def unique_result(check: Check, failures: Failures | None) -> CheckResult:
    """Create the result of a `unique` check."""
    count, examples = failures or (0, [])
    detail: dict[str, Any] = {
        "columns": list(unique_columns(check)),
        **({"examples": examples} if examples else {}),
    }
    return result(check, count, count == 0, detail)


def frame_result(check: Check, audit: Audit, frame: DataFrame) -> CheckResult:
    """Run a check that needs a frame of one version: a custom one of pandera, or `unique_values_eq`."""
    if check.kind == "pandera":
        from headrace.checks.models import passes

        passed, error = passes(check, frame)
        return result(check, None, passed, _raised(error, audit) if error is not None else {})
    expected = set(check.parameters["values"])
    found = readback.distinct_values(frame, str(check.column), len(expected) + 1)
    detail = {"missing": len(expected - found), "unexpected": len(found - expected)}
    return result(check, None, found == expected, detail)


def _raised(error: Exception, audit: Audit) -> dict[str, Any]:
    """Describe the exception of a custom check; only its class if the message may contain a sensitive value."""
    kind, words = type(error).__name__, str(error).splitlines()
    return {"error": kind if audit.sensitive or not words else f"{kind}: {words[0]}"}
