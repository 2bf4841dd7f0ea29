"""Event demon log files: the instance, start time and order of each, and which are copies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from pathlib import Path

IDENTIFYING_BYTES = 4096  # first bytes of a log that identify it
_HEAD_BYTES = 64 * 1024  # bytes within which a log has its first time
_TIME = re.compile(rb"^\[?(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d).*\n", re.MULTILINE)
_UNKNOWN = datetime(1, 1, 1)  # noqa: DTZ001 - local, as the times that it is compared with


def instance_of(name: str) -> str:
    """Return the scheduler in a log's name: `ACE` in `event_demon.ACE` and `event_demon.ACE.11262026`; otherwise ''."""
    parts = name.split(".")
    return (
        parts[1]
        if parts[0] == "event_demon" and len(parts) > 1 and parts[1].isalnum() and parts[1] != "log"
        else ""
    )


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Sort logs by their first time, which names and dates may not show; of copies only the longest is kept."""
    found: list[tuple[bytes, Path]] = []
    for path in sorted(paths, key=lambda path: (-_size(path), path.name)):
        bytes_ = first_bytes(path, IDENTIFYING_BYTES)
        if bytes_ and not any(_same_lines(bytes_, other) for other, _ in found):
            found.append((bytes_, path))
    return sorted((path for _, path in found), key=lambda path: (_first_time(path) or _UNKNOWN, path.name))


def is_copy(one: Path, other: Path) -> bool:
    """Return True if two logs are the same, or one of them is an earlier copy of the other."""
    return _same_lines(first_bytes(one, IDENTIFYING_BYTES), first_bytes(other, IDENTIFYING_BYTES))


def _same_lines(one: bytes, other: bytes) -> bool:
    """Return True if two first lines are equal: at least one line with a time, as all logs may start alike."""
    length = min(len(one), len(other))
    return one[:length] == other[:length] and _TIME.search(one[:length]) is not None


def begins_at(path: Path, zone: tzinfo) -> datetime | None:
    """Return the first time in a log, in UTC; of a repeated hour the later pass. None if its first bytes have none."""
    local = _first_time(path)
    return local and local.replace(tzinfo=zone, fold=1).astimezone(UTC)


def _first_time(path: Path) -> datetime | None:
    for found in _TIME.finditer(first_bytes(path)):
        month, day, year, hour, minute, second = map(int, found.groups())
        try:
            return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - the log names no zone
        except ValueError:
            continue  # the line is reported when it is read
    return None


def first_bytes(path: Path, count: int = _HEAD_BYTES) -> bytes:
    """Return the first bytes of a file; empty for one purged since it was listed."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except FileNotFoundError:
        return b""


def _size(path: Path) -> int:
    """Return the size in bytes; 0 for a missing file, such as a log at the moment of its rotation."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
