# ruff: noqa: PTH104, PTH105, PTH110, PTH116 - for each of 100,000 files, a Path costs more than what is done with it
"""The folder where completion files are dropped: which of them are whole, and where they go once they were read."""

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

SETTLED = 1.0  # seconds for which a file has not changed that is taken to be whole
REASON = ".reason.txt"
MAX_NAME_BYTES = 200  # bytes of a name; filesystems take 255
_ARCHIVE, _QUARANTINE, _CLAIMED = "archive", "quarantine", ".claimed"
_UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".filepart", ".writing", ".crdownload", ".swp", "~")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A file that nobody else reads now. name: as it was dropped; place: where it is; stamp: changes when it does."""

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
class Quarantined:
    """A file that could not be taken. reason: what is beside it, one line for each thing that is wrong."""

    name: str
    place: str
    reason: str


class Folder(Protocol):
    """A place where completion files are dropped. Whoever dies between two of these calls loses no file."""

    location: str

    def left(self) -> list[Claimed]:
        """The files that a process had claimed which died."""

    def claim(self, limit: int) -> list[Claimed]:
        """Up to so many whole files; they may be those that were claimed before and have not been put away."""

    def read(self, file: Claimed) -> bytes:
        """The bytes of a file. Raises FileNotFoundError when somebody took it away, OSError."""

    def archive(self, file: Claimed) -> bool:
        """Put a file that has been read away; False, and it stays, when it was written to meanwhile."""

    def quarantine(self, file: Claimed, reason: str) -> bool:
        """Put a bad file away, with the reason beside it; False, and it stays, when it was written to meanwhile."""

    def quarantined(self) -> list[Quarantined]:
        """What is in quarantine, by name."""

    def retry(self, name: str) -> None:
        """Drop a file in quarantine once more. Raises FileNotFoundError, FileExistsError."""


def is_dropped(name: str) -> bool:
    """Whether a name is that of a finished file: not hidden, and not as writers name what they have not finished."""
    return not name.startswith((".", "_")) and not name.lower().endswith(_UNFINISHED)


def archive_day() -> str:
    """Where a file of today goes below the archive."""
    return f"{datetime.now(UTC):%Y/%m/%d}"


def another(name: str) -> str:
    """The name under which a second file of a name is kept."""
    stem, dot, ending = name.rpartition(".")
    token = uuid4().hex[:12]
    return f"{stem}.{token}.{ending}" if dot and stem else f"{name}.{token}"


class LocalFolder:
    """A folder of this machine, or one that is mounted here.

    A file is claimed by renaming it, so that a new file of its name is another file. It is whole when it was renamed to
    its name after it was written (its status changed later than its content), or has not changed for a second.
    """

    def __init__(self, path: Path) -> None:
        self.location = str(path)
        self._path = path
        self._claims = path / _CLAIMED
        self._tokens = (f"{token}.{number}" for token in [uuid4().hex[:12]] for number in count())
        self._seen: dict[str, tuple[int, int, float]] = {}
        self._made: set[str] = set()
        self._claims.mkdir(parents=True, exist_ok=True)

    def left(self) -> list[Claimed]:
        """See `Folder`."""
        found = []
        with os.scandir(self._claims) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found.append(_claimed(entry.name.partition("+")[2], entry.path, entry.stat()))
        return found

    def claim(self, limit: int) -> list[Claimed]:
        """See `Folder`. Looks at no more of the folder than it needs."""
        found: list[Claimed] = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if len(found) >= limit:
                    break
                claimed = self._claim(entry)
                if claimed is not None:
                    found.append(claimed)
        return found

    def read(self, file: Claimed) -> bytes:
        """See `Folder`."""
        return Path(file.place).read_bytes()

    def archive(self, file: Claimed) -> bool:
        """See `Folder`."""
        if _stamp(os.stat(file.place)) != file.stamp:
            return False
        self._put(file.place, f"{self.location}/{_ARCHIVE}/{archive_day()}", file.name)
        return True

    def quarantine(self, file: Claimed, reason: str) -> bool:
        """See `Folder`. The reason comes first, so that no file is there without one."""
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
        )  # a report without a time has its file's, also after it was put right
        hidden.replace(folder / f"{name}{REASON}")
        Path(file.place).replace(folder / name)
        return True

    def quarantined(self) -> list[Quarantined]:
        """See `Folder`."""
        folder = self._path / _QUARANTINE
        if not folder.is_dir():
            return []
        files = [
            each
            for each in sorted(folder.iterdir())
            if is_dropped(each.name) and not each.name.endswith(REASON)
        ]
        return [Quarantined(file.name, str(file), _reason(file)) for file in files]

    def retry(self, name: str) -> None:
        """See `Folder`."""
        file = self._path / _QUARANTINE / Path(name).name
        target = self._path / file.name
        if not file.exists():
            raise FileNotFoundError(f"{file} is not there")
        if target.exists():
            raise FileExistsError(f"{target} is there already, and waits to be read")
        reason = file.with_name(f"{file.name}{REASON}")
        if reason.exists():
            modified = reason.stat().st_mtime_ns
            os.utime(file, ns=(modified, modified))
        file.rename(target)
        reason.unlink(missing_ok=True)

    def _claim(self, entry: os.DirEntry[str]) -> Claimed | None:
        """The file under its claim, if it is whole."""
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
        if found.st_ctime_ns > found.st_mtime_ns or now - changed >= SETTLED:
            self._seen.pop(name, None)
            return True
        # The clock of whoever keeps the files may be ahead of ours.
        size, modified, since = self._seen.get(name, (-1, -1, 0.0))
        if (size, modified) != (found.st_size, found.st_mtime_ns):
            self._seen[name] = (found.st_size, found.st_mtime_ns, monotonic())
            return False
        return monotonic() - since >= SETTLED

    def _put(self, place: str, folder: str, name: str) -> None:
        target = f"{self._folder(folder)}/{name}"
        os.replace(place, f"{folder}/{another(name)}" if os.path.exists(target) else target)

    def _folder(self, folder: str) -> str:
        if folder not in self._made:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return folder


def _shortened(name: str) -> str:
    """A name that leaves room for what stands before and behind it; its end says what kind of file it is."""
    raw = os.fsencode(name)
    return (
        name
        if len(raw) <= MAX_NAME_BYTES
        else os.fsdecode(raw[: MAX_NAME_BYTES // 2] + b"..." + raw[-MAX_NAME_BYTES // 2 :])
    )


def _is_open_for_writing(path: str) -> bool:
    """Whether somebody still writes to the file, where the system knows: Linux refuses a lease on such a file."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError:
        return False  # reading it will say so
    try:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN  # anything else says that leases are not for this file or user
    finally:
        os.close(handle)
    return False


def _claimed(name: str, place: str, found: os.stat_result) -> Claimed:
    return Claimed(name, place, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC), _stamp(found))


def _stamp(found: os.stat_result) -> tuple[object, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _reason(file: Path) -> str:
    try:
        return file.with_name(f"{file.name}{REASON}").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return "no reason is beside it"
