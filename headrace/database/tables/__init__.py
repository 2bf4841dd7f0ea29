"""SQLAlchemy models of the tables, by subject. A test compares them with the migrations; queries select from them.

`''` as partition_key means: not partitioned. Constraints that only the server needs are in the migrations.
"""

from headrace.database.tables import (
    access,
    alerts,
    datasets,
    estates,
    lineage,
    quality,
    retention,
    runs,
    slas,
    versions,
)
from headrace.database.tables.base import Base

__all__ = [
    "Base",
    "access",
    "alerts",
    "datasets",
    "estates",
    "lineage",
    "quality",
    "retention",
    "runs",
    "slas",
    "versions",
]
