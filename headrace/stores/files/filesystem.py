"""Files of the warehouse on any filesystem: local ones directly, all others through Hadoop."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import unquote
from uuid import uuid4

from typing_extensions import override

if TYPE_CHECKING:
    pass

_BLOCK = 1 << 20
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file: its path relative to the location, its length, and the filesystem's own word on its content."""

    name: str
    path: str
    byte_size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What a listing tells without reading: the name, and of a file its length and when it last changed.

    name: relative to what was listed. modified_ns: nanoseconds since 1970, as exact as the filesystem keeps them.
    """

    name: str
    byte_size: int
    modified_ns: int
    is_directory: bool = False


class Files(Protocol):
    """What the store needs of a filesystem. Locations are Hadoop path strings, taken literally, never decoded."""

    def data_files(self, location: str) -> list[StoredFile]:
        """The data files at a location (a directory or a single file), sorted by name; hidden ones are left out."""

    def sizes(self, location: str) -> list[int]:
        """The lengths of the data files at a location, in no order."""

    def listing(self, location: str) -> list[Entry]:
        """The data files at a location, sorted by name, unread; none where nothing is."""

    def entries(self, location: str) -> list[Entry]:
        """What lies right below a directory, sorted by name, hidden names left out; nothing where there is none."""

    def open(self, path: str) -> BinaryIO:
        """A file for reading, at any place in it."""

    def make_directory(self, location: str) -> None:
        """Create a directory and its parents."""

    def exists(self, location: str) -> bool:
        """Whether a file or directory is there."""

    def folders(self, location: str) -> list[str]:
        """The names of the directories right below a location, sorted; none where there is no location."""
        return [entry.name for entry in self.entries(location) if entry.is_directory]

    def delete(self, location: str) -> None:
        """Delete a directory with everything in it."""

    def replace_text(self, path: str, text: str) -> None:
        """Put a text file in place as a whole: a reader sees the old or the new one."""


def normalised(uri: str) -> str:
    """A warehouse setting as the prefix of locations: percent-encoding of a file: URI undone, no trailing slash."""
    return (unquote(uri) if is_local(uri) else uri).rstrip("/")


def is_local(uri: str) -> bool:
    """Whether the location is a path of this machine."""
    scheme = _SCHEME.match(uri)
    return scheme is None or scheme[1] == "file"


def local_path(location: str) -> Path:
    """The path that a file: location means."""
    path = location.removeprefix("file:")
    return Path("/" + path.lstrip("/")) if location.startswith("file:") else Path(path)


class LocalFiles(Files):
    """This machine's filesystem, including the checksums that Hadoop keeps in hidden files beside its own."""

    @override
    def data_files(self, location: str) -> list[StoredFile]:
        with reaching(location):
            root = local_path(location)
            if root.is_file():
                return [self._stored(root, root.name)]
            found = [self._stored(path, path.relative_to(root).as_posix()) for path in self._walk(root)]
            return sorted(found, key=by_name)

    @override
    def sizes(self, location: str) -> list[int]:
        with reaching(location):
            root = local_path(location)
            return [path.stat().st_size for path in ([root] if root.is_file() else self._walk(root))]

    @override
    def listing(self, location: str) -> list[Entry]:
        with reaching(location):
            root = local_path(location)
            if root.is_file():
                return [_entry(root.name, root.stat())]
            if not root.is_dir():
                return []
            paths = self._walk(root)
            return sorted(
                (_entry(path.relative_to(root).as_posix(), path.stat()) for path in paths), key=by_name
            )

    @override
    def entries(self, location: str) -> list[Entry]:
        with reaching(location):
            root = local_path(location)
            found = []
            for item in os.scandir(root) if root.is_dir() else ():
                # What was renamed away meanwhile, or a link that leads nowhere, is not there.
                with suppress(FileNotFoundError):
                    if not hidden(item.name):
                        found.append(_entry(item.name, item.stat(), item.is_dir()))
            return sorted(found, key=by_name)

    @override
    def open(self, path: str) -> BinaryIO:
        with reaching(path):
            return local_path(path).open("rb")

    @override
    def make_directory(self, location: str) -> None:
        with reaching(location):
            local_path(location).mkdir(parents=True, exist_ok=True)

    @override
    def exists(self, location: str) -> bool:
        return local_path(location).exists()

    @override
    def delete(self, location: str) -> None:
        with reaching(location):
            shutil.rmtree(local_path(location))

    @override
    def replace_text(self, path: str, text: str) -> None:
        with reaching(path):
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
            folders[:] = [name for name in folders if not hidden(name)]
            yield from (Path(folder) / name for name in names if not hidden(name))

    def _stored(self, path: Path, name: str) -> StoredFile:
        crc = path.with_name(f".{path.name}.crc")
        digest = _sha256(crc if crc.exists() else path)
        return StoredFile(name, f"file://{path}", path.stat().st_size, digest)


@contextmanager
def reaching(location: str) -> Iterator[None]:
    """Turn what the filesystem throws into WarehouseUnavailable."""
    from headrace.spark.failures import unavailable

    try:
        yield
    except Exception as error:
        told = unavailable(error, location)
        if told is None:
            raise
        raise told from error


def _entry(name: str, status: os.stat_result, is_directory: bool = False) -> Entry:
    return Entry(name, status.st_size, status.st_mtime_ns, is_directory)


def _raise(error: OSError) -> None:
    raise error


def hidden(name: str) -> bool:
    """As Spark decides which files are data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def by_name(file: StoredFile | Entry) -> str:
    """What listings are sorted by."""
    return file.name


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
