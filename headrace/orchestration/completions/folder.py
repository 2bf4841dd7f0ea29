# ruff: noqa: PTH104, PTH105, PTH110, PTH116 - for each of 100,000 files, a Path costs more than what is done with it
"""The folder of completion files: which of them are complete, and where they are moved after reading."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import monotonic, time
from typing import Protocol
from uuid import uuid4

MIN_UNCHANGED_SECONDS = 1.0  # after which a file counts as complete
REASON = ".reason.txt"
MAX_NAME_BYTES = 200  # bytes of a name; filesystems allow 255
_ARCHIVE, _QUARANTINE, _CLAIMED = "archive", "quarantine", ".claimed"
_UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".filepart", ".writing", ".crdownload", ".swp", "~")


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """A file claimed by this process. name: as dropped; place: its current path; stamp: changes with the file."""

    name: str
    place: str
    byte_size: int
    modified: datetime
    stamp: tuple[object, ...]

    @property
    def age(self) -> float:
        """Seconds since it was last written."""
        return time() - self.modified.timestamp()


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file that could not be ingested. reason: the content of its reason file, one line per error."""

    name: str
    place: str
    reason: str


class Folder(Protocol):
    """A folder of completion files. A process that dies between two of these calls loses no file."""

    location: str

    def drop(self, name: str, data: bytes) -> None:
        """Write a complete file for the next reading. Raises OSError."""

    def left(self) -> list[ClaimedFile]:
        """Return the files claimed by dead processes."""

    def claim(self, limit: int) -> list[ClaimedFile]:
        """Claim up to so many complete files, including files that were claimed before and not moved."""

    def read(self, file: ClaimedFile) -> bytes:
        """Return the bytes of a file. Raises FileNotFoundError if it was removed meanwhile, OSError."""

    def archive(self, file: ClaimedFile) -> bool:
        """Move a file to the archive; False, without moving it, if it was written to meanwhile."""

    def quarantine(self, file: ClaimedFile, reason: str) -> bool:
        """Move an invalid file to quarantine, with its reason file; False, without moving it, if it was written to
        meanwhile."""

    def quarantined(self) -> list[QuarantinedFile]:
        """Return the quarantined files by name."""

    def retry(self, name: str) -> None:
        """Drop a quarantined file again. Raises FileNotFoundError, FileExistsError."""


def is_dropped(name: str) -> bool:
    """Return True for the name of a finished file: not hidden, and without an extension of unfinished files."""
    return not name.startswith((".", "_")) and not name.lower().endswith(_UNFINISHED)


def archive_day() -> str:
    """Return the folder of today's files in the archive."""
    return f"{datetime.now(UTC):%Y/%m/%d}"


def another(name: str) -> str:
    """Return the name for a second file with the same name."""
    stem, dot, ending = name.rpartition(".")
    token = uuid4().hex[:12]
    return f"{stem}.{token}.{ending}" if dot and stem else f"{name}.{token}"


class LocalFolder:
    """A local or mounted folder.

    A file is claimed by renaming it, so that a new file with its name is a different one. It is complete if it was
    renamed after it was written (its status changed later than its content), or has not changed for a second.
    """

    def __init__(self, path: Path) -> None:
        self.location = str(path)
        self._path = path
        self._claims = path / _CLAIMED
        self._tokens = (f"{token}.{number}" for token in [uuid4().hex[:12]] for number in count())
        self._seen: dict[str, tuple[int, int, float]] = {}
        self._made: set[str] = set()
        self._claims.mkdir(parents=True, exist_ok=True)

    def drop(self, name: str, data: bytes) -> None:
        """Write a file, see `Folder`."""
        unfinished = self._path / f".{name}.tmp"
        unfinished.write_bytes(data)
        unfinished.rename(self._path / name)

    def left(self) -> list[ClaimedFile]:
        """Return the files claimed by dead processes, see `Folder`."""
        found = []
        with os.scandir(self._claims) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found.append(_claimed(entry.name.partition("+")[2], entry.path, entry.stat()))
        return found

    def claim(self, limit: int) -> list[ClaimedFile]:
        """Claim files, see `Folder`. Lists no more of the folder than needed."""
        found: list[ClaimedFile] = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if len(found) >= limit:
                    break
                claimed = self._claim(entry)
                if claimed is not None:
                    found.append(claimed)
        return found

    def read(self, file: ClaimedFile) -> bytes:
        """Read a file, see `Folder`."""
        return Path(file.place).read_bytes()

    def archive(self, file: ClaimedFile) -> bool:
        """Archive a file, see `Folder`."""
        if _stamp(os.stat(file.place)) != file.stamp:
            return False
        self._put(file.place, f"{self.location}/{_ARCHIVE}/{archive_day()}", file.name)
        return True

    def quarantine(self, file: ClaimedFile, reason: str) -> bool:
        """Quarantine a file, see `Folder`. The reason is written first, so that no file is without one."""
        found = Path(file.place).stat()
        if _stamp(found) != file.stamp:
            return False
        modified = found.st_mtime_ns
        folder = Path(self._folder(f"{self.location}/{_QUARANTINE}"))
        name = another(file.name) if (folder / file.name).exists() else file.name
        hidden = folder / f".{name}{REASON}"
        hidden.write_text(reason, encoding="utf-8", errors="replace")
        os.utime(
            hidden, ns=(modified, modified)
        )  # a report without a time uses its file's, also after it was corrected
        hidden.replace(folder / f"{name}{REASON}")
        Path(file.place).replace(folder / name)
        return True

    def quarantined(self) -> list[QuarantinedFile]:
        """List quarantined files, see `Folder`."""
        folder = self._path / _QUARANTINE
        if not folder.is_dir():
            return []
        files = [
            each
            for each in sorted(folder.iterdir())
            if is_dropped(each.name) and not each.name.endswith(REASON)
        ]
        return [QuarantinedFile(file.name, str(file), _reason(file)) for file in files]

    def retry(self, name: str) -> None:
        """Retry a file, see `Folder`."""
        file = self._path / _QUARANTINE / Path(name).name
        target = self._path / file.name
        if not file.exists():
            raise FileNotFoundError(f"{file} is not there")
        if target.exists():
            raise FileExistsError(f"{target} already exists, and waits to be read")
        reason = file.with_name(f"{file.name}{REASON}")
        if reason.exists():
            modified = reason.stat().st_mtime_ns
            os.utime(file, ns=(modified, modified))
        file.rename(target)
        reason.unlink(missing_ok=True)

    def _claim(self, entry: os.DirEntry[str]) -> ClaimedFile | None:
        """Return the claimed file, if it is complete."""
        try:
            if not is_dropped(entry.name) or not entry.is_file():
                return None
            if not self._is_whole(entry.name, entry.stat()) or _is_open_for_writing(entry.path):
                return None
            place = f"{self._claims}/{next(self._tokens)}+{_shortened(entry.name)}"
            os.rename(entry.path, place)
            return _claimed(entry.name, place, os.stat(place))
        except FileNotFoundError:
            return None  # its writer took it back

    def _is_whole(self, name: str, found: os.stat_result) -> bool:
        now, changed = time(), max(found.st_mtime, found.st_ctime)
        if found.st_ctime_ns > found.st_mtime_ns or now - changed >= MIN_UNCHANGED_SECONDS:
            self._seen.pop(name, None)
            return True
        # The clock of the file server may be ahead.
        size, modified, since = self._seen.get(name, (-1, -1, 0.0))
        if (size, modified) != (found.st_size, found.st_mtime_ns):
            self._seen[name] = (found.st_size, found.st_mtime_ns, monotonic())
            return False
        return monotonic() - since >= MIN_UNCHANGED_SECONDS

    def _put(self, place: str, folder: str, name: str) -> None:
        target = f"{self._folder(folder)}/{name}"
        os.replace(place, f"{folder}/{another(name)}" if os.path.exists(target) else target)

    def _folder(self, folder: str) -> str:
        if folder not in self._made:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return folder


def _shortened(name: str) -> str:
    """Shorten a name to leave room for prefix and suffix; its extension gives the format."""
    raw = os.fsencode(name)
    return (
        name
        if len(raw) <= MAX_NAME_BYTES
        else os.fsdecode(raw[: MAX_NAME_BYTES // 2] + b"..." + raw[-MAX_NAME_BYTES // 2 :])
    )


def _is_open_for_writing(path: str) -> bool:
    """Return True if a process has the file open for writing, if the system knows: Linux refuses a lease on such
    a file."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError:
        return False  # reading it will raise the error
    try:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return (
            error.errno == errno.EAGAIN
        )  # other errors mean that leases are not available for this file or user
    finally:
        os.close(handle)
    return False


def _claimed(name: str, place: str, found: os.stat_result) -> ClaimedFile:
    return ClaimedFile(name, place, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC), _stamp(found))


def _stamp(found: os.stat_result) -> tuple[object, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _reason(file: Path) -> str:
    try:
        return file.with_name(f"{file.name}{REASON}").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return "without a reason file"
