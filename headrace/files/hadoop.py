"""Files on any filesystem of Spark's Hadoop client, through Spark's JVM."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from typing_extensions import Buffer, override

from headrace.files.filesystem import Entry, Files, StoredFile, TextFile, by_name, hidden, reaching
from headrace.spark.hadoop import HadoopClient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BLOCK = 1 << 20


class HadoopFiles(Files):
    """Any filesystem that Spark's Hadoop client supports."""

    def __init__(self, session: SparkSession) -> None:
        self._client = HadoopClient(session)

    @override
    def data_files(self, location: str) -> list[StoredFile]:
        with reaching(location):
            filesystem, root = self._client.open(location)
            found = [
                StoredFile(
                    name, status.getPath().toString(), status.getLen(), self._digest(filesystem, status)
                )
                for name, status in self._walk(filesystem, root)
            ]
            return sorted(found, key=by_name)

    @override
    def sizes(self, location: str) -> list[int]:
        with reaching(location):
            return [status.getLen() for _, status in self._walk(*self._client.open(location))]

    @override
    def listing(self, location: str) -> list[Entry]:
        with reaching(location):
            filesystem, root = self._client.open(location)
            if not filesystem.exists(root):
                return []
            return sorted(
                (_entry(name, status) for name, status in self._walk(filesystem, root)), key=by_name
            )

    @override
    def entries(self, location: str) -> list[Entry]:
        with reaching(location):
            filesystem, root = self._client.open(location)
            if not filesystem.exists(root):
                return []
            found = [_entry(status.getPath().getName(), status) for status in filesystem.listStatus(root)]
            return sorted((entry for entry in found if not hidden(entry.name)), key=by_name)

    @override
    def open(self, path: str) -> BinaryIO:
        with reaching(path):
            filesystem, file = self._client.open(path)
            size = filesystem.getFileStatus(file).getLen()
            return io.BufferedReader(_Stream(self._client, path, filesystem.open(file), size), _BLOCK)

    @override
    def make_directory(self, location: str) -> None:
        with reaching(location):
            filesystem, path = self._client.open(location)
            filesystem.mkdirs(path)

    @override
    def sync(self, location: str) -> None:
        """Do nothing: object stores and HDFS keep a closed file on several machines."""

    @override
    def exists(self, location: str) -> bool:
        with reaching(location):
            filesystem, path = self._client.open(location)
            return bool(filesystem.exists(path))

    @override
    def delete(self, location: str) -> None:
        with reaching(location):
            filesystem, path = self._client.open(location)
            filesystem.delete(path, True)

    @override
    def require_writable(self, location: str) -> None:
        """Do nothing: the write itself finds out, and renaming is atomic."""

    @override
    def read_text(self, path: str) -> TextFile | None:
        if not self.exists(path):
            return None
        with self.open(path) as file:
            return TextFile(file.read().decode(errors="replace"))

    @override
    def replace_text(self, path: str, text: str, earlier: TextFile | None) -> None:
        with reaching(path):
            filesystem, target = self._client.open(path)
            draft = self._client.sibling(target, f".{target.getName()}.{uuid4().hex}")
            stream = filesystem.create(draft, True)
            try:
                stream.write(text.encode())
            finally:
                stream.close()
            self._client.replace(draft, target)

    def _walk(self, filesystem: Any, root: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - objects of the JVM
        """Yield the data files below a root, each with its path relative to it and its FileStatus."""
        prefix = root.toString().rstrip("/") + "/"
        listing = filesystem.listFiles(root, True)
        while listing.hasNext():
            status = listing.next()
            path = status.getPath().toString()
            if not path.startswith(prefix):  # the root itself, a file
                yield path.rpartition("/")[2], status
                continue
            name = path.removeprefix(prefix)
            if not any(hidden(part) for part in name.split("/")):
                yield name, status

    def _digest(self, filesystem: Any, status: Any) -> str:  # noqa: ANN401 - objects of the JVM
        checksum = filesystem.getFileChecksum(status.getPath())
        if checksum is not None:
            return str(checksum.toString())
        return self._client.etag(status)


class _Stream(io.RawIOBase):
    """A Hadoop file with Python's file interface."""

    def __init__(self, client: HadoopClient, path: str, stream: Any, size: int) -> None:  # noqa: ANN401
        self._client = client
        self._path = path
        self._stream = stream
        self._size = size
        self._position = 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    @override
    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    @override
    def readinto(self, buffer: Buffer) -> int:
        target = memoryview(buffer)
        length = max(0, min(len(target), self._size - self._position))
        if length:
            with reaching(self._path):
                target[:length] = self._client.read(self._stream, self._position, length)
            self._position += length
        return length

    @override
    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _entry(name: str, status: Any) -> Entry:  # noqa: ANN401 - an object of the JVM
    return Entry(name, status.getLen(), status.getModificationTime() * 1_000_000, status.isDirectory())
