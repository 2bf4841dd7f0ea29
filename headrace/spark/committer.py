"""How Spark commits the files of a write to object storage: without renaming, which copies each of them there.

S3A's magic committer uploads a task's files to their final names, and completes the uploads when the job commits. Spark
uses the committer that `fs.s3a.committer.name` names through two classes of its module hadoop-cloud, which is not part
of PySpark.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from headrace.object_storage import is_s3
from headrace.spark.errors import StoreUnavailable
from headrace.spark.hadoop import has_client
from headrace.spark.session import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROTOCOL = "spark.sql.sources.commitProtocolClass"
_SPARKS_OWN = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
_MAGIC = {
    _PROTOCOL: "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": (
        "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"
    ),
}


def committing(session: SparkSession, location: str) -> AbstractContextManager[None]:
    """Return a context in which writes to the location are committed without renaming.

    A commit protocol in the settings takes precedence. Raises StoreUnavailable if Spark lacks the classes.
    """
    if not is_s3(location) or session.conf.get(_PROTOCOL, _SPARKS_OWN) not in (
        _SPARKS_OWN,
        _MAGIC[_PROTOCOL],
    ):
        return nullcontext()
    if has_client(session) and not _is_loadable(session, _MAGIC[_PROTOCOL]):
        raise StoreUnavailable(
            f"Cannot write to {location}: Spark lacks the module hadoop-cloud, without which it copies every file to "
            "commit it. Put its jar beside that of hadoop-aws (docs/object-storage.md), or name another committer as "
            f"{_PROTOCOL} in spark.conf."
        )
    return configured(session, _MAGIC)


def _is_loadable(session: SparkSession, name: str) -> bool:
    jvm: Any = session._jvm
    return bool(jvm.org.apache.spark.util.Utils.classIsLoadable(name))
