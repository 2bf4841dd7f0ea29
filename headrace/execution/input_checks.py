"""Checks that compare a written, unpublished output with an input of its run, or with its other partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check, CheckResult
from headrace.checks.audit import result
from headrace.spark.errors import InvalidCheck
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ACROSS = "unique_across_partitions"
INPUT_KINDS = frozenset({"references", "reconcile", ACROSS})
DRIFT = "drift"  # the kind of checks that compare profiles

_WRITTEN, _ROWS = "__headrace_written", "__headrace_rows"


def checks_of_store(checks: Sequence[Check]) -> list[Check]:
    """Return the checks that a store evaluates while it writes."""
    return [check for check in checks if check.kind not in INPUT_KINDS | {DRIFT}]


def evaluated(
    checks: Sequence[Check],
    rows: DataFrame,
    input_of: Callable[[str], DataFrame],
    others: Callable[[], DataFrame | None],
    *,
    totals_shown: bool,
) -> list[CheckResult]:
    """Return the results of the checks of INPUT_KINDS.

    rows: all rows that the run has written. input_of: returns an input by its alias. others: returns the published rows
    of the partitions that the run has not written, None without any. totals_shown: False if a total may be of a
    sensitive column. Raises InvalidCheck for a column that is missing.
    """
    from pyspark.errors import AnalysisException

    found = []
    for check in checks:
        try:
            if check.kind == ACROSS:
                found.append(_unique_across(check, rows, others()))
            elif check.kind == "references":
                found.append(_references(check, rows, input_of))
            else:
                found.append(_reconcile(check, rows, input_of, totals_shown))
        except AnalysisException as error:
            message = str(error).partition("SQLSTATE")[0].strip()
            raise InvalidCheck(
                f"Check {check.name} cannot be evaluated: {message} Correct its columns or expressions."
            ) from error
    return found


def _unique_across(check: Check, rows: DataFrame, others: DataFrame | None) -> CheckResult:
    """Count the written rows whose key another row has, written or published."""
    from pyspark.sql import functions as F

    key = list(map(quoted, check.parameters["columns"]))
    known = rows.select(*key, F.lit(1).alias(_WRITTEN))
    if others is not None:
        known = known.unionByName(others.select(*key, F.lit(0).alias(_WRITTEN)))
    repeated = known.groupBy(*key).agg(F.count("*").alias(_ROWS), F.sum(_WRITTEN).alias(_WRITTEN))
    total = repeated.where(F.col(_ROWS) > 1).agg(F.coalesce(F.sum(_WRITTEN), F.lit(0)).alias(_ROWS)).first()
    count = int(total[_ROWS]) if total is not None else 0
    return result(check, count, count == 0, {})


def _references(check: Check, rows: DataFrame, input_of: Callable[[str], DataFrame]) -> CheckResult:
    """Count the rows whose values are not in the input; a row with a null refers to nothing."""
    from pyspark.sql import functions as F

    columns, keys = check.parameters["columns"], check.parameters["keys"]
    known = input_of(check.parameters["to"]).select(
        *(F.col(quoted(key)).alias(f"__headrace_key_{number}") for number, key in enumerate(keys))
    )
    refers = rows.select(*map(quoted, columns)).dropna()
    same = (refers[quoted(name)] == known[f"__headrace_key_{number}"] for number, name in enumerate(columns))
    missing = refers.join(known, reduce(and_, same), "left_anti").count()
    return result(check, missing, missing == 0, {})


def _reconcile(
    check: Check, rows: DataFrame, input_of: Callable[[str], DataFrame], shown: bool
) -> CheckResult:
    """Compare the totals; the total of no rows is 0."""
    parameters: Mapping[str, Any] = check.parameters
    found = _total(rows, parameters["sum"])
    expected = _total(input_of(parameters["with"]), parameters["of"])
    if isinstance(found, float) or isinstance(
        expected, float
    ):  # which Python does not subtract from decimals
        difference = float(found) - float(expected)
    else:
        difference = found - expected
    passed = abs(difference) <= parameters["tolerance"]
    detail = {"total": str(found), "total_of_input": str(expected)} if shown else {}
    return result(check, None, passed, detail)


def _total(rows: DataFrame, expression: str) -> Any:  # noqa: ANN401 - a number of Spark
    row = rows.selectExpr(f"coalesce(sum({expression}), 0) AS total").first()
    return row["total"] if row is not None else 0
