"""Column lineage of a frame, from Spark's analysed plan or, without access to it, from the SQL tree."""

from headrace.spark.column_lineage.extraction import lineage_of
from headrace.spark.column_lineage.sql_steps import SqlStep

__all__ = ["SqlStep", "lineage_of"]
