"""Columns and filters that Spark's reads leave to databases, from the physical plan: nothing else has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.spark.hadoop import has_client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCAN = re.compile(
    r"Scan JDBCRelation\((?P<table>.*?)\) \[numPartitions=(?P<parts>\d+)\].*?PushedFilters: "
    r"\[(?P<filters>.*?)\], ReadSchema: struct<(?P<columns>.*?)>?$",
    re.MULTILINE,
)


def database_reads(frame: DataFrame) -> list[str]:
    """Return a sentence for each read of a database: its columns and filters, and over how many connections."""
    if not has_client(frame.sparkSession):
        return []
    plan: Any = frame._jdf
    return list(
        dict.fromkeys(
            f"{scan['table']}: the database returns the columns {scan['columns'] or 'none'}, "
            f"where {scan['filters'].replace('*', '') or 'no filter applies'}, by {scan['parts']} connections"
            for scan in _SCAN.finditer(plan.queryExecution().executedPlan().toString())
        )
    )
