"""The check `partition`: every row of a write belongs to one of its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import CheckResult
from headrace.checks.audit import Audit, result
from headrace.spark.quoting import literal

if TYPE_CHECKING:
    from pyspark.sql import Column

_COUNT, _LOW, _HIGH = "partition", "partition_low", "partition_high"


def belonging(key: str, keys: Sequence[str]) -> str:
    """Return the condition that a row is of one of the partitions. key: the expression of a row's key."""
    return f"coalesce({key} IN ({', '.join(map(literal, keys))}), FALSE)"


def partition_counts(key: str, keys: Sequence[str]) -> list[Column]:
    """Return the aggregates for `partition_result`: the number of rows that belong to none, with examples."""
    from pyspark.sql import functions as F

    belongs = belonging(key, keys)
    return [
        F.expr(f"count(CASE WHEN NOT {belongs} THEN 1 END) AS {_COUNT}"),
        F.expr(f"min(CASE WHEN NOT {belongs} THEN {key} END) AS {_LOW}"),
        F.expr(f"max(CASE WHEN NOT {belongs} THEN {key} END) AS {_HIGH}"),
    ]


def partition_result(audit: Audit, observed: Mapping[str, Any]) -> CheckResult:
    """Return the result; nothing is counted if all rows are of the only partition."""
    count = int(observed.get(_COUNT, 0))
    hidden = audit.sensitive.intersection(audit.partition.parameters.get("columns", ()))
    examples = dict.fromkeys(
        observed[name] for name in (_LOW, _HIGH) if observed.get(name) is not None and not hidden
    )
    return result(audit.partition, count, count == 0, {"examples": list(examples)} if examples else {})
