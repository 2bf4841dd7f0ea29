"""Checks of kind `drift`: the sketches of a written version against those of a published one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Engine

from headrace.catalog.records import MESSAGE, Check, CheckResult, CheckStatus, Version
from headrace.checks.audit import result
from headrace.checks.profiling import is_profiled
from headrace.execution.input_checks import DRIFT
from headrace.execution.plan import OutputPlan
from headrace.profiles.drift import NotComparable, drift, methods_of
from headrace.profiles.sketches import UnreadableSketch, merged
from headrace.queries.profiles import sketches_of
from headrace.spark.errors import InvalidCheck
from headrace.stores.writes import WrittenVersion


def with_drift(
    engine: Engine,
    output: OutputPlan,
    written: tuple[str, list[WrittenVersion]],
    published: Callable[[], Sequence[Version]],
) -> tuple[str, list[WrittenVersion]]:
    """Add the results of drift checks to the versions of an output.

    published: returns its published versions, which the written ones are about to replace in part. Raises InvalidCheck
    for a column that is missing, or of a type that the method cannot compare.
    """
    checks = [check for check in output.record.checks if check.kind == DRIFT]
    if not checks:
        return written
    tag, versions = written
    others = published()

    def results(version: WrittenVersion) -> list[CheckResult]:
        return [_result(engine, output.record.key, check, version, others) for check in checks]

    return tag, [replace(each, check_results=(*each.check_results, *results(each))) for each in versions]


def _result(
    engine: Engine, dataset: str, check: Check, written: WrittenVersion, published: Sequence[Version]
) -> CheckResult:
    column = str(check.column)
    new = written.sketches.get(column)
    method = check.parameters["method"]
    if new is None:
        return _without_sketch(dataset, check, written)
    if method not in methods_of(new.type):
        known = " or ".join(methods_of(new.type)) or "no method"
        raise InvalidCheck(
            f"Check {check.name}: {method} cannot compare {column}, as its type is {new.type}; {known} can. Correct "
            "`method`, or remove the check."
        )
    chosen = _chosen(check.parameters["against"], written.partition, published)
    if not chosen:
        return _passed(check, "there is no version to compare it with")
    against = _described(chosen)
    try:
        known_of = sketches_of(engine, [version.version_id for version in chosen], column)
        if len(known_of) < len(chosen):
            return _passed(
                check, f"{against} has no sketch of {column}: it was written before it was profiled"
            )
        measured = drift(method, new, merged(list(known_of.values())))
    except UnreadableSketch as error:
        why = f"the sketch of {column} in {against} cannot be read ({error}); the next version is compared again"
        return CheckResult(check.name, CheckStatus.WARN, detail={MESSAGE: f"not compared: {why}"})
    except NotComparable as error:
        return _passed(check, str(error))
    threshold, value = check.parameters["threshold"], round(measured.value, 4)
    passed = measured.value <= threshold
    message = (
        f"{method} of {column} is {value:g} against {against}, and may be {threshold:g}; {measured.change}"
    )
    return result(
        check, None, passed, {MESSAGE: message, method: value, "threshold": threshold, "against": against}
    )


def _without_sketch(dataset: str, check: Check, written: WrittenVersion) -> CheckResult:
    """Return the result without a sketch of the column, which is sensitive, or was not profiled before an append."""
    types = {column.name: column.type for column in written.columns}
    if check.column not in types:
        raise InvalidCheck(
            f"Check {check.name}: {dataset} has no column {check.column!r}. It has: {', '.join(sorted(types))}."
        )
    if not is_profiled(types[check.column]):
        raise InvalidCheck(
            f"Check {check.name}: values of type {types[check.column]} have no profile to compare."
        )
    if written.appended_to:
        return _passed(check, "the version that rows were appended to has no sketch of the column")
    # It may have become so by a decision of a steward or by lineage, which must not end the runs of the dataset.
    why = f"{check.column} is sensitive, so that its values are not profiled; remove the check"
    return CheckResult(check.name, CheckStatus.WARN, detail={MESSAGE: f"not compared: {why}"})


def _chosen(against: str, partition: str | None, published: Sequence[Version]) -> list[Version]:
    """Return the versions to compare with."""
    if against == "previous":
        return [version for version in published if version.partition == partition]
    others = [version for version in published if version.partition != partition]
    if against == "other_partitions":
        return others
    earlier = [version for version in others if (version.partition or "") < (partition or "")]
    return sorted(earlier, key=lambda version: version.partition or "")[-1:]


def _described(versions: Sequence[Version]) -> str:
    [first, *others] = versions
    if others:
        return f"{len(versions)} other partitions"
    return f"version {first.tag}" + (f" of {first.partition}" if first.partition else "")


def _passed(check: Check, why: str) -> CheckResult:
    return CheckResult(check.name, CheckStatus.PASS, detail={MESSAGE: f"not compared: {why}"})
