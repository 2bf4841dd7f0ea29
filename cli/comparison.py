"""Two versions of a dataset, compared by Spark: rows, keys added, removed and changed, and which columns changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cli.frames import masked, rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAMPLES = 5


class KeyProblem(Exception):
    """The columns named as key cannot identify rows: one of the versions lacks them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two frames.

    Without a key, rows are compared whole: `changed` and `columns` mean nothing then and are None and empty.

    rows: rows before and after.
    repeated: keys that occur more than once on a side; what else holds for them is not told.
    columns: for each column of both, how many common keys have another value.
    samples: for `added`, `removed` and `changed`, some of the keys (or whole rows), each column to value.
    """

    key: tuple[str, ...]
    rows: tuple[int, int]
    added: int
    removed: int
    changed: int | None
    repeated: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def compare(
    before: DataFrame, after: DataFrame, key: Sequence[str], hidden: frozenset[str] = frozenset()
) -> Comparison:
    """Compare two frames by key, or whole rows when `key` is empty.

    Values that are null on both sides are equal. Columns that only one side has are left out: they are the schema's
    difference. Samples do not show the values of `hidden` columns. Raises KeyProblem when a side lacks a key column.
    """
    return _by_key(before, after, tuple(key), hidden) if key else _by_row(before, after, hidden)


def _by_key(before: DataFrame, after: DataFrame, key: tuple[str, ...], hidden: frozenset[str]) -> Comparison:
    from pyspark.sql import functions as F

    for side, frame in (("first", before), ("second", after)):
        if missing := [name for name in key if name not in frame.columns]:
            raise KeyProblem(
                f"the {side} version has no column {', '.join(missing)}, so rows cannot be matched by "
                f"({', '.join(key)}); name columns that both have with --key (it has {', '.join(frame.columns)})"
            )
    shared = [name for name in before.columns if name in after.columns and name not in key]
    joined = _grouped(before, key, shared, "a").join(
        _grouped(after, key, shared, "b"), _same_key(key), "full_outer"
    )
    once = (F.coalesce(F.col("a.n"), F.lit(1)) == 1) & (F.coalesce(F.col("b.n"), F.lit(1)) == 1)
    in_both = F.col("a.n").isNotNull() & F.col("b.n").isNotNull()
    differs = {name: ~F.col("a.row")[name].eqNullSafe(F.col("b.row")[name]) for name in shared}
    any_differs = F.lit(False)
    for condition in differs.values():
        any_differs = any_differs | condition
    kinds = {
        "added": F.col("a.n").isNull(),
        "removed": F.col("b.n").isNull(),
        "changed": in_both & once & any_differs,
    }
    counted = joined.agg(
        F.coalesce(F.sum("a.n"), F.lit(0)).alias("before"),
        F.coalesce(F.sum("b.n"), F.lit(0)).alias("after"),
        F.count_if(~once).alias("repeated"),
        *[F.count_if(condition).alias(kind) for kind, condition in kinds.items()],
        F.struct(
            *[F.count_if(in_both & once & condition).alias(name) for name, condition in differs.items()]
        ).alias("columns")
        if differs
        else F.lit(None).alias("columns"),
    ).collect()[0]
    key_values = [F.coalesce(F.col("a.key")[name], F.col("b.key")[name]).alias(name) for name in key]
    return Comparison(
        key=key,
        rows=(counted["before"], counted["after"]),
        added=counted["added"],
        removed=counted["removed"],
        changed=counted["changed"],
        repeated=counted["repeated"],
        columns={name: count for name, count in counted["columns"].asDict().items() if count}
        if differs
        else {},
        samples={
            kind: _sample(joined.where(condition).select(*key_values), hidden)
            for kind, condition in kinds.items()
            if counted[kind]
        },
    )


def _grouped(frame: DataFrame, key: Sequence[str], shared: Sequence[str], alias: str) -> DataFrame:
    """One row per key: `key`, how many rows have it (`n`), and the other columns of one of them (`row`)."""
    from pyspark.sql import functions as F

    others = F.struct(*[F.col(f"`{name}`").alias(name) for name in shared]) if shared else F.lit(None)
    return (
        frame.groupBy(F.struct(*[F.col(f"`{name}`").alias(name) for name in key]).alias("key"))
        .agg(F.count(F.lit(1)).alias("n"), F.first(others).alias("row"))
        .alias(alias)
    )


def _same_key(key: Sequence[str]) -> Column:
    from pyspark.sql import functions as F

    condition = F.lit(True)
    for name in key:
        condition = condition & F.col("a.key")[name].eqNullSafe(F.col("b.key")[name])
    return condition


def _by_row(before: DataFrame, after: DataFrame, hidden: frozenset[str]) -> Comparison:
    shared = [f"`{name}`" for name in before.columns if name in after.columns]
    left, right = before.select(*shared), after.select(*shared)
    gone, new = left.exceptAll(right), right.exceptAll(left)
    added, removed = new.count(), gone.count()
    samples = {"added": (added, new), "removed": (removed, gone)}
    return Comparison(
        key=(),
        rows=(before.count(), after.count()),
        added=added,
        removed=removed,
        changed=None,
        samples={kind: _sample(frame, hidden) for kind, (count, frame) in samples.items() if count},
    )


def _sample(frame: DataFrame, hidden: frozenset[str]) -> list[dict[str, Any]]:
    """Some rows, the smallest first, so that the same question gets the same answer."""
    return rows(masked(frame.orderBy(*[f"`{name}`" for name in frame.columns]).limit(SAMPLES), hidden))
