"""The filesystem of a location: local, or through Hadoop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.files.filesystem import Files, LocalFiles, is_local
from headrace.files.hadoop import HadoopFiles
from headrace.spark.errors import StoreUnavailable
from headrace.spark.hadoop import has_client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files_for(uri: str, session: SparkSession | None) -> Files:
    """Return the filesystem of a location; without a session, only of a local one.

    Raises StoreUnavailable for one that needs Hadoop on Spark Connect, which gives no access to it.
    """
    if is_local(uri):
        return LocalFiles()
    if session is None or not has_client(session):
        raise StoreUnavailable(
            f"With Spark Connect, files must be in a folder of a filesystem mounted here (file:///...), not at "
            f"{uri}."
        )
    return HadoopFiles(session)
