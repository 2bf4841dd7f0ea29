"""Mode scd2: the history of a state, with the time from and to which each row was valid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING

from headrace.execution.plan import IncrementalPlan
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_STEP, _AT, _SAME, _ROW, _LAST = (f"__headrace_{name}" for name in ("step", "at", "same", "row", "last"))


def instant(at: datetime, type_: str) -> Column:
    """Return a time as a value of the columns `valid_from` and `valid_to`; a date is that of the partition's zone."""
    from pyspark.sql import functions as F

    return F.lit(at.date()) if type_ == "date" else F.lit(at).cast(type_)


def replay(
    previous: DataFrame | None,
    states: Sequence[DataFrame],
    times: Sequence[Column],
    first: Column,
    plan: IncrementalPlan,
    columns: Sequence[str],
) -> DataFrame:
    """Return the history: that of the previous version before `first`, continued with the states at `times`.

    A row that is in several states in a row, without a change in the compared columns, is one row. It keeps its first
    values of other columns. columns: of a state.
    """
    from pyspark.sql import functions as F

    valid_from, valid_to = quoted(plan.valid_from), quoted(plan.valid_to)
    names = [F.col(quoted(name)) for name in columns]
    present = [
        state.select(*names, F.lit(step).alias(_STEP), at.alias(_AT))
        for step, (state, at) in enumerate(zip(states, times, strict=True))
    ]
    ended: list[DataFrame] = []
    if previous is not None:
        began, ends = F.col(valid_from), F.col(valid_to)
        before = previous.where(began < first)
        open_ = ends.isNull() | (ends >= first)
        known = [F.col(quoted(name)) for name in columns if name in previous.columns]
        ended = [before.where(~open_).select(*known, began, ends)]
        present.insert(0, before.where(open_).select(*known, F.lit(-1).alias(_STEP), began.alias(_AT)))
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), present)
    time_of = F.array(*times, F.lit(None).cast(rows.schema[_AT].dataType))
    history = _runs(rows, plan, columns).select(
        *names, F.col(_AT).alias(plan.valid_from), time_of[F.col(_LAST) + 1].alias(plan.valid_to)
    )
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), [history, *ended])


def _runs(rows: DataFrame, plan: IncrementalPlan, columns: Sequence[str]) -> DataFrame:
    """Return the first row of each run of equal rows of a key in consecutive steps, with the last step of the run."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    keys = [F.col(quoted(key)) for key in plan.keys]
    compared = plan.compare or tuple(name for name in columns if name not in plan.keys)
    value = F.struct(F.lit(0).alias("none"), *(F.col(quoted(name)) for name in compared))
    by_time = Window.partitionBy(*keys).orderBy(_STEP)
    same = (F.lag(_STEP).over(by_time) == F.col(_STEP) - 1) & F.lag(value).over(by_time).eqNullSafe(value)
    marked = rows.withColumn(_SAME, F.coalesce(same, F.lit(False)))
    numbered = marked.withColumn(
        _ROW,
        F.sum(F.when(F.col(_SAME), 0).otherwise(1)).over(by_time.rowsBetween(Window.unboundedPreceding, 0)),
    )
    whole = Window.partitionBy(*keys, F.col(_ROW))
    return numbered.withColumn(_LAST, F.max(_STEP).over(whole)).where(~F.col(_SAME))
