"""Compare two versions of a dataset with Spark: rows, keys added, removed and changed, and changed columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.catalog.schema import widens
from headrace.spark.quoting import quoted
from headrace.stores.columns import converted
from headrace.stores.display import masked, rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAMPLES = 5
_INCOMPARABLE = re.compile(r"\bmap<|\bvariant\b(?!:)")  # as a type, not as the name of a struct field


class KeyProblem(Exception):
    """Rows cannot be matched: a version lacks key columns, or their types differ."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between two frames.

    Without a key, whole rows are compared, and `changed` and `columns` are None and empty.

    rows: rows before and after.
    repeated: keys that occur more than once on a side; they are not compared further.
    columns: for each common column, how many common keys have a different value.
    apart: common columns whose values cannot be compared, with the reason.
    samples: for `added`, `removed` and `changed`, some of the keys (or whole rows), each column to value.
    """

    key: tuple[str, ...]
    rows: tuple[int, int]
    added: int
    removed: int
    changed: int | None
    repeated: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def compare(
    before: DataFrame, after: DataFrame, key: Sequence[str], hidden: frozenset[str] = frozenset()
) -> Comparison:
    """Compare two frames by key, or whole rows when `key` is empty.

    Nulls are equal to nulls; a widened column is compared as the wider type. Columns that exist on one side only are
    ignored: the schema comparison covers them. Samples do not show the values of `hidden` columns. Raises KeyProblem if
    a side lacks a key column, its type changed, or no column can be compared.
    """
    for side, frame in (("first", before), ("second", after)):
        if missing := [name for name in key if name not in frame.columns]:
            raise KeyProblem(
                f"the {side} version has no column {', '.join(missing)}, so rows cannot be matched by "
                f"({', '.join(key)}); name columns that both have with --key (it has {', '.join(frame.columns)})"
            )
    types, apart = _common(before, after)
    if changed := [f"{name} ({apart[name]})" for name in key if name in apart]:
        raise KeyProblem(f"rows cannot be matched by {', '.join(changed)}; name other columns with --key")
    if not types:
        reasons = "".join(f"; {name}: {reason}" for name, reason in apart.items())
        raise KeyProblem(f"the versions have no column in common whose values could be compared{reasons}")
    before, after = _selected(before, types), _selected(after, types)
    found = _by_key(before, after, tuple(key), hidden) if key else _by_row(before, after, hidden)
    return replace(found, apart=apart)


def _common(before: DataFrame, after: DataFrame) -> tuple[dict[str, str], dict[str, str]]:
    """Return the common columns with the type to compare them as, and those that cannot be compared with the reason."""
    old, new = _types(before), _types(after)
    types: dict[str, str] = {}
    apart: dict[str, str] = {}
    for name in (name for name in old if name in new):
        if _INCOMPARABLE.search(new[name]) and old[name] == new[name]:
            apart[name] = f"Spark cannot compare {new[name]}"
        elif old[name] == new[name] or widens(old[name], new[name]):
            types[name] = new[name]
        elif widens(new[name], old[name]):
            types[name] = old[name]
        else:
            apart[name] = f"{old[name]} became {new[name]}"
    return types, apart


def _selected(frame: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Select the columns, cast to their types."""
    from pyspark.sql import functions as F

    own = _types(frame)
    columns = {name: F.col(quoted(name)) for name in types}
    return frame.select(
        *[converted(column, own[name], types[name]).alias(name) for name, column in columns.items()]
    )


def _types(frame: DataFrame) -> dict[str, str]:
    return {column.name: column.dataType.simpleString() for column in frame.schema.fields}


def _by_key(before: DataFrame, after: DataFrame, key: tuple[str, ...], hidden: frozenset[str]) -> Comparison:
    from pyspark.sql import functions as F

    shared = [name for name in before.columns if name not in key]
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
    """Return one row per key: `key`, its number of rows (`n`), and the other columns of one of them (`row`)."""
    from pyspark.sql import functions as F

    others = F.struct(*[F.col(quoted(name)).alias(name) for name in shared]) if shared else F.lit(None)
    return (
        frame.groupBy(F.struct(*[F.col(quoted(name)).alias(name) for name in key]).alias("key"))
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
    gone, new = before.exceptAll(after), after.exceptAll(before)
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
    """Sample rows, the smallest first, so that repeated calls return the same rows."""
    return rows(masked(frame.orderBy(*[quoted(name) for name in frame.columns]).limit(SAMPLES), hidden))
