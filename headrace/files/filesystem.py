"""Files on any filesystem: local ones directly, all others through Hadoop."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote
from uuid import uuid4

from typing_extensions import override

from headrace.spark.errors import StoreUnavailable

_BLOCK = 1 << 20
_SYNCED_PARENTS = 3  # those of a dataset, of its domain, and the warehouse
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file: its path relative to the location, its length, and the filesystem's checksum."""

    name: str
    path: str
    byte_size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A directory entry: the name, and for a file its length and modification time.

    name: relative to the listed directory. modified_ns: nanoseconds since 1970, at the filesystem's resolution.
    """

    name: str
    byte_size: int
    modified_ns: int
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text that was read from a file, and the file's ETag ('' on filesystems without them)."""

    text: str
    etag: str = ""


class Files(Protocol):
    """The operations on a filesystem. Locations are Hadoop path strings, taken literally, never decoded."""

    def data_files(self, location: str) -> list[StoredFile]:
        """Return the data files at a location (a directory or a single file), sorted by name, without hidden ones."""

    def sizes(self, location: str) -> list[int]:
        """Return the lengths of the data files at a location, unordered."""

    def listing(self, location: str) -> list[Entry]:
        """List the unread data files at a location, sorted by name; empty if it does not exist."""

    def entries(self, location: str) -> list[Entry]:
        """List the direct children of a directory, sorted by name, without hidden ones; empty if it does not exist."""

    def open(self, path: str) -> BinaryIO:
        """Open a seekable file for reading."""

    def make_directory(self, location: str) -> None:
        """Create a directory and its parents."""

    def sync(self, location: str) -> None:
        """Write the files below a location to disk, so that published versions survive a crash of the machine."""

    def exists(self, location: str) -> bool:
        """Return True if the file or directory exists."""

    def folders(self, location: str) -> list[str]:
        """Return the names of the directories directly below a location, sorted; empty if it does not exist."""
        return [entry.name for entry in self.entries(location) if entry.is_directory]

    def delete(self, location: str) -> None:
        """Delete a file, or a directory with its contents."""

    def require_writable(self, location: str) -> None:
        """Raise StoreUnavailable if a run may not, or could not safely, write below a location."""

    def read_text(self, path: str) -> TextFile | None:
        """Read a text file; None if it does not exist."""

    def replace_text(self, path: str, text: str, earlier: TextFile | None) -> None:
        """Replace a text file atomically: readers see the old or the new content.

        earlier: the text that was read (None: there was no file). In object storage nothing else is replaced: raises
        StoreUnavailable if the file has changed since.
        """


def file_locations(files: Files, location: str) -> list[str]:
    """Return the location of each data file at a location, without reading the files."""
    names = [entry.name for entry in files.listing(location)]
    if names == [location.rpartition("/")[2]] and not files.exists(f"{location}/{names[0]}"):
        return [location]
    return [f"{location}/{name}" for name in names]


def normalised(uri: str) -> str:
    """Normalise a warehouse setting to a prefix of locations: file: URIs decoded, no trailing slash."""
    return (unquote(uri) if is_local(uri) else uri).rstrip("/")


def is_local(uri: str) -> bool:
    """Return True if the location is a local path."""
    scheme = _SCHEME.match(uri)
    return scheme is None or scheme[1] == "file"


def local_path(location: str) -> Path:
    """Return the path of a file: location. Raises StoreUnavailable for '', the working directory."""
    if not location:
        raise StoreUnavailable("There are no files: the version was registered without a location.")
    path = location.removeprefix("file:")
    return Path("/" + path.lstrip("/")) if location.startswith("file:") else Path(path)


class LocalFiles(Files):
    """The local filesystem, including the checksums that Hadoop stores in hidden files."""

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
                # A file renamed in the meantime, or a dangling link, does not exist.
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
    def sync(self, location: str) -> None:
        with reaching(location):
            root = local_path(location)
            for folder, _, names in os.walk(root, onerror=_raise):
                for name in names:
                    _sync(Path(folder) / name)
                _sync(Path(folder))
            for parent in list(root.parents)[:_SYNCED_PARENTS]:  # which name the new directories
                _sync(parent)

    @override
    def exists(self, location: str) -> bool:
        return local_path(location).exists()

    @override
    def delete(self, location: str) -> None:
        with reaching(location):
            path = local_path(location)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    @override
    def require_writable(self, location: str) -> None:
        """Do nothing: the write itself finds out, and renaming is atomic."""

    @override
    def read_text(self, path: str) -> TextFile | None:
        with reaching(path):
            try:
                return TextFile(local_path(path).read_text(encoding="utf-8", errors="replace"))
            except FileNotFoundError:
                return None

    @override
    def replace_text(self, path: str, text: str, earlier: TextFile | None) -> None:
        with reaching(path):
            target = local_path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.{uuid4().hex}")
            try:
                draft.write_text(text, encoding="utf-8")
                _sync(draft)
                draft.replace(target)
                _sync(target.parent)
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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def reaching(location: str) -> Iterator[None]:
    """Convert filesystem errors to StoreUnavailable."""
    from headrace.spark.failures import unavailable

    try:
        yield
    except Exception as error:
        explained = unavailable(error, location)
        if explained is None:
            raise
        raise explained from error


def _entry(name: str, status: os.stat_result, is_directory: bool = False) -> Entry:
    return Entry(name, status.st_size, status.st_mtime_ns, is_directory)


def _raise(error: OSError) -> None:
    raise error


def hidden(name: str) -> bool:
    """Return True for files that Spark does not treat as data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def by_name(file: StoredFile | Entry) -> str:
    """Return the sort key of listings."""
    return file.name


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
