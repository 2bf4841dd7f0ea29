"""Column lineage of a frame: from the plan that Spark analysed, or from the SQL's tree where there is none in reach."""

from resources.column_lineage.lineage import lineage_of
from resources.column_lineage.sql_steps import SqlStep

__all__ = ["SqlStep", "lineage_of"]
