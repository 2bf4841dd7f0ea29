"""Extract the column lineage of a frame within a budget of steps, without ever failing the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.catalog.column_lineage import LineageOfOutput, unknown
from headrace.spark.column_lineage.edges import column_lineage, fields, sources
from headrace.spark.column_lineage.nodes import READERS, other
from headrace.spark.column_lineage.plan import OutOfBudget, Plan
from headrace.spark.column_lineage.sql_steps import SqlStep, lineage_of_sql
from headrace.spark.column_lineage.values import multiplied_by
from headrace.spark.column_lineage.walker import PlanUnreadable, plan_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_EXPRESSIONS = 1_000_000  # of the plan, and as written; some 2 s on an idle machine
MAX_STEPS = 2_000_000  # values and sources read; as long
MAX_SOURCES = 200_000  # for all columns together


def lineage_of(
    frame: DataFrame, inputs: Sequence[tuple[str, DataFrame]], *, steps: Sequence[SqlStep] = ()
) -> LineageOfOutput:
    """Return the lineage of each column of `frame`, in order, then of struct fields that are traced separately.

    inputs: the key of each input dataset, and the exact frame through which it was read. steps: the SQL of the frame,
    used with Spark Connect. Never raises: lineage that cannot be determined is unknown, with the reason.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    names: list[str] = []
    try:
        if not hasattr(frame, "_jdf"):
            names = frame.columns
            return lineage_of_sql(steps, {key: each.columns for key, each in inputs}, names)
        return lineage_of_plan(
            frame._jdf.queryExecution().analyzed(), [(key, _analysed(each)) for key, each in inputs]
        )
    except (OutOfBudget, PlanUnreadable) as error:
        reason = str(error)
    except (
        AttributeError,
        LookupError,
        Py4JError,
        PySparkException,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # An unexpected plan must not fail the run.
        reason = f"the plan could not be read ({type(error).__name__}: {error})"
    return unknown(names or frame.columns, reason)


def lineage_of_plan(plan: Any, inputs: Sequence[tuple[str, Any]]) -> LineageOfOutput:  # noqa: ANN401
    """Return the lineage from Spark plans. Raises PlanUnreadable, OutOfBudget."""
    text = plan_text(plan, [each for _, each in inputs], MAX_EXPRESSIONS)
    read = Plan(json.loads(text), [key for key, _ in inputs], MAX_STEPS, READERS, other)
    columns, scope = read.columns()
    if sum(len(value.sources) for _, value in columns) > MAX_SOURCES:
        raise OutOfBudget(f"the columns have more than {MAX_SOURCES:,} sources")
    columns = [(name, multiplied_by(value, scope.multiplied)) for name, value in columns]
    every = [column_lineage((name,), value) for name, value in columns]
    apart = [each for name, value in columns for each in fields((name,), value)]
    return LineageOfOutput((*every, *apart), tuple(sources(scope.whole, "")), "; ".join(scope.notes) or None)


def _analysed(frame: DataFrame) -> Any:  # noqa: ANN401
    return frame._jdf.queryExecution().analyzed()
