"""Rows of frames for display: as JSON values, with sensitive columns masked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.access.sensitivity import MASK
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Options of Spark's to_json: times to the microsecond (the default cuts them to milliseconds), and nulls included.
TO_THE_MICROSECOND = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
AS_JSON = {"ignoreNullFields": "false", **TO_THE_MICROSECOND}


def masked(frame: DataFrame, hidden: frozenset[str]) -> DataFrame:
    """Replace values of the hidden columns with MASK; nulls stay null."""
    from pyspark.sql import functions as F

    masks = {
        name: F.when(F.col(quoted(name)).isNotNull(), F.lit(MASK)) for name in frame.columns if name in hidden
    }
    return frame.withColumns(masks) if masks else frame  # Spark Connect does not accept an empty set


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Convert the rows to JSON values: times in ISO 8601 and UTC, lists and objects as such."""
    from pyspark.sql import functions as F

    everything = F.struct(*[F.col(quoted(name)) for name in frame.columns])
    lines = frame.select(F.to_json(everything, AS_JSON).alias("line")).collect()
    return [json.loads(row.line) for row in lines]
