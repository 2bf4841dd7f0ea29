"""The ends of the log files of jobs, from the folders of logs that the settings name and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Annotated
from urllib.parse import unquote, urlsplit

from headrace.access.redaction import redacted
from headrace.access.sensitivity import Public, Sensitive

MAX_LOG_BYTES = 64 * 1024  # of a log, from its end


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of a log file, without secrets. size: of the file, in bytes. problem: why there is no text."""

    location: Annotated[str | None, Sensitive.LOCATION]
    text: Annotated[str | None, Sensitive.ERROR] = None
    size: int | None = None
    complete: bool = False
    changed_at: datetime | None = None
    problem: Public[str | None] = None


def log_end(location: str | None, folders: Sequence[Path]) -> LogEnd:
    """Return the last whole lines of the log at a location: a path, or a file: URI, in one of the folders.

    Links are followed first, since the location is what a job reported. Of a folder, as Dagster has one for each run,
    the file that was written last.
    """
    if location is None:
        return LogEnd(None, problem="No log was reported.")
    try:
        url = urlsplit(location)
        if url.scheme not in {"", "file"} or url.netloc not in {"", "localhost"}:
            return LogEnd(location, problem="The log is not in a folder that this service can read.")
        path = Path(unquote(url.path) if url.scheme else location).resolve()
        if not path.is_absolute() or not any(path.is_relative_to(folder.resolve()) for folder in folders):
            return LogEnd(
                location, problem="The log is not in one of the folders of the setting log_folders."
            )
        if path.is_dir():
            path = _newest(path)
            location = str(path)
        return _read(location, path)
    except (OSError, ValueError) as error:  # ValueError: no URL, or a NUL in it
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return LogEnd(location, problem=f"The log cannot be read: {reason}.")


def _newest(folder: Path) -> Path:
    """Return the file written last, if one is not empty; the folder itself if there is none."""
    files = [each for each in folder.iterdir() if each.is_file() and not each.is_symlink()]
    return max(files, key=lambda each: (each.stat().st_size > 0, each.stat().st_mtime), default=folder)


def _read(location: str, path: Path) -> LogEnd:
    # Not blocking: a pipe in place of the log would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return LogEnd(location, problem="The log is not a file.")
        start = max(status.st_size - MAX_LOG_BYTES, 0)
        file.seek(start)
        found = file.read(MAX_LOG_BYTES)
    if start:
        found = found.partition(b"\n")[2] or found
    return LogEnd(
        location,
        text=redacted(found.decode("utf-8", "replace")),
        size=status.st_size,
        complete=start == 0,
        changed_at=datetime.fromtimestamp(status.st_mtime, UTC),
    )
