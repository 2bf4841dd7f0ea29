"""Spark's Hadoop client, whose objects live in Spark's JVM."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def has_client(session: SparkSession) -> bool:
    """Return True if the session gives access to the client; Spark Connect does not."""
    return hasattr(session, "_jsparkSession")


class HadoopClient:
    """The client with the session's configuration. Paths, filesystems, streams and statuses are objects of the JVM."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._gateway: Any = session.sparkContext._gateway
        self._conf: Any = session._jsparkSession.sessionState().newHadoopConf()

    def open(self, location: str) -> tuple[Any, Any]:
        """Return the filesystem of a location, and its path there."""
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        filesystem = path.getFileSystem(self._conf)
        return filesystem, filesystem.makeQualified(path)

    def sibling(self, path: Any, name: str) -> Any:  # noqa: ANN401 - objects of the JVM
        """Return the path of this name in the same directory."""
        return self._jvm.org.apache.hadoop.fs.Path(path.getParent(), name)

    def replace(self, source: Any, target: Any) -> None:  # noqa: ANN401 - objects of the JVM
        """Rename a file over another, atomically where the store can.

        FileSystem.rename does not replace on every filesystem; FileContext's does.
        """
        rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        overwrite = self._gateway.new_array(rename, 1)
        overwrite[0] = rename.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(target.toUri(), self._conf)
        context.rename(context.makeQualified(source), context.makeQualified(target), overwrite)

    def read(self, stream: Any, position: int, length: int) -> bytes:  # noqa: ANN401 - an object of the JVM
        """Read bytes of an open file."""
        stream.seek(position)
        found: bytes = self._to_bytes(stream, length)
        return found

    @cached_property
    def _to_bytes(self) -> Any:  # noqa: ANN401 - a method of the JVM, whose look-up takes several round trips
        return self._jvm.org.apache.commons.io.IOUtils.toByteArray

    def etag(self, status: Any) -> str:  # noqa: ANN401 - an object of the JVM
        """Return the ETag of a file of an object store; '' if it has none."""
        tagged = self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.EtagSource")
        return str(status.getEtag()) if tagged.isInstance(status) else ""
