"""Name the functions of a frame whose results may differ between two runs over the same inputs."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Random or of the moment; of the placement of rows in files and tasks; of the order in which rows arrive.
# https://spark.apache.org/docs/latest/api/sql/ calls each of them non-deterministic.
_FUNCTIONS = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|current_timestamp|current_date|current_time|now|localtimestamp|current_user"
    r"|monotonically_increasing_id|spark_partition_id|input_file_name|input_file_block_start|input_file_block_length"
    r"|first|first_value|last|last_value|any_value|collect_list|collect_set|array_agg|listagg|string_agg"
    r"|pythonUDF\w*)\("
)
_ANALYZED = re.compile(r"== Analyzed Logical Plan ==\n(.*?)\n==", re.DOTALL)


def nondeterministic_functions(frame: DataFrame) -> list[str]:
    """Return the names of such functions in the frame's plan, sorted. Code in Python is not examined."""
    printed = StringIO()
    with redirect_stdout(printed):
        frame.explain(mode="extended")
    analyzed = _ANALYZED.search(printed.getvalue())
    return sorted(set(_FUNCTIONS.findall(analyzed[1] if analyzed else "")))
