"""The event demon's log, read as it grows: across its rotation at midnight, from where an earlier reader stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
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
        self.position = position or LogPosition()
        here = instance_of(path.name) if instance is None else instance
        self._runs = DemonRuns(zone, here, historical, self.position.runs)

    def read(self) -> Iterator[LogRead]:
        """What was written since, a piece at a time; `position` is then after the piece.

        A line that is not finished is left for the next call. When the log was rotated, the rest of the old file comes
        first, if it is still beside the new one. Raises FileNotFoundError for a log that is not there.
        """
        for path in self._files():
            yield from self._rest(path)

    def _files(self) -> Iterator[Path]:
        """The files to read, the rotated one first; the position is at the beginning of each new one."""
        if self.position.identifying and not self._is_same(self.path):
            for other in sorted(self.path.parent.glob(f"{self.path.name}*")):
                if other != self.path and self._is_same(other):
                    yield other
                    break
            self._start_anew()
        yield self.path

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

    def _rest(self, path: Path) -> Iterator[LogRead]:
        with path.open("rb") as file:
            file.seek(self.position.offset)
            left = b""
            while block := file.read(_BLOCK):
                whole, newline, left = (left + block).rpartition(b"\n")
                if newline:
                    yield self._lines(whole + newline, path, file.fileno())
            if path != self.path and left:
                yield self._lines(left, path, file.fileno())  # nobody will finish this line any more

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


def instance_of(name: str) -> str:
    """The scheduler that a log's name tells: `ACE` in `event_demon.ACE` and `event_demon.ACE.11262026`; else ''."""
    parts = name.split(".")
    return (
        parts[1]
        if parts[0] == "event_demon" and len(parts) > 1 and parts[1].isalnum() and parts[1] != "log"
        else ""
    )
