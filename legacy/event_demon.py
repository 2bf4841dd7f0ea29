"""The event demon's log, read as it grows or as files that were kept: across its rotation, in the order of time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel

from catalog.run_events import RunEvent
from legacy.demon_lines import WrongLine
from legacy.demon_runs import DemonRuns, DemonState
from legacy.findings import Finding, Gravity
from legacy.statuses import UnknownStatus

_BLOCK = 1 << 20
_IDENTIFYING = 4096  # bytes at the beginning of a log that tell it from others
_LOOKED_AT = 64 * 1024  # bytes in which a log shows its first time
_TIME = re.compile(rb"^\[?(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d).*\n", re.MULTILINE)
_UNKNOWN = datetime(1, 1, 1)  # noqa: DTZ001 - local, as the times that it is compared with
_COMPRESSED = {".gz", ".Z", ".bz2", ".xz", ".zst", ".zip"}
_OUT_OF_ORDER = timedelta(minutes=5)  # the demon's threads write side by side, at midnight too
_ROTATION = timedelta(days=1)  # a log that begins later than this after another is not the next one


class LogPosition(BaseModel):
    """Where a reader is in a log, with what it needs to go on: kept as JSON.

    fingerprint: of as many bytes from the beginning as `identifying` says. line: the number of lines before `offset`.
    """

    identifying: int = 0
    fingerprint: str = ""
    offset: int = 0
    line: int = 0
    runs: DemonState = DemonState()


@dataclass(slots=True)
class LogRead:
    """What a piece of a log says."""

    events: list[RunEvent] = field(default_factory=list)
    errors: list[Finding] = field(default_factory=list)


class DemonLog:
    """A log of an event demon, read from a position on.

    zone: of the server that writes it. instance: the scheduler's name; taken from a name such as `event_demon.ACE`.
    """

    def __init__(
        self,
        path: Path,
        zone: tzinfo,
        position: LogPosition | None = None,
        *,
        instance: str | None = None,
        historical: bool = False,
    ) -> None:
        self.path = path
        self._zone = zone
        self.position = position or LogPosition()
        here = instance_of(path.name) if instance is None else instance
        self._runs = DemonRuns(zone, here, historical, self.position.runs)

    def read(self) -> Iterator[LogRead]:
        """What was written since, a piece at a time; `position` is then after the piece.

        A line that is not finished is left for the next call. When the log was rotated, however often, the rest of the
        old file comes first and then the logs that came after it, as far as they are still beside the new one; a
        warning says so when the old file is not. Raises FileNotFoundError for a log that is not there.
        """
        if self.position.identifying and not self._is_same(self.path):
            beside = [path for path in self._rotated() if not _is_copy(path, self.path)]
            rotated = _in_order(beside)
            old = next((path for path in rotated if self._is_same(path)), None)
            begun = b"\n" in _beginning(self.path)
            if old is not None:
                yield from self.rest(old, finished=begun)
            if not begun and (old is not None or self.path.exists()):
                return  # the new log has yet to begin, and until then the position can only be in the old one
            lost = [self._compressed(path) for path in self._unreadable(beside)]
            if old is not None:
                rotated = rotated[rotated.index(old) + 1 :]
            else:
                rotated = [path for path in rotated if self._begins_later(path)]
                lost.insert(0, self._gone(rotated))
            if lost:
                yield LogRead(errors=lost)
                self._runs.interrupted()
            for path in rotated:
                self._start_anew()
                yield from self.rest(path, finished=True)
            self._start_anew()
        yield from self.rest(self.path)

    def rest(self, path: Path, *, finished: bool = False) -> Iterator[LogRead]:
        """What follows the position in this file. finished: nobody writes it any more, nor its last line to the end."""
        with path.open("rb") as file:
            file.seek(self.position.offset)
            left = b""
            while block := file.read(_BLOCK):
                whole, newline, left = (left + block).rpartition(b"\n")
                if newline:
                    yield self._lines(whole + newline, path, file.fileno())
            if finished and left:
                yield self._lines(left, path, file.fileno())

    def _rotated(self) -> Iterator[Path]:
        """The files beside the log that have its name and something more, which is not another scheduler's name."""
        for path in self.path.parent.iterdir():
            name, more = path.name[: len(self.path.name)], path.name[len(self.path.name) :]
            if name == self.path.name and more and not more[0].isalnum() and path.is_file():
                yield path

    def _begins_later(self, path: Path) -> bool:
        """Whether a log begins after what was read last."""
        begins, last = _begins(path), self.position.runs.last
        return last is None or (begins is not None and _instant(begins, self._zone) >= last - _OUT_OF_ORDER)

    def _unreadable(self, beside: Sequence[Path]) -> list[Path]:
        """The compressed files that were written after what was read last, and whose content is not there besides."""
        last = self.position.runs.last
        return [
            path
            for path in sorted(beside)
            if path.suffix in _COMPRESSED
            and path.with_suffix("") not in beside
            and (last is None or path.stat().st_mtime >= last.timestamp())
        ]

    def _compressed(self, path: Path) -> Finding:
        return Finding(
            "log/rotation",
            Gravity.WARNING,
            "the log was rotated and compressed before it was read to its end: what it says may be missing",
            str(path),
            0,
            hint="decompress it elsewhere and load it with `headrace legacy ingest`",
        )

    def _gone(self, rotated: Sequence[Path]) -> Finding:
        last = self.position.runs.last
        return Finding(
            "log/rotation",
            Gravity.WARNING,
            f"the file that was read up to {f'{last:%Y-%m-%d %H:%M:%S} UTC' if last else 'its first lines'} is not "
            "beside the log any more: what was written to it later may be missing. Reading goes on with "
            + ", ".join(path.name for path in [*rotated, self.path]),
            str(self.path),
            0,
            hint="if that file is elsewhere, load it with `headrace legacy ingest`",
        )

    def _is_same(self, path: Path) -> bool:
        """Whether a file is the one that was read: it begins with the same bytes, and is no shorter."""
        try:
            with path.open("rb") as file:
                beginning = file.read(self.position.identifying)
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return False
        return size >= self.position.offset and sha256(beginning).hexdigest() == self.position.fingerprint

    def _start_anew(self) -> None:
        self.position.offset = self.position.line = 0
        self.position.identifying = 0

    def _lines(self, data: bytes, path: Path, descriptor: int) -> LogRead:
        found = LogRead()
        for line in data.split(b"\n"):
            self.position.line += 1
            if not line.strip():
                continue
            place = f"{path}:{self.position.line}"
            try:
                text = line.decode("utf-8", errors="replace").replace("\x00", "\ufffd")
                found.events += self._runs.read(text, place)
            except (WrongLine, UnknownStatus) as error:
                found.errors.append(
                    Finding("log/line", Gravity.ERROR, str(error), str(path), self.position.line)
                )
        if data.endswith(b"\n"):
            self.position.line -= 1  # after the last line feed there is no line
        self.position.offset += len(data)
        if self.position.offset > self.position.identifying < _IDENTIFYING:
            beginning = os.pread(descriptor, min(_IDENTIFYING, self.position.offset), 0)
            self.position.identifying = len(beginning)
            self.position.fingerprint = sha256(beginning).hexdigest()
        self._runs.forget()
        self.position.runs = self._runs.state
        return found


def read_kept(
    paths: Sequence[Path], zone: tzinfo, *, instance: str | None = None, historical: bool = False
) -> Iterator[tuple[Path, LogRead]]:
    """What log files say that lie around, a piece at a time with its file, in the order of time whatever theirs is.

    Files of one scheduler are one log: a run that is under way at the end of one goes on in the next. It does not
    where the next begins before the end of the one before it or more than a day after it, for then they are not
    neighbours. Of files that are copies of each other the longest is read. Raises OSError.
    """
    logs: dict[str, list[Path]] = {}
    for path in paths:
        logs.setdefault(instance_of(path.name) if instance is None else instance, []).append(path)
    for name, files in logs.items():
        state = DemonState()
        ordered = _in_order(files)
        for path in ordered:
            if not _goes_on(path, state.last, zone):
                state = DemonState(on_machines=state.on_machines)
            log = DemonLog(path, zone, LogPosition(runs=state), instance=name, historical=historical)
            for piece in log.rest(path, finished=path != ordered[-1]):
                yield path, piece
            state = log.position.runs


def instance_of(name: str) -> str:
    """The scheduler that a log's name tells: `ACE` in `event_demon.ACE` and `event_demon.ACE.11262026`; else ''."""
    parts = name.split(".")
    return (
        parts[1]
        if parts[0] == "event_demon" and len(parts) > 1 and parts[1].isalnum() and parts[1] != "log"
        else ""
    )


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Logs by the time at which they begin, which their names and dates may not tell; of copies the longest alone."""
    found: list[tuple[bytes, Path]] = []
    for path in sorted(paths, key=lambda path: (-_size(path), path.name)):
        beginning = _beginning(path, _IDENTIFYING)
        if beginning and not any(_same_lines(beginning, other) for other, _ in found):
            found.append((beginning, path))
    return sorted((path for _, path in found), key=lambda path: (_begins(path) or _UNKNOWN, path.name))


def _is_copy(one: Path, other: Path) -> bool:
    return _same_lines(_beginning(one, _IDENTIFYING), _beginning(other, _IDENTIFYING))


def _same_lines(one: bytes, other: bytes) -> bool:
    """Whether one beginning is the other's too: by a line with its time at least, as every log may start alike."""
    length = min(len(one), len(other))
    return one[:length] == other[:length] and _TIME.search(one[:length]) is not None


def _goes_on(path: Path, last: datetime | None, zone: tzinfo) -> bool:
    begins = _begins(path)
    if last is None or begins is None:
        return False
    return last - _OUT_OF_ORDER <= _instant(begins, zone) <= last + _ROTATION


def _instant(local: datetime, zone: tzinfo) -> datetime:
    """The UTC of a local time; of one that comes twice the later."""
    return local.replace(tzinfo=zone, fold=1).astimezone(UTC)


def _begins(path: Path) -> datetime | None:
    """The first local time in a log; None where its beginning shows none."""
    for found in _TIME.finditer(_beginning(path)):
        month, day, year, hour, minute, second = map(int, found.groups())
        try:
            return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - the log names no zone
        except ValueError:
            continue  # the line is told as wrong when it is read
    return None


def _beginning(path: Path, count: int = _LOOKED_AT) -> bytes:
    """The first bytes of a file; none of one that was purged since it was listed."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except FileNotFoundError:
        return b""


def _size(path: Path) -> int:
    """In bytes; 0 of a file that is not there, as the log in the moment of its rotation."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
