"""How Spark commits the files of a write to a bucket: without renaming, for which each file would be copied there.

S3A's magic committer uploads a task's files to their final names, and completes the uploads when the job commits. Spark
uses it by itself if it finds the classes of its module hadoop-cloud, which is not part of PySpark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.object_storage import is_s3
from headrace.spark.errors import StoreUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROTOCOL = "spark.sql.sources.commitProtocolClass"
_RENAMING = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"  # Spark's default


def require_committer(session: SparkSession, location: str) -> None:
    """Raise StoreUnavailable if Spark would rename files to commit them, and the location is in a bucket of S3."""
    if is_s3(location) and session.conf.get(_PROTOCOL, _RENAMING) == _RENAMING:
        raise StoreUnavailable(
            f"Cannot write to {location}: Spark lacks the module hadoop-cloud, without which it copies every file to "
            "commit it. Put its jar beside that of hadoop-aws (docs/object-storage.md), or name another committer as "
            f"{_PROTOCOL} in spark.conf."
        )
