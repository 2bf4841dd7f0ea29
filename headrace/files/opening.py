"""The filesystem of a location: local, object storage, or any other one through Hadoop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.files.filesystem import Files, LocalFiles, is_local
from headrace.files.hadoop import HadoopFiles
from headrace.files.objects import object_files
from headrace.spark.errors import StoreUnavailable
from headrace.spark.hadoop import has_client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files_for(uri: str, session: SparkSession | Callable[[], SparkSession] | None) -> Files:
    """Return the filesystem of a location. `session` is only needed, and called, for one that Hadoop reads.

    Raises StoreUnavailable for such a one on Spark Connect, which gives no access to Hadoop.
    """
    found = files_without_spark(uri)
    if found is not None:
        return found
    opened = session() if callable(session) else session
    if opened is None or not has_client(opened):
        raise StoreUnavailable(
            "With Spark Connect, files must be in a folder of a filesystem mounted here (file:///...) or in object "
            f"storage, not at {uri}."
        )
    return HadoopFiles(opened)


def files_without_spark(uri: str) -> Files | None:
    """Return the filesystem of a location that is read without Spark: local, or object storage; None for others.

    Raises StoreUnavailable if a driver is not installed.
    """
    return LocalFiles() if is_local(uri) else object_files(uri)
