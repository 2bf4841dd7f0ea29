"""The plan of an audit: the checks of one write, validated and grouped by how they are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import expressions as exp

from headrace.catalog.records import Check, CheckResult, CheckStatus
from headrace.catalog.records import Column as DatasetColumn
from headrace.catalog.schema import sensitive
from headrace.checks import predicates
from headrace.checks.summary import Summary
from headrace.severity import Severity
from headrace.spark.errors import InvalidCheck

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE_KINDS = frozenset({"row_count", "unique", "unique_values_eq", "pandera"})
PARTITION_KIND = "partition"
_COUNT = "check:"  # the beginning of the names of counts


@dataclass(frozen=True)
class RowCheck:
    """A check of single rows, and the columns that an example may show."""

    check: Check
    types: Mapping[str, str]  # column -> Spark's simple type name
    shown: tuple[str, ...]
    bounded: bool  # bounds of its column may prove it
    valued: bool  # the values of the text column may prove it, in a dictionary or all of them

    @cached_property
    def failing(self) -> Column:
        """The condition for a failing row; created on demand, since the JVM builds it piece by piece."""
        return predicates.failing(self.check, self.types)


@dataclass(frozen=True, slots=True)
class Audit:
    """The checks of one write, grouped: those of single rows, those of a whole version, and that of the partition."""

    types: Mapping[str, str]  # column -> Spark's simple type name
    sensitive: frozenset[str]
    rows: tuple[RowCheck, ...]
    whole: tuple[Check, ...]
    partition: Check

    @property
    def quarantined(self) -> Column | None:
        """The condition for quarantined rows, never null; None if no check quarantines rows."""
        from pyspark.sql import functions as F

        conditions = [F.coalesce(r.failing, F.lit(False)) for r in self.rows if r.check.quarantine]
        return reduce(or_, conditions) if conditions else None

    def require_valid(self, frame: DataFrame) -> None:
        """Raise InvalidCheck naming the check whose condition Spark cannot resolve on the frame.

        Conditions that bounds may prove have been checked against the columns' types before, so Spark accepts them.
        """
        asked = [row for row in self.rows if not row.bounded]
        if not asked:
            return
        from pyspark.errors import AnalysisException, ParseException

        try:
            _ = frame.where(reduce(or_, (row.failing for row in asked))).schema
        except (AnalysisException, ParseException) as error:
            for row in asked:
                try:
                    _ = frame.where(row.failing).schema
                except (AnalysisException, ParseException) as culprit:
                    message = str(culprit).partition("SQLSTATE")[0].strip()
                    raise InvalidCheck(
                        f"Check {row.check.name} cannot be evaluated: {message} Correct its expression or parameters."
                    ) from error
            raise

    def counts(self, scope: Column, accepted: Column, provable: bool) -> list[Column]:
        """Return the counts of failing rows to compute while writing; `failed_counts` reads the result.

        scope: the rows that are written at all; accepted: those that are not quarantined (both never null).
        provable: the store will know bounds and values of columns, which may replace a count.
        """
        return [
            predicates.counted((scope if r.check.quarantine else accepted) & r.failing).alias(
                f"{_COUNT}{r.check.name}"
            )
            for r in self.rows
            if not (provable and (r.bounded or r.valued) and not r.check.quarantine)
        ]

    def proven(self, row: RowCheck, observed: Mapping[str, int], summary: Summary | None) -> bool:
        """Return True if it is known without reading that no row of a version fails."""
        if row.check.name in observed:
            return observed[row.check.name] == 0
        if summary is None or row.check.column is None or row.check.quarantine:
            return False
        return predicates.proven(row.check, self.types[row.check.column], summary.columns[row.check.column])


def failed_counts(observed: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of failing rows that a write has counted, by check name."""
    return {name.removeprefix(_COUNT): int(n) for name, n in observed.items() if name.startswith(_COUNT)}


def plan(checks: Sequence[Check], columns: Sequence[DatasetColumn]) -> Audit:
    """Group the checks of a dataset with these columns.

    Raises InvalidCheck for an unknown kind, a missing column, invalid parameters, or quarantine in a check that is not
    a row check.
    """
    types = {column.name: column.type for column in columns}
    hidden = sensitive(columns)
    rows, whole, partition = [], [], Check(PARTITION_KIND, PARTITION_KIND)
    for check in checks:
        if predicates.is_row_check(check.kind):
            rows.append(_row_check(check, types, hidden))
        elif check.quarantine:
            raise InvalidCheck(
                f"Check {check.name}: {check.kind} is a dataset check and cannot identify the rows to set "
                "aside. Remove `quarantine`, or use a row check."
            )
        elif check.kind == PARTITION_KIND:
            partition = check
        elif check.kind in WHOLE_KINDS:
            whole.append(_dataset_check(check, types))
        else:
            known = ", ".join(sorted(predicates.KINDS | WHOLE_KINDS | {PARTITION_KIND}))
            raise InvalidCheck(f"Check {check.name}: unknown kind {check.kind!r}. Known are {known}.")
    return Audit(types, hidden, tuple(rows), tuple(whole), partition)


def result(check: Check, failed_rows: int | None, passed: bool, detail: Mapping[str, Any]) -> CheckResult:
    """Create a check's result: quarantined rows and failures of severity WARN are warnings."""
    if passed:
        return CheckResult(check.name, CheckStatus.PASS, failed_rows, detail)
    warn = check.quarantine or check.severity is Severity.WARNING
    return CheckResult(check.name, CheckStatus.WARN if warn else CheckStatus.FAIL, failed_rows, detail)


def row_count_result(check: Check, row_count: int) -> CheckResult:
    """Create the result of a `row_count` check."""
    low, high = check.parameters.get("min"), check.parameters.get("max")
    passed = (low is None or row_count >= low) and (high is None or row_count <= high)
    return result(check, None, passed, {"row_count": row_count, **check.parameters})


def _row_check(check: Check, types: Mapping[str, str], sensitive: frozenset[str]) -> RowCheck:
    """Create the check with its condition and examples: for an sql check all columns it uses, for not_null none."""
    predicates.validate(check, types)
    used = _columns_of(check) if check.kind == "sql" else () if check.kind == "not_null" else (check.column,)
    lowered = {name.lower() for name in used if name is not None}
    shown = tuple(
        name
        for name, type in types.items()
        if name.lower() in lowered and name not in sensitive and _orderable(type)
    )
    valued = check.kind in predicates.VALUED and check.column is not None and types[check.column] == "string"
    return RowCheck(check, types, shown, check.kind in predicates.BOUNDED, valued)


def _columns_of(check: Check) -> tuple[str, ...]:
    """Return the columns that an sql check uses; raises InvalidCheck if it cannot be parsed."""
    expression = str(check.parameters.get("expression") or "")
    try:
        tree = sqlglot.parse_one(expression, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        raise InvalidCheck(
            f"Check {check.name}: {expression!r} is not a SQL expression: {_plain(error)}"
        ) from error
    return tuple(column.name for column in tree.find_all(exp.Column))


def _plain(error: sqlglot.errors.SqlglotError) -> str:
    """Return the parser's message without terminal colours."""
    first: dict[str, Any] = (getattr(error, "errors", None) or [{}])[0]
    return str(first.get("description") or error)


def _dataset_check(check: Check, types: Mapping[str, str]) -> Check:
    match check.kind:
        case "unique":
            named = unique_columns(check)
            missing = [name for name in named if name not in types]
            if missing or not named:
                raise InvalidCheck(
                    f"Check {check.name}: `columns` must name columns of the dataset; got {named!r}."
                )
        case "row_count":
            unknown = set(check.parameters) - {"min", "max"}
            if unknown or not check.parameters:
                raise InvalidCheck(
                    f"Check {check.name}: row_count requires `min`, `max` or both; got {dict(check.parameters)}."
                )
        case "unique_values_eq":
            if check.column not in types or "values" not in check.parameters:
                raise InvalidCheck(
                    f"Check {check.name}: unique_values_eq needs a `column` of the dataset and `values`."
                )
        case "pandera":
            if not isinstance(check.parameters.get("model"), str) or not isinstance(
                check.parameters.get("check"), str
            ):
                raise InvalidCheck(
                    f"Check {check.name}: a pandera check needs `model` (module:Class) and `check`."
                )
    return check


def unique_columns(check: Check) -> tuple[str, ...]:
    """Return the columns of a `unique` check."""
    named = check.parameters.get("columns") or check.column or ()
    return (named,) if isinstance(named, str) else tuple(named)


def _orderable(type: str) -> bool:
    """Return True if Spark can compute a minimum of the type."""
    return not any(word in type for word in ("map<", "variant", "interval"))
