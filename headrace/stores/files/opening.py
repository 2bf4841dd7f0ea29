"""The filesystem of a location: local, or through Hadoop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.spark.errors import WarehouseUnavailable
from headrace.stores.files.filesystem import Files, LocalFiles, is_local
from headrace.stores.files.hadoop import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files_for(uri: str, session: SparkSession | None) -> Files:
    """Return the filesystem of a location; without a session, only of a local one.

    Raises WarehouseUnavailable for one that needs Hadoop on Spark Connect, which gives no access to it.
    """
    if is_local(uri):
        return LocalFiles()
    if session is None or not hasattr(session, "_jsparkSession"):
        raise WarehouseUnavailable(
            f"With Spark Connect the warehouse must be a folder of a filesystem mounted here (file:///...), not "
            f"{uri}."
        )
    return HadoopFiles(session)
