"""Column lineage of a frame: from the plan that Spark analysed, or from the SQL's tree where there is none in reach."""

from headrace.spark.column_lineage.extraction import lineage_of
from headrace.spark.column_lineage.sql_steps import SqlStep

__all__ = ["SqlStep", "lineage_of"]
