"""Files of the warehouse on any filesystem: those of this machine directly, all others through Hadoop."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote
from uuid import uuid4

from typing_extensions import override

from resources.errors import WarehouseUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file: its path relative to the location, its length, and the filesystem's own word on its content."""

    name: str
    path: str
    byte_size: int
    digest: str


class Files(Protocol):
    """What the store needs of a filesystem. Locations are Hadoop path strings, taken literally, never decoded."""

    def data_files(self, location: str) -> list[StoredFile]:
        """The data files at a location (a directory or a single file), sorted by name; hidden ones are left out."""

    def sizes(self, location: str) -> list[int]:
        """The lengths of the data files at a location, in no order."""

    def tail(self, path: str, length: int, file_size: int) -> bytes:
        """The last `length` bytes of a file."""

    def make_directory(self, location: str) -> None:
        """Create a directory and its parents."""

    def exists(self, location: str) -> bool:
        """Whether a file or directory is there."""

    def folders(self, location: str) -> list[str]:
        """The names of the directories right below a location, sorted; none where there is no location."""

    def delete(self, location: str) -> None:
        """Delete a directory with everything in it."""

    def replace_text(self, path: str, text: str) -> None:
        """Put a text file in place as a whole: a reader sees the old or the new one."""


def files_for(uri: str, session: SparkSession) -> Files:
    """The filesystem of a location.

    Raises WarehouseUnavailable for one that needs Hadoop when Spark runs behind Spark Connect, where there is
    no way to it.
    """
    if is_local(uri):
        return LocalFiles()
    if not hasattr(session, "_jsparkSession"):
        raise WarehouseUnavailable(
            f"With Spark Connect the warehouse must be a folder of a filesystem mounted here (file:///...), not "
            f"{uri}."
        )
    return HadoopFiles(session)


def normalised(uri: str) -> str:
    """A warehouse setting as the prefix of locations: percent-encoding of a file: URI undone, no trailing slash."""
    return (unquote(uri) if is_local(uri) else uri).rstrip("/")


def is_local(uri: str) -> bool:
    """Whether the location is a path of this machine."""
    return uri.startswith("file:") or "://" not in uri


def local_path(location: str) -> Path:
    """The path that a file: location means."""
    path = location.removeprefix("file:")
    return Path("/" + path.lstrip("/")) if location.startswith("file:") else Path(path)


class LocalFiles(Files):
    """This machine's filesystem, including the checksums that Hadoop keeps in hidden files beside its own."""

    @override
    def data_files(self, location: str) -> list[StoredFile]:
        with _reaching(location):
            root = local_path(location)
            if root.is_file():
                return [self._stored(root, root.name)]
            found = [self._stored(path, path.relative_to(root).as_posix()) for path in self._walk(root)]
            return sorted(found, key=_by_name)

    @override
    def sizes(self, location: str) -> list[int]:
        with _reaching(location):
            root = local_path(location)
            return [path.stat().st_size for path in ([root] if root.is_file() else self._walk(root))]

    @override
    def tail(self, path: str, length: int, file_size: int) -> bytes:
        with _reaching(path), local_path(path).open("rb") as file:
            file.seek(max(0, file_size - length))
            return file.read(length)

    @override
    def make_directory(self, location: str) -> None:
        with _reaching(location):
            local_path(location).mkdir(parents=True, exist_ok=True)

    @override
    def exists(self, location: str) -> bool:
        return local_path(location).exists()

    @override
    def folders(self, location: str) -> list[str]:
        with _reaching(location):
            root = local_path(location)
            return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []

    @override
    def delete(self, location: str) -> None:
        with _reaching(location):
            shutil.rmtree(local_path(location))

    @override
    def replace_text(self, path: str, text: str) -> None:
        with _reaching(path):
            target = local_path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.{uuid4().hex}")
            try:
                draft.write_text(text, encoding="utf-8")
                draft.replace(target)
            finally:
                draft.unlink(missing_ok=True)

    def _walk(self, root: Path) -> Iterator[Path]:
        for folder, folders, names in os.walk(root, onerror=_raise):
            folders[:] = [name for name in folders if not _hidden(name)]
            yield from (Path(folder) / name for name in names if not _hidden(name))

    def _stored(self, path: Path, name: str) -> StoredFile:
        crc = path.with_name(f".{path.name}.crc")
        digest = _sha256(crc if crc.exists() else path)
        return StoredFile(name, f"file://{path}", path.stat().st_size, digest)


class HadoopFiles(Files):
    """Any filesystem that Spark's Hadoop client knows."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._gateway: Any = session.sparkContext._gateway
        self._conf: Any = session._jsparkSession.sessionState().newHadoopConf()

    @override
    def data_files(self, location: str) -> list[StoredFile]:
        with _reaching(location):
            filesystem, root = self._open(location)
            found = [
                StoredFile(
                    name, status.getPath().toString(), status.getLen(), self._digest(filesystem, status)
                )
                for name, status in self._walk(filesystem, root)
            ]
            return sorted(found, key=_by_name)

    @override
    def sizes(self, location: str) -> list[int]:
        with _reaching(location):
            return [status.getLen() for _, status in self._walk(*self._open(location))]

    @override
    def tail(self, path: str, length: int, file_size: int) -> bytes:
        with _reaching(path):
            filesystem, file = self._open(path)
            length = min(length, file_size)
            stream = filesystem.open(file)
            try:
                stream.seek(file_size - length)
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, length))
            finally:
                stream.close()

    @override
    def make_directory(self, location: str) -> None:
        with _reaching(location):
            filesystem, path = self._open(location)
            filesystem.mkdirs(path)

    @override
    def exists(self, location: str) -> bool:
        with _reaching(location):
            filesystem, path = self._open(location)
            return bool(filesystem.exists(path))

    @override
    def folders(self, location: str) -> list[str]:
        with _reaching(location):
            filesystem, root = self._open(location)
            if not filesystem.exists(root):
                return []
            found = filesystem.listStatus(root)
            return sorted(status.getPath().getName() for status in found if status.isDirectory())

    @override
    def delete(self, location: str) -> None:
        with _reaching(location):
            filesystem, path = self._open(location)
            filesystem.delete(path, True)

    @override
    def replace_text(self, path: str, text: str) -> None:
        with _reaching(path):
            filesystem, target = self._open(path)
            draft = self._jvm.org.apache.hadoop.fs.Path(
                target.getParent(), f".{target.getName()}.{uuid4().hex}"
            )
            stream = filesystem.create(draft, True)
            try:
                stream.write(text.encode())
            finally:
                stream.close()
            # FileSystem.rename does not replace everywhere; FileContext's does, in one step where the store
            # can.
            rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
            overwrite = self._gateway.new_array(rename, 1)
            overwrite[0] = rename.OVERWRITE
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(target.toUri(), self._conf)
            context.rename(context.makeQualified(draft), context.makeQualified(target), overwrite)

    def _walk(self, filesystem: Any, root: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - objects of the JVM
        """The data files below a root, each with its path relative to it and its FileStatus."""
        prefix = root.toString().rstrip("/") + "/"
        listing = filesystem.listFiles(root, True)
        while listing.hasNext():
            status = listing.next()
            path = status.getPath().toString()
            name = path.removeprefix(prefix) if path.startswith(prefix) else path.rpartition("/")[2]
            if not any(_hidden(part) for part in name.split("/")):
                yield name, status

    def _open(self, location: str) -> tuple[Any, Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        filesystem = path.getFileSystem(self._conf)
        return filesystem, filesystem.makeQualified(path)

    def _digest(self, filesystem: Any, status: Any) -> str:  # noqa: ANN401 - objects of the JVM
        checksum = filesystem.getFileChecksum(status.getPath())
        if checksum is not None:
            return str(checksum.toString())
        tagged = self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.EtagSource")
        return str(status.getEtag()) if tagged.isInstance(status) else ""


@contextmanager
def _reaching(location: str) -> Iterator[None]:
    """Turn what the filesystem throws into WarehouseUnavailable."""
    from resources.failures import unavailable

    try:
        yield
    except Exception as error:
        told = unavailable(error, location)
        if told is None:
            raise
        raise told from error


def _raise(error: OSError) -> None:
    raise error


def _hidden(name: str) -> bool:
    """As Spark decides which files are data."""
    return name.startswith((".", "_")) and "=" not in name


def _by_name(file: StoredFile) -> str:
    return file.name


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
