"""Mode merge: of all rows with the same keys, the one with the greatest `order_by` stays, unless it deletes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from headrace.execution.plan import IncrementalPlan
from headrace.spark.quoting import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DELETES = "__headrace_deletes"
_RANK = "__headrace_rank"


@dataclass(frozen=True, slots=True)
class Order:
    """The order of new rows: whether all come later than every row before, and the latest value as text."""

    is_later: bool
    latest: str | None


def order(rows: DataFrame, plan: IncrementalPlan, latest: str | None) -> Order:
    """Compare the new rows with the latest value that was taken in; one Spark job over one column."""
    column = quoted(plan.order_by or "")
    [(_, type_)] = rows.select(column).dtypes
    before = f"CAST({'NULL' if latest is None else literal(latest)} AS {type_})"
    found: Any = rows.selectExpr(
        f"coalesce(min({column}) > {before}, min({column}) IS NULL) AND count(*) = count({column}) AS is_later",
        f"CAST(greatest(max({column}), {before}) AS STRING) AS latest",
    ).first()
    return Order(found["is_later"], found["latest"])


def prepared(rows: DataFrame, plan: IncrementalPlan) -> DataFrame:
    """Return the rows with the mark of those that delete their keys."""
    condition = f"coalesce({plan.delete_when}, FALSE)" if plan.delete_when is not None else "FALSE"
    return rows.selectExpr("*", f"{condition} AS {_DELETES}")


def with_kept(rows: DataFrame, previous: DataFrame) -> DataFrame:
    """Return prepared rows, with those of the previous version: the input may have kept its newest only."""
    names = [quoted(name) for name in previous.columns if name in rows.columns]
    return rows.unionByName(previous.selectExpr(*names, f"FALSE AS {_DELETES}"), allowMissingColumns=True)


def deciding(candidates: DataFrame, affected: DataFrame, plan: IncrementalPlan) -> DataFrame:
    """Return the candidates with the keys of affected rows. Both are prepared."""
    return candidates if candidates is affected else _matched(candidates, affected, plan, "left_semi")


def merged(previous: DataFrame, affected: DataFrame, rows: DataFrame, plan: IncrementalPlan) -> DataFrame:
    """Return the new rows, and those of the previous version whose keys no affected row has."""
    names = [quoted(name) for name in previous.columns if name in rows.columns]
    staying = _matched(previous, affected, plan, "left_anti").select(*names)
    return staying.unionByName(rows, allowMissingColumns=True).select(*map(quoted, rows.columns))


def winners(rows: DataFrame, plan: IncrementalPlan, stored: Sequence[str]) -> DataFrame:
    """Return the last row of each key, unless it deletes it, with the columns `stored`. The rows are prepared.

    Equal rows of the order are decided by their text.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    others = F.to_json(F.struct(*(F.col(quoted(name)) for name in rows.columns if name != _DELETES)))
    window = Window.partitionBy(*(F.col(quoted(key)) for key in plan.keys)).orderBy(
        F.col(quoted(plan.order_by or "")).desc_nulls_last(), F.col(_DELETES).desc(), others.desc()
    )
    last = rows.withColumn(_RANK, F.row_number().over(window)).where(f"{_RANK} = 1 AND NOT {_DELETES}")
    return last.select(*map(quoted, stored))


def _matched(rows: DataFrame, by: DataFrame, plan: IncrementalPlan, how: str) -> DataFrame:
    """Return the rows whose keys are (left_semi) or are not (left_anti) those of a row of `by`; nulls are equal."""
    from pyspark.sql import functions as F

    wanted = by.select(
        *(F.col(quoted(key)).alias(f"__headrace_key_{n}") for n, key in enumerate(plan.keys))
    ).distinct()
    same = (
        rows[quoted(key)].eqNullSafe(wanted[f"__headrace_key_{number}"])
        for number, key in enumerate(plan.keys)
    )
    return rows.join(wanted, reduce(and_, same), how)
